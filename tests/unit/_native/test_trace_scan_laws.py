"""The compiled scanner agrees with the plain reader, on whole and on damaged text, however it is cut into blocks."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from ascend_sn._native import trace_scan
from tests.reference import chrome_trace as reference
from tests.reference.scanned import comparable, counted, rows

KEYS = ("a", "External id", "é")

scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["", "x", "{", '},{"ph', "\\", '"', "\ud800", "\x00", "\n", "日本"])
)
nested = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
times = (
    st.integers(-(2**54), 2**54)
    | st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**16), max_value=10**16)
    | st.decimals()
    | st.floats()
    | st.sampled_from(["1736408883688177.930", " 12.5 ", "1.69512E+15", "NaN", "-inf", "N/A", "", "x", "+.5", "5."])
).map(lambda value: str(value) if not isinstance(value, int | float | str) else value)
events = st.fixed_dictionaries(
    {},
    optional={
        "ph": st.sampled_from(["X", "B", "s", "XX", "", 7]),
        "name": nested,
        "cat": scalars,
        "pid": scalars,
        "tid": st.integers(0, 9) | st.text(max_size=3),
        "ts": times,
        "dur": times | nested,
        "id": scalars,
        "id2": st.dictionaries(st.sampled_from(["local", "global", "x"]), scalars, max_size=2) | scalars,
        "scope": scalars,
        "s": st.sampled_from(["t", "p", "tt", 1]),
        "bp": st.sampled_from(["e", None]),
        "args": st.dictionaries(st.sampled_from([*KEYS, "b", "c d"]), nested, max_size=4) | scalars,
        "other": nested,
    },
)


@st.composite
def documents(draw: st.DrawFn) -> bytes:
    """Valid traces in every form."""
    listed: Any = draw(st.lists(events | nested, max_size=5))
    if draw(st.booleans()):
        members = list(draw(st.dictionaries(st.text(max_size=4), nested, max_size=3)).items())
        members.insert(draw(st.integers(0, len(members))), ("traceEvents", listed))
        listed = dict(members)
    text = json.dumps(
        listed,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
        separators=draw(st.sampled_from([(",", ":"), (", ", " : ")])),
    )
    return text.encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Traces with a few bytes cut, doubled, or replaced."""
    data = bytearray(draw(documents()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(data)))
        removed = draw(st.sampled_from([0, 0, 1, 1, 3, 10, len(data)]))
        put = draw(
            st.sampled_from([b"", b"", b",", b"]", b"}", b"{", b'"', b"\\", b"[", b"\xff", b"\x00", b'{"ph":"X"}'])
            | st.binary(max_size=3)
        )
        data[at : at + removed] = put
    return bytes(data)


_ALIKE_KEYS = ('"name"', '"n\\u0061me"', '"pid"', '"ts"', '"dur"', '"id"', '"ph"', '"a"', f'"{"long" * 12}"')
_ALIKE_VALUES = (
    *("7", '"7"', "70", "7.5", "7e1", "7.", "-7", "-0", "07", "0.5", "0", "7.0004", "7.1234", "123456789012345678"),
    *("1234567890123456789", "9223372036854775.807", "9223372036854775.808", '"9223372036854774.999"', '"07.5"'),
    *('"1736408883688177.930"', '"7 "', '"a"', '"ab"', r'"a\""', '"X"', '"\u65e5"', "true", "null", '{"a":7}', "[7]"),
)


@st.composite
def alike(draw: st.DrawFn) -> bytes:
    """Traces whose events repeat keys, values and spaces of the ones before, or nearly so."""
    space = st.sampled_from(["", "", " ", "  ", "\n"])
    member = st.tuples(space, st.sampled_from(_ALIKE_KEYS), space, st.just(":"), space, st.sampled_from(_ALIKE_VALUES))
    members = draw(st.lists(member, min_size=1, max_size=5))
    choice = st.lists(st.sampled_from(members), max_size=6, unique=True)
    texts = []
    for chosen in draw(st.lists(choice, min_size=1, max_size=8)):
        own = ",".join("".join(parts) for parts in chosen)
        args = draw(st.sampled_from(["", "args"]))
        texts.append(f'{{{own}{"," * bool(own)}"args":{{{own}}}}}' if args else f"{{{own}}}")
    return f"[{draw(space)}{','.join(texts)}]".encode()


