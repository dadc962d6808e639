from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from ascend_sn._native.trace_scan import (
    ABSENT,
    BOOLEAN,
    INTEGER,
    NESTED,
    NULL,
    NUMBER,
    TEXT,
    TraceColumns,
    scan,
    scan_blocks,
)


def texts(columns: TraceColumns, field: str) -> list[str | None]:
    return [None if code < 0 else columns.strings[code] for code in getattr(columns, field).tolist()]


def damage(columns: TraceColumns) -> dict[str, tuple[int, int]]:
    return {kind: (offset, count) for kind, offset, count, _ in columns.damage}


def test_list_form() -> None:
    found = scan(b'[{"ph":"X","name":"mm","ts":1,"dur":2.5,"pid":7,"tid":"a"},{"ph":"M"}]')

    assert found.count == 2
    assert bytes(found.ph) == b"XM"
    assert texts(found, "name") == ["mm", None]
    assert found.ts_ns.tolist() == [1000, 0]
    assert found.dur_ns.tolist() == [2500, 0]
    assert found.has_ts.tolist() == [1, 0]
    assert found.offset.tolist() == [1, 59]
    assert found.damage == []
    assert found.has_event_list


def test_object_form_with_late_events_and_a_nested_key_of_the_same_name() -> None:
    found = scan(b'{"otherData":{"traceEvents":[{"ph":"B"}]},"n":1,"traceEvents":[{"ph":"X"}],"after":[2]}')

    assert bytes(found.ph) == b"X"
    assert found.metadata == {"otherData": {"traceEvents": [{"ph": "B"}]}, "n": 1, "after": [2]}


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ('"1736408883704643.212"', 1_736_408_883_704_643_212),
        ("1736408883704643.212", 1_736_408_883_704_643_212),
        ("1736408883704643", 1_736_408_883_704_643_000),
        ('"1.695e+15"', 1_695_000_000_000_000_000),
        ("1.5e-2", 15),
        ("-3.25", -3_250),
        ("0", 0),
        ('" 12.5 "', 12_500),
        ("9223372036854775.807", 2**63 - 1),
    ],
)
def test_times_are_exact(written: str, ns: int) -> None:
    found = scan(f'[{{"ts":{written}}}]'.encode())

    assert found.has_ts.tolist() == [1]
    assert found.ts_ns.tolist() == [ns]


@pytest.mark.parametrize(
    ("written", "ns"),
    [
        ("1.0004", 1_000),
        ("1.0005", 1_001),
        ("-1.0005", -1_001),
        ("37.589999999999996", 37_590),
        ("1736408883704643.2125000000001", 1_736_408_883_704_643_213),
        ("1e-30", 0),
    ],
)
def test_digits_beyond_a_nanosecond_are_rounded_and_counted(written: str, ns: int) -> None:
    found = scan(f'[{{"ts":{written}}}]'.encode())

    assert found.ts_ns.tolist() == [ns]
    assert damage(found)["rounded_time"] == (7, 1)


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("NaN", "not_a_number"),
        ("-Infinity", "not_a_number"),
        ('"nan"', "not_a_number"),
        ('"soon"', "bad_time"),
        ("true", "bad_time"),
        ("[1]", "bad_time"),
        ("1e300", "time_out_of_range"),
        ("9223372036854775.808", "time_out_of_range"),
    ],
)
def test_a_time_that_is_none_is_absent_and_counted(written: str, kind: str) -> None:
    found = scan(f'[{{"ph":"X","ts":{written}}}]'.encode())

    assert found.has_ts.tolist() == [0]
    assert damage(found) == {kind: (16, 1)}


@pytest.mark.parametrize("written", ["null", '""', '"N/A"'])
def test_a_missing_time_is_not_damage(written: str) -> None:
    found = scan(f'[{{"ts":{written}}}]'.encode())

    assert found.has_ts.tolist() == [0]
    assert found.damage == []


def test_ids_of_any_size_and_type_become_the_same_text() -> None:
    found = scan(b'[{"id":40004068119343529983},{"id":"40004068119343529983"},{"id":7},{"id2":{"local":"0x1"}}]')

    assert texts(found, "id") == ["40004068119343529983", "40004068119343529983", "7", "0x1"]
    assert found.id[0] == found.id[1]


