"""Rows that waited in the span ring of a process that was killed, read with its trace."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from ascend_sn._native.ring import Ring
from ascend_sn.model.trace_schema import RING_NAME, SESSION_START, SPAN
from tests.unit.formats.train_trace.written import START_NS, US, Writing, read, table


def left(folder: Path, written: int = 2, waiting: int = 3, already: int = 0) -> Path:
    """A trace with `written` spans, whose ring holds its last `already` ones, `waiting` more, and an open one."""
    trace = Writing(folder)
    trace.row(SESSION_START, "{}", 0, value=0, ref=START_NS)
    for number in range(written):
        trace.span("work", number * 10, number * 10 + 5)
    name_id = trace.names.described("work", {})
    trace.close()
    ring = Ring.create(folder / RING_NAME, 64)
    for number in range(written - already, written + waiting):
        ring.append(SPAN, 1, name_id, START_NS + number * 10 * US, 5 * US, -1, -1)
    ring.begin(name_id, SPAN)
    ring.close()
    return folder


def starts(folder: Path) -> list[int]:
    (capture,) = read(folder)
    return [ts for (ts,) in table(capture, "span", "ts_ns")][:-1]  # the open one stands last


@pytest.mark.parametrize("already", [0, 1, 2])
def test_no_row_is_missing_and_none_comes_twice(tmp_path: Path, already: int) -> None:
    assert starts(left(tmp_path, written=2, waiting=3, already=already)) == [0, 10, 20, 30, 40]


def test_a_ring_without_a_waiting_row_gives_the_open_span(tmp_path: Path) -> None:
    (capture,) = read(left(tmp_path, waiting=0))

    told = {entry.kind: entry.count for entry in capture.ledger.entries if entry.severity == "info"}
    assert (told["recovered_rows"], told["open_spans"]) == (1, 1)
    assert len(capture.rows("span")) == 3


def test_rows_that_had_no_room_are_counted(tmp_path: Path) -> None:
    folder = left(tmp_path)
    (folder / RING_NAME).unlink()
    ring = Ring.create(folder / RING_NAME, 4)
    for number in range(9):
        ring.append(SPAN, 1, 0, START_NS + (100 + number) * US, US, -1, -1)
    ring.close()

    (capture,) = read(folder)

    assert ("lost_rows", 5) in {(entry.kind, entry.count) for entry in capture.ledger.entries}


@pytest.mark.parametrize("content", [b"", b"no ring", b"\0" * 5000])
def test_another_file_of_that_name_is_said_and_left_alone(tmp_path: Path, content: bytes) -> None:
    folder = left(tmp_path)
    (folder / RING_NAME).write_bytes(content)

    (capture,) = read(folder)

    assert len(capture.rows("span")) == 2
    assert [(entry.file, entry.kind) for entry in capture.ledger.entries if entry.severity == "damage"] == [
        (RING_NAME, "unreadable")
    ]


def test_a_file_far_too_large_is_not_read(tmp_path: Path) -> None:
    folder = left(tmp_path)
    with (folder / RING_NAME).open("r+b") as file:
        file.truncate(1 << 40)

    (capture,) = read(folder)

    assert any("too large" in entry.example for entry in capture.ledger.entries)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1200), st.binary(min_size=1, max_size=64), st.booleans())
def test_a_damaged_ring_never_breaks_the_trace(
    tmp_path_factory: pytest.TempPathFactory, at: int, junk: bytes, from_the_end: bool
) -> None:
    folder = left(tmp_path_factory.mktemp("left"))
    content = bytearray((folder / RING_NAME).read_bytes())
    place = len(content) - 64 * 48 + at if from_the_end else at
    content[place : place + len(junk)] = junk
    (folder / RING_NAME).write_bytes(content)

    (capture,) = read(folder)

    assert len(capture.rows("span")) >= 2