def blocks_of(data: bytes, block_bytes: int, threads: int, keep: bool) -> list[trace_scan.TraceColumns]:
    scanned = trace_scan.scan_blocks(data, KEYS, keep_other_args=keep, threads=threads, block_bytes=block_bytes)
    return list(scanned)


def assert_agrees(data: bytes, block_bytes: int, threads: int, keep: bool) -> None:
    expected = reference.scan(data, KEYS, keep_other_args=keep)

    found = blocks_of(data, block_bytes, threads, keep)

    assert comparable(list(rows(found))) == comparable(expected.events)
    assert counted(found[-1].damage) == expected.damage
    assert comparable_metadata(found[-1].metadata) == comparable_metadata(expected.metadata)
    assert found[-1].has_event_list == expected.has_list
    assert found[-1].byte_count == len(data)


def comparable_metadata(metadata: dict[str, Any]) -> list[tuple[str, str]]:
    return [(key, repr(value)) for key, value in metadata.items()]


@pytest.fixture(autouse=True, scope="module")
def _small_pieces() -> Iterator[None]:
    """Let several threads work on blocks that Hypothesis can draw."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace_scan, "_PIECE_SIZE", 60)
        yield


settings.register_profile("scan", settings.get_profile("default"), max_examples=60)
block_sizes = st.sampled_from([30, 500, 1 << 20])


@given(documents(), block_sizes, st.integers(1, 3), st.booleans())
@settings(settings.get_profile("scan"))
def test_whole_traces_are_read_as_the_plain_reader_does(
    data: bytes, block_bytes: int, threads: int, keep: bool
) -> None:
    assert_agrees(data, block_bytes, threads, keep)


@given(alike(), block_sizes, st.integers(1, 3), st.booleans())
@settings(settings.get_profile("scan"), max_examples=150)
def test_events_like_the_ones_before_are_read_as_the_plain_reader_does(
    data: bytes, block_bytes: int, threads: int, keep: bool
) -> None:
    assert_agrees(data, block_bytes, threads, keep)


@given(damaged(), block_sizes, st.integers(1, 3), st.booleans())
@settings(settings.get_profile("scan"))
def test_damaged_traces_are_salvaged_as_the_plain_reader_does(
    data: bytes, block_bytes: int, threads: int, keep: bool
) -> None:
    assert_agrees(data, block_bytes, threads, keep)


@given(st.binary(max_size=80), block_sizes)
def test_any_bytes_are_read_without_an_error(data: bytes, block_bytes: int) -> None:
    if data[:2] != b"\x1f\x8b":
        assert_agrees(data, block_bytes, 1, False)


@given(st.lists(events, max_size=30), st.integers(2, 3))
def test_threads_do_not_change_the_codes(listed: list[dict[str, Any]], threads: int) -> None:
    data = json.dumps(listed).encode()

    one, many = trace_scan.scan(data, KEYS, threads=1), trace_scan.scan(data, KEYS, threads=threads)

    assert list(one.strings) == list(many.strings)
    assert np.array_equal(one.name, many.name)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.decimals(allow_nan=False, allow_infinity=False)))
def test_numbers_are_the_nearest_float64(numbers: list[Any]) -> None:
    texts = [str(number) if isinstance(number, float) else f"{float(number)!r}" for number in numbers]
    data = ('[{"args":{"a":' + '}},{"args":{"a":'.join(texts) + "}}]").encode() if texts else b"[]"
    if "inf" in data.decode():
        return

    column = trace_scan.scan(data, ("a",)).args["a"]

    assert all(
        math.copysign(1, a) == math.copysign(1, float(b)) and a == float(b)
        for a, b in zip(column.number.tolist(), texts, strict=True)
    )


def test_this_module_is_found(tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_bytes(b'[{"ph":"X"}]')

    assert trace_scan.scan(tmp_path / "trace.json").count == 1