def test_whole_numbers_among_thread_ids() -> None:
    found = scan(b'[{"tid":-1},{"tid":"12"},{"tid":"Spans"},{"tid":""},{"tid":1.0},{}]')

    assert found.tid_int.tolist() == [-1, 12, 0, 0, 0, 0]
    assert found.tid_is_int.tolist() == [True, True, False, False, False, False]


def test_every_kind_of_argument_keeps_its_text() -> None:
    values = ['"a\\"b"', "12", "-0.5e1", "true", "null", '[1, {"x": 2}]', "18446744073709551616", "NaN"]
    data = ("[" + ",".join(f'{{"args":{{"k":{value}}}}}' for value in values) + ',{"args":{}}]').encode()

    found = scan(data, ("k",))

    column = found.args["k"]
    kinds = [TEXT, INTEGER, NUMBER, BOOLEAN, NULL, NESTED, NUMBER, NUMBER, ABSENT]
    assert column.kind.tolist() == kinds
    assert column.value.tolist() == [0, 12, 0, 1, 0, 0, 0, 0, 0]
    assert [found.strings[code] if code >= 0 else None for code in column.code.tolist()] == [
        'a"b', "12", "-0.5e1", "true", None, '[1, {"x": 2}]', "18446744073709551616", "NaN", None,
    ]  # fmt: skip
    assert column.number[1:4].tolist() == [12.0, -5.0, 1.0]
    assert column.number[6] == 2.0**64
    assert np.isnan(column.number[[0, 4, 5, 7, 8]]).all()


def test_whole_numbers_of_number_keys_have_no_text() -> None:
    found = scan(
        b'[{"args": {"id": 12, "n": 7}}, {"args": {"id": "x", "n": 7}}, {"args": {"id": 0.5}}]',
        ("n",),
        number_keys=("id", "n"),
    )

    number = found.args["id"]
    assert number.kind.tolist() == [INTEGER, TEXT, NUMBER]
    assert (number.value.tolist(), number.number[2]) == ([12, 0, 0], 0.5)
    assert [found.strings[code] if code >= 0 else None for code in number.code.tolist()] == [None, "x", "0.5"]
    assert [found.strings[code] for code in found.args["n"].code[:2].tolist()] == ["7", "7"]
    assert found.args["n"].value.tolist() == [7, 7, 0]


def test_arguments_that_were_not_asked_for_are_kept_as_json() -> None:
    found = scan(b'[{"args": {"a": 1, "b": "x\\n", "c": [1 ,2]}}, {"args": {"a": 2}}]', ("a",), keep_other_args=True)

    assert texts(found, "other_args") == ['{"b": "x\\n","c": [1 ,2]}', None]
    assert json.loads('{"b": "x\\n","c": [1 ,2]}') == {"b": "x\n", "c": [1, 2]}


def test_escapes_become_characters() -> None:
    found = scan(rb'[{"name":"\u00e9\n\ud83d\ude00\/"},{"\u0070h":"X","name":"C:\dir"}]')

    assert texts(found, "name") == ["é\n😀/", "C:\\dir"]
    assert bytes(found.ph) == b"\0X"
    assert damage(found) == {"bad_escape": (58, 1)}


def test_the_later_of_two_equal_keys_counts() -> None:
    found = scan(b'[{"ph":"B","ph":"X","args":{"a":1},"args":{"a":2,"a":3}}]', ("a",))

    assert bytes(found.ph) == b"X"
    assert found.args["a"].value.tolist() == [3]


def test_bytes_that_are_no_utf8_are_shown_and_counted() -> None:
    found = scan(b'[{"name":"a\xffb"},{"name":"a\xffb"},{"name":"\xe6\x97\xa5"}]')

    assert texts(found, "name") == ["a\ufffdb", "a\ufffdb", "日"]
    assert damage(found) == {"invalid_utf8": (10, 2)}
    assert found.damage[0][3] == "a\ufffdb"


