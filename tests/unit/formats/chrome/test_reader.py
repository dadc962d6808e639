"""Traces of unknown writers."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ascend_sn.errors import AscendSnError, EmptyInputError
from ascend_sn.formats.chrome.reader import READER, read
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.model.capture import Capture
from tests.shared_data import requires_shared, shared_path


def event(phase: str, name: str, ts: Any, **more: Any) -> dict[str, Any]:
    return {"ph": phase, "name": name, "ts": ts, "pid": 1, "tid": 2, **more}


def write(folder: Path, content: Any, name: str = "trace.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def captured(path: Path) -> Capture:
    (capture,) = read(Source(READER, path, path))
    return capture


def rows(capture: Capture, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in capture.rows(table).to_dicts()]


def ledger(capture: Capture) -> dict[str, int]:
    return {entry.kind: entry.count for entry in capture.ledger.entries}


def test_slices_of_all_spellings(tmp_path: Path) -> None:
    events = [
        event("X", "whole", 10, dur=5, cat="c"),
        event("X", "point", "30.5"),
        event("B", "outer", 40),
        event("B", "inner", 41, cat="n"),
        event("E", "", 44),
        event("E", "", 50),
        event("b", "request", 60, cat="net", id="0x1f"),
        event("e", "request", 90, cat="net", id="0x1f", tid=77),
        event("i", "mark", 95, s="g"),
        event("M", "thread_name", 0, args={"name": "main"}),
    ]
    path = write(tmp_path, {"traceEvents": events, "otherData": {"traceEvents": "not this"}})

    capture = captured(path)

    assert READER.claims(Candidate(path))
    assert rows(capture, "span", "span_id", "name", "domain", "thread", "ts_ns", "dur_ns") == [
        (0, "whole", "c", "main (2)", 10_000, 5000),
        (1, "point", "slice", "main (2)", 30_500, 0),
        (2, "outer", "slice", "main (2)", 40_000, 10_000),
        (3, "inner", "n", "main (2)", 41_000, 3000),
        (4, "request", "net", "async net", 60_000, 30_000),
        (5, "mark", "instant", "main (2)", 95_000, 0),
    ]
    assert (capture.header.device_kind, capture.header.start_ns) == ("host", 10_000)
    assert ledger(capture) == {"missing_duration": 1}


def test_what_is_open_inside_of_a_request_is_a_part_of_it(tmp_path: Path) -> None:
    def request(phase: str, name: str, ts: int, id: str) -> dict[str, Any]:
        return event(phase, name, ts, cat="request", id=id)

    path = write(
        tmp_path,
        [
            event("X", "server", 0, dur=100),
            request("b", "first", 10, "1"),
            request("b", "queue", 10, "1"),
            request("b", "second", 12, "2"),
            request("e", "queue", 15, "1"),
            request("b", "decode", 16, "1"),
            request("b", "token", 17, "1"),
            request("e", "token", 18, "1"),
            request("e", "second", 20, "2"),
            request("e", "decode", 30, "1"),
            request("e", "first", 31, "1"),
        ],
    )

    capture = captured(path)

    assert rows(capture, "span", "span_id", "name", "domain", "ts_ns", "dur_ns") == [
        (0, "server", "slice", 0, 100_000),
        (1, "first", "request", 10_000, 21_000),
        (2, "queue", "request phase", 10_000, 5000),
        (3, "second", "request", 12_000, 8000),
        (4, "decode", "request phase", 16_000, 14_000),
        (5, "token", "request phase", 17_000, 1000),
    ]
    assert rows(capture, "flow", "src_id", "dst_id", "kind") == [(1, 2, "phase"), (1, 4, "phase"), (1, 5, "phase")]


def test_open_and_stray_edges_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, [event("E", "stray", 1), event("B", "open", 2), event("B", "shut", 3), event("E", "", 9)])

    capture = captured(path)

    assert rows(capture, "span", "name", "dur_ns") == [("open", 7000), ("shut", 6000)]
    assert ledger(capture) == {"unclosed_slice": 1, "unmatched_end": 1}


def test_arrows_join_the_slices_around_their_points(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [
            event("X", "from", 0, dur=10),
            event("X", "via", 20, dur=10, tid=3),
            event("X", "to", 45, dur=10, tid=4),
            event("s", "f", 5, cat="a", id=1),
            event("t", "f", 25, cat="a", id=1, tid=3),
            event("f", "f", 40, cat="a", id=1, tid=4),
            event("f", "f", 41, cat="a", id="2", tid=4),
        ],
    )

    capture = captured(path)

    assert rows(capture, "flow", "src_table", "src_id", "dst_table", "dst_id") == [
        ("span", 0, "span", 1),
        ("span", 1, "span", 2),
    ]
    assert ledger(capture) == {"unmatched_flow": 1}


def test_several_processes_are_named_on_their_tracks(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        [
            event("M", "process_name", 0, args={"name": "server"}),
            event("X", "a", 0, dur=1),
            event("X", "b", 0, dur=1, pid="worker", tid="io"),
        ],
    )

    assert rows(captured(path), "span", "thread") == [("server (1)/2",), ("worker/io",)]


def test_counters_with_ids_are_instances(tmp_path: Path) -> None:
    path = write(tmp_path, [event("X", "a", 0, dur=1), event("C", "load", 4, id=7, args={"v": 0.5})])

    assert rows(captured(path), "counter", "name", "ts_ns", "value") == [("load[7]", 4000, 0.5)]


def test_other_phases_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path, [event("X", "a", 0, dur=1), event("N", "o", 1), event("D", "o", 2), event("c", "clock", 3)])

    assert ledger(captured(path)) == {"ignored_phases": 3}


def test_gzip_by_content(tmp_path: Path) -> None:
    path = tmp_path / "trace.bin"
    path.write_bytes(gzip.compress(json.dumps([event("X", "a", 0, dur=1)]).encode()))

    assert READER.claims(Candidate(path))
    assert len(captured(path).rows("span")) == 1


@pytest.mark.parametrize(
    "content", ["[]", "{}", " [ ] ", '{"traceEvents": []}', '{"traceEvents": [{"ph": "M", "name": "x"}]}']
)
def test_nothing_timed_is_said_in_words(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(content)

    assert READER.claims(Candidate(path))
    with pytest.raises(EmptyInputError, match="no timed events"):
        captured(path)


@requires_shared
@pytest.mark.parametrize("name", ["empty_list.json", "empty_object.json"])
def test_dv05_empty_containers(name: str) -> None:
    path = shared_path("cases", "dv05_container_shapes", name)

    assert READER.claims(Candidate(path))
    with pytest.raises(EmptyInputError, match="this file holds no timed events"):
        captured(path)


@pytest.mark.parametrize("content", ['{"step1": {"p2p": {}}}', "[[1, 2, 3, 4]]", "a,b\n1,2\n", '{"schemaVersion": 2}'])
def test_other_files_are_not_claimed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)

    assert not READER.claims(Candidate(path))


@given(st.binary(max_size=200))
def test_random_bytes_raise_only_our_errors(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("random") / "trace.json"
    path.write_bytes(data)

    READER.claims(Candidate(path))
    with pytest.raises(AscendSnError):
        captured(path)
