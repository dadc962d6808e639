"""Nothing that the recorder holds grows without bound."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nanoarrow
import pytest

from ascend.profiler import Profiler
from ascend_sn._native.ring import Ring
from ascend_sn.collect import names as names_module
from ascend_sn.collect.buffer import SpanBuffer
from ascend_sn.collect.names import NameTable
from ascend_sn.collect.recorder import int64_as_double
from ascend_sn.collect.trace import BUFFER_ROWS, scratch_recorder
from ascend_sn.model.trace_schema import COUNTER, METRIC, NOT_GIVEN, OPEN_FLAG, SPAN
from tests.unit.collect.recorded import metadata, rows


def nothing() -> None:
    pass


def buffer_of(
    capacity: int, wake: Callable[[], object] = nothing, make_room: Callable[[], object] = nothing
) -> SpanBuffer:
    return SpanBuffer(None, capacity, NameTable(), 0, wake=wake, make_room=make_room)


def fill(buffer: SpanBuffer, count: int) -> None:
    for number in range(count):
        buffer.append(SPAN, 1, 2, number, 4, 5, 6)


def test_a_full_buffer_counts_what_it_loses() -> None:
    buffer = buffer_of(10)

    fill(buffer, 13)

    columns = buffer.peek()
    assert columns is not None
    assert [column.format for column in columns] == ["B", "i", "i", "q", "q", "q", "q"]
    assert columns[3].tolist() == list(range(5))
    assert (buffer.take_lost(), buffer.take_lost()) == (3, 0)


def test_a_full_buffer_is_given_out_in_halves() -> None:
    buffer = buffer_of(10)
    fill(buffer, 10)

    parts = []
    while (columns := buffer.peek()) is not None:
        parts.append(columns[3].tolist())
        buffer.release()

    assert parts == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]


def test_a_buffer_asks_for_the_writer_at_half_and_for_room_at_the_end() -> None:
    calls: list[str] = []

    def make_room() -> None:
        calls.append("room")
        buffer.peek()
        buffer.release()

    buffer = buffer_of(10, wake=lambda: calls.append("wake"), make_room=make_room)

    fill(buffer, 12)

    assert calls == ["wake", "room"]
    assert buffer.take_lost() == 0


def test_rows_that_a_late_writer_finds_are_batches_of_at_most_half_a_buffer(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path, backend="host")
    profiler.start()
    assert profiler._trace is not None
    with profiler._trace._lock:  # the thread that writes waits for it
        for _ in range(BUFFER_ROWS - 10):
            profiler.start_op("work")
            profiler.stop_op("work")
    profiler.stop()

    with nanoarrow.ArrayStream.from_path(tmp_path / "train.trace") as stream:
        assert max(len(batch) for batch in stream) == BUFFER_ROWS // 2
    assert len(rows(tmp_path, SPAN)) == BUFFER_ROWS - 10


def test_rows_that_were_looked_at_stay_until_they_are_released() -> None:
    buffer = buffer_of(10)
    fill(buffer, 3)
    buffer.peek()
    fill(buffer, 2)

    buffer.release()

    columns = buffer.peek()
    assert columns is not None
    assert columns[3].tolist() == [0, 1]


def test_names_beyond_the_limit_share_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_module, "MAX_NAMES", 2)
    names = NameTable()

    numbers = [names.number(text) for text in ("a", "b", "c", "a")]

    assert numbers == [0, 1, NOT_GIVEN, 0]
    assert names.refused_count == 1


def test_a_name_is_stored_once_and_not_longer_than_needed() -> None:
    names = NameTable()
    written: list[bytes] = []
    names.write_to(written.append)

    for _ in range(1000):
        names.number("x" * 100_000)
    names.write_pending()

    assert len(b"".join(written)) < 5_000
    assert len(written) == 1


def test_a_name_that_could_not_be_written_is_written_later() -> None:
    names = NameTable()
    written: list[bytes] = []

    def full(_: bytes) -> None:
        raise OSError(28, "No space left on device")

    names.write_to(full)
    names.number("early")
    with pytest.raises(OSError, match="space"):
        names.write_pending()
    names.write_to(written.append)
    names.number("late")

    texts = [json.loads(line).get("text") for line in b"".join(written).splitlines()]
    assert texts == [None, "early", "late"]


def test_threads_that_ended_are_forgotten() -> None:
    recorder = scratch_recorder()

    def work() -> None:
        recorder.begin("x", SPAN, 0)
        recorder.end("x")

    for _ in range(300):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()

    assert recorder.buffer.thread_count <= 256


def test_a_thread_does_not_inherit_the_open_spans_of_an_ended_one_with_its_number() -> None:
    recorder = scratch_recorder()
    numbers: list[int] = []

    def leave_open() -> None:
        numbers.append(threading.get_native_id())
        recorder.begin("left open", SPAN, recorder.names.number("left open"))

    thread = threading.Thread(target=leave_open)
    thread.start()
    thread.join()
    recorder.enter_thread(numbers[0])  # as the next thread that gets this number does

    columns = recorder.buffer.peek()
    assert columns is not None
    assert (SPAN | OPEN_FLAG) in columns[0].tolist()
    assert list(recorder.buffer.take_open(0, 0)) == []


def test_where_no_file_can_be_mapped_rows_wait_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    create = Ring.create

    def in_memory_only(path: str | None, *args: Any, **named: Any) -> Ring:
        if path is not None:
            raise OSError(19, "No such device")
        return create(None, *args, **named)

    monkeypatch.setattr(Ring, "create", in_memory_only)
    with Profiler(output_path=tmp_path) as profiler:
        profiler.start_op("forward")
        profiler.stop_op("forward")

    assert "no rows can wait in" in caplog.text
    assert [row.name for row in rows(tmp_path, SPAN)] == ["forward"]


def test_memory_is_sampled_and_the_reached_interval_is_told(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path, enable_memory=True, sample_interval=100):
        pass

    (sample, *_) = rows(tmp_path, COUNTER)
    assert sample.name == "process.resident_bytes"
    texts = [row.name for row in rows(tmp_path) if row.name is not None]
    assert any('"sample_interval_us": 100' in text for text in texts if text.startswith("{"))
    told = {row.name: int64_as_double(row.value) for row in rows(tmp_path, METRIC) if "interval" in (row.name or "")}
    assert told["profiler.sample_interval_us.requested"] == 100
    assert told["profiler.sample_interval_us.host"] > 0


def test_the_recorders_own_cost_is_in_the_file(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path):
        pass

    cost, flush = rows(tmp_path, METRIC)[:2]
    assert (cost.name, flush.name) == ("profiler.span_cost_ns", "profiler.flush_ns")
    assert cost.value > 0


def test_what_the_host_has_for_the_program_is_in_the_file(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path):
        pass

    told = {row.name: int64_as_double(row.value) for row in rows(tmp_path, METRIC)}
    assert told["cpu_count"] == len(os.sched_getaffinity(0))
    assert 0 < told["host_memory_available_bytes"] <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_a_row_takes_at_most_44_bytes(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path) as profiler:
        profiler.save(intermediate=True)
        before = (tmp_path / "train.trace").stat().st_size
        for _ in range(20_000):
            profiler.start_op("x")
            profiler.stop_op("x")
        profiler.save(intermediate=True)
        after = (tmp_path / "train.trace").stat().st_size

    assert (after - before) / 20_000 <= 44


def test_the_file_describes_itself(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path):
        pass

    described = metadata(tmp_path)
    assert described["ascend_sn.trace.version"] == "1"
    assert set(described) == {f"ascend_sn.trace.{key}" for key in ("version", "process", "config", "clock")}