def test_control_characters_within_texts_are_kept_and_counted() -> None:
    found = scan(b'[{"name":"a\nb"}]')

    assert texts(found, "name") == ["a\nb"]
    assert damage(found) == {"control_character": (10, 1)}


def test_a_file_cut_within_an_event_keeps_all_events_before() -> None:
    found = scan(b'[{"ph":"X"},{"ph":"B"},{"ph":"E","na')

    assert bytes(found.ph) == b"XB"
    assert damage(found) == {"truncated": (23, 1)}


def test_an_unclosed_list_and_a_trailing_comma() -> None:
    assert damage(scan(b'[{"ph":"X"}')) == {"unclosed_array": (11, 1)}
    assert damage(scan(b'[{"ph":"X"},]')) == {"trailing_comma": (12, 1)}
    assert damage(scan(b'{"traceEvents":[{"ph":"X"}]')) == {"unclosed_array": (27, 1)}


def test_missing_and_doubled_commas() -> None:
    found = scan(b'[{"ph":"X"} {"ph":"B"},,{"ph":"E"}]')

    assert bytes(found.ph) == b"XBE"
    assert damage(found) == {"missing_comma": (12, 1), "extra_comma": (23, 1)}


def test_garbage_between_events_is_passed_over() -> None:
    found = scan(b'[{"ph":"X"},#%!]],{"a":{"b":1}},{"ph":"B"}]')

    assert bytes(found.ph) == b"XB"
    assert damage(found) == {"garbage": (12, 1)}


def test_a_broken_event_does_not_take_its_neighbours_along() -> None:
    found = scan(b'[{"ph":"X"},{"ph":"B","args":{"x":1},{"ph":"E"},{"ph":"C"}]')

    assert bytes(found.ph) == b"XEC"
    assert damage(found) == {"damaged_event": (12, 1)}


def test_elements_that_are_no_objects() -> None:
    found = scan(b'[1,"x",null,[{"ph":"B"}],{"ph":"X"}]')

    assert bytes(found.ph) == b"X"
    assert damage(found) == {"not_an_object": (1, 4)}


def test_events_nested_too_deep_are_left_out() -> None:
    deep, deepest = b"[" * 254 + b"]" * 254, b"[" * 255 + b"]" * 255
    found = scan(b'[{"ph":"X","args":{"a":' + deepest + b'}},{"ph":"B","args":{"a":' + deep + b"}}]")

    assert bytes(found.ph) == b"B"
    assert damage(found) == {"too_deep": (1, 1)}


def test_a_second_list_of_events_is_used_too() -> None:
    found = scan(b'{"traceEvents":[{"ph":"X"}],"traceEvents":[{"ph":"B"}]}')

    assert bytes(found.ph) == b"XB"
    assert damage(found) == {"duplicate_trace_events": (28, 1)}


def test_lists_written_one_after_another_are_all_used() -> None:
    found = scan(b'[{"ph":"X"}]\n[{"ph":"B"}]\n')

    assert bytes(found.ph) == b"XB"
    assert damage(found) == {"trailing_data": (13, 1)}


def test_events_whose_list_is_none() -> None:
    found = scan(b'{"traceEvents":{"a":1}}')

    assert found.count == 0
    assert not found.has_event_list
    assert damage(found) == {"trace_events_no_list": (1, 1)}


@pytest.mark.parametrize(
    ("data", "has_list", "kinds"),
    [
        (b"", False, set()),
        (b" \n", False, set()),
        (b"[]", True, set()),
        (b"{}", False, set()),
        (b'{"traceEvents":[]}', True, set()),
        (b"not json", False, {"damaged_header"}),
        (b"\x00" * 100, False, {"damaged_header"}),
    ],
)
def test_no_events_are_told_by_flags(data: bytes, has_list: bool, kinds: set[str]) -> None:
    found = scan(data)

    assert found.count == 0
    assert found.byte_count == len(data)
    assert found.has_event_list == has_list
    assert set(damage(found)) == kinds


def test_a_byte_order_mark_is_passed_over() -> None:
    assert scan(b'\xef\xbb\xbf[{"ph":"X"}]').count == 1


