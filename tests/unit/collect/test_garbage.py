"""Garbage collections of Python in the recording, and that nothing breaks on the way."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.collect import Profiler, garbage
from ascend_sn.collect.recorder import int64_as_double
from ascend_sn.collect.trace import Trace
from ascend_sn.collect.writer import TraceWriter
from ascend_sn.model.trace_schema import HOST_CALL, METRIC, NOT_GIVEN
from tests.unit.collect.recorded import names, rows, run_script

LONG_NS = garbage.SHORTEST_NS


@pytest.fixture(autouse=True)
def only_ours() -> Iterator[None]:
    """Let Python collect when the test says so, and at no other time."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Let every collection last so many nanoseconds from now on."""

    def last(length_ns: int) -> None:
        moments = (10**12 + number // 2 * 10**9 + number % 2 * length_ns for number in count())
        monkeypatch.setattr(garbage, "perf_counter_ns", moments.__next__)

    return last


def total_ns(folder: Path) -> float:
    (found,) = [row.value for row in rows(folder, METRIC) if row.name == "profiler.collections_ns"]
    return int64_as_double(found)


def test_a_collection_is_a_row_with_its_thread_and_its_length(lasting: Callable[[int], None], tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)
    profiler.start()
    lasting(LONG_NS)

    gc.collect()
    elsewhere = threading.Thread(target=gc.collect)
    elsewhere.start()
    elsewhere.join()
    profiler.stop()

    first, second = rows(tmp_path, HOST_CALL)
    assert (first.name, first.thread, first.dur_ns) == ("GC", threading.get_native_id(), LONG_NS)
    assert (second.thread, second.ts_ns - first.ts_ns) == (elsewhere.native_id, 10**9)
    assert {(row.value, row.ref) for row in (first, second)} == {(NOT_GIVEN, NOT_GIVEN)}
    assert [record["category"] for record in names(tmp_path).values() if record["text"] == "GC"] == ["gc"]


def test_short_ones_have_no_row_and_count_in_the_total(lasting: Callable[[int], None], tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path):
        lasting(LONG_NS - 1)
        gc.collect()
        gc.collect()
        lasting(LONG_NS)
        gc.collect()

    assert len(rows(tmp_path, HOST_CALL)) == 1
    assert total_ns(tmp_path) == 3 * LONG_NS - 2


def test_the_program_gets_its_callbacks_back(tmp_path: Path) -> None:
    before = list(gc.callbacks)

    profiler = Profiler(output_path=tmp_path)
    for _ in range(2):
        profiler.start()
        assert len(gc.callbacks) == len(before) + 1
        profiler.stop()

    assert gc.callbacks == before


def refuse() -> None:
    raise RuntimeError("can't start new thread")


def test_a_start_that_fails_leaves_no_callback_and_the_next_one_records(
    monkeypatch: pytest.MonkeyPatch, lasting: Callable[[int], None], tmp_path: Path
) -> None:
    before = list(gc.callbacks)
    profiler = Profiler(output_path=tmp_path)
    with monkeypatch.context() as without_threads:
        without_threads.setattr(threading.Thread, "start", lambda _: refuse())
        for _ in range(2):
            with pytest.raises(RuntimeError, match="can't start new thread"):
                profiler.start()
            assert gc.callbacks == before

    profiler.start()
    lasting(LONG_NS)
    gc.collect()
    profiler.stop()

    assert gc.callbacks == before
    assert len(rows(tmp_path, HOST_CALL)) == 1
    assert profiler.fault_counts == {}


def test_a_start_whose_sampling_cannot_be_loaded_leaves_no_callback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = list(gc.callbacks)
    monkeypatch.setattr(Trace, "_new_sampler", lambda *_: refuse())

    with pytest.raises(RuntimeError):
        Profiler(output_path=tmp_path, enable_memory=True).start()

    assert gc.callbacks == before


def test_a_collection_whose_name_cannot_be_written_waits_for_the_next_time(
    monkeypatch: pytest.MonkeyPatch, lasting: Callable[[int], None], tmp_path: Path
) -> None:
    with Profiler(output_path=tmp_path) as profiler:
        recorder = profiler._recorder
        assert recorder is not None
        watch = garbage.CollectionWatch(recorder)
        lasting(LONG_NS)
        watch._collected("start", None)
        watch._collected("stop", None)
        with monkeypatch.context() as on_a_full_disk:
            on_a_full_disk.setattr(recorder.names, "described", lambda *_: refuse())
            with pytest.raises(RuntimeError):
                watch.take()
        watch.take()

    assert len(rows(tmp_path, HOST_CALL)) == 1


def test_a_program_that_empties_the_callbacks_ends_in_order(tmp_path: Path) -> None:
    before = list(gc.callbacks)
    profiler = Profiler(output_path=tmp_path)
    profiler.start()
    gc.callbacks[:] = before

    profiler.stop()

    assert profiler.fault_counts == {}
    assert total_ns(tmp_path) == 0


def test_one_that_had_begun_before_the_session_is_left_out(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)

    def start_at_its_end(phase: str, _info: dict[str, Any]) -> None:
        if phase == "stop":
            profiler.start()

    gc.callbacks.append(start_at_its_end)
    gc.collect()
    gc.callbacks.remove(start_at_its_end)
    profiler.stop()

    assert total_ns(tmp_path) == 0
    assert profiler.fault_counts == {}


class Collecting:
    """Collects when it is itself collected."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        gc.collect()


def test_a_collection_inside_a_collection_is_one(lasting: Callable[[int], None], tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path):
        lasting(LONG_NS)
        Collecting()
        gc.collect()

    assert len(rows(tmp_path, HOST_CALL)) == 1


def test_a_collection_while_rows_are_written_is_recorded(
    monkeypatch: pytest.MonkeyPatch, lasting: Callable[[int], None], tmp_path: Path
) -> None:
    write = TraceWriter.write_batch
    collected: list[int] = []

    def collect_and_write(self: TraceWriter, columns: Any) -> None:
        if not collected:
            collected.append(1)
            gc.collect()
        write(self, columns)

    monkeypatch.setattr(TraceWriter, "write_batch", collect_and_write)
    profiler = Profiler(output_path=tmp_path)
    profiler.start()
    lasting(LONG_NS)
    profiler.start_op("x")
    profiler.stop_op("x")
    profiler.save(intermediate=True)
    profiler.stop()

    assert len(rows(tmp_path, HOST_CALL)) == 1
    assert profiler.fault_counts == {}


def test_what_finds_no_room_is_counted_as_lost(
    monkeypatch: pytest.MonkeyPatch, lasting: Callable[[int], None], tmp_path: Path
) -> None:
    monkeypatch.setattr(garbage, "_MOST_WAITING", 2)
    with Profiler(output_path=tmp_path) as profiler:
        recorder = profiler._recorder
        assert recorder is not None
        watch = garbage.CollectionWatch(recorder)
        watch.start()
        lasting(LONG_NS)
        for _ in range(5):
            watch._collected("start", None)
            watch._collected("stop", None)
        watch.stop()

    assert len(rows(tmp_path, HOST_CALL)) == 2
    assert "rows lost: 3" in profiler.summary()


ENDS = """
import gc, os, sys
from ascend.profiler import Profiler
from ascend_sn.collect import garbage
garbage.SHORTEST_NS = 0
gc.disable()
Profiler(output_path=sys.argv[1]).start()
gc.collect()
child = os.fork()
if child == 0:
    gc.collect()
    print(len(gc.callbacks), flush=True)
    sys.exit()
os.waitpid(child, 0)
gc.collect()
"""


def test_a_forked_child_notes_none_and_the_end_of_the_process_writes_the_last(tmp_path: Path) -> None:
    done = run_script(ENDS, tmp_path)

    assert (done.stdout, done.stderr) == ("0\n", "")
    assert len(rows(tmp_path, HOST_CALL)) == 2