def test_a_broken_head_does_not_hide_the_events() -> None:
    found = scan(b'{"a":nope,"traceEvents":[{"ph":"X"},{"ph":"B"}],"b":1}')

    assert bytes(found.ph) == b"XB"
    assert found.metadata == {"b": 1}
    assert damage(found) == {"damaged_header": (1, 1)}


def test_large_metadata_are_left_out_and_counted() -> None:
    found = scan(b'{"big":"' + b"x" * (5 << 20) + b'","traceEvents":[{"ph":"X"}]}')

    assert found.count == 1
    assert found.metadata == {}
    assert damage(found) == {"large_metadata": (7, 1)}


def test_blocks_share_strings_and_the_last_one_holds_the_damage() -> None:
    data = b"[" + b",".join(b'{"ph":"X","name":"n%d"}' % (i % 3) for i in range(200))

    blocks = list(scan_blocks(data, block_bytes=100))

    assert len(blocks) > 5
    assert sum(block.count for block in blocks) == 200
    assert [name for block in blocks for name in texts(block, "name")] == [f"n{i % 3}" for i in range(200)]
    assert all(block.strings is blocks[0].strings for block in blocks)
    assert [damage(block) for block in blocks[:-1]] == [{}] * (len(blocks) - 1)
    assert damage(blocks[-1]) == {"unclosed_array": (len(data), 1)}


def test_an_event_larger_than_a_block_is_read() -> None:
    data = b'[{"ph":"X","name":"' + b"y" * 5000 + b'"}]'

    (block,) = scan_blocks(data, block_bytes=64)

    assert texts(block, "name") == ["y" * 5000]


def test_gzip_is_recognised_by_content_and_may_have_several_members(tmp_path: Path) -> None:
    data = b"[" + b",".join(b'{"ph":"X","ts":%d}' % i for i in range(1000)) + b"]"
    path = tmp_path / "trace.json"
    path.write_bytes(gzip.compress(data[:500]) + gzip.compress(data[500:]) + b"\0" * 512)

    found = scan(path)

    assert found.ts_ns.tolist() == [i * 1000 for i in range(1000)]
    assert found.byte_count == len(data)
    assert found.damage == []


def test_cut_and_damaged_gzip_give_what_comes_before(tmp_path: Path) -> None:
    data = b"[" + b",".join(b'{"ph":"X","ts":%d,"name":"n%d"}' % (i, i * 7919) for i in range(20_000)) + b"]"
    packed = bytearray(gzip.compress(data))
    cut, broken = tmp_path / "cut.gz", tmp_path / "broken.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    packed[len(packed) // 2 : len(packed) // 2 + 40] = b"\xff" * 40
    broken.write_bytes(packed)

    half, part = scan(cut), scan(broken)

    assert 5_000 < half.count < 15_000
    assert damage(half)["gzip_truncated"] == (half.byte_count, 1)
    assert part.count > 1_000
    assert "gzip_damaged" in damage(part)
    assert part.ts_ns[:1000].tolist() == [i * 1000 for i in range(1000)]


def test_what_follows_a_gzip_member_is_told(tmp_path: Path) -> None:
    path = tmp_path / "trace.gz"
    path.write_bytes(gzip.compress(b'[{"ph":"X"}]') + b"tail")

    found = scan(path)

    assert found.count == 1
    assert damage(found) == {"gzip_trailing_data": (12, 1)}


def test_a_file_that_cannot_be_read_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        scan(tmp_path / "absent.json")
    with pytest.raises(IsADirectoryError):
        scan(tmp_path)


def test_a_reader_may_stop_early(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b"[" + b'{"ph":"X"},' * 5000)

    blocks = scan_blocks(path, block_bytes=1000)

    assert next(blocks).count > 0
    blocks.close()  # type: ignore[attr-defined]


def test_texts_are_sliced_and_counted_from_the_end() -> None:
    strings = scan(b'[{"name":"a","cat":"b"},{"name":"c"}]').strings

    assert strings[-1] == "c"
    assert strings[:2] == ["a", "b"]
    assert list(strings) == ["a", "b", "c"]
    with pytest.raises(IndexError):
        strings[3]
