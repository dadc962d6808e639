"""Whatever the program does, or is done to it, it goes on as without the recorder, and the recording can be read."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from pathlib import Path

import pytest

import ascend_sn
from ascend.profiler import Profiler
from ascend_sn.collect.trace import BUFFER_ROWS
from ascend_sn.model.trace_schema import LOST, OPEN_FLAG, SESSION_END, SPAN, STEP
from tests.unit.collect.recorded import rows, run_script


def spans(folder: Path) -> dict[str, int]:
    with ascend_sn.open(folder) as run:
        return dict(run.sql("select name, count(*) from span group by name").fetchall())


def test_tasks_of_asyncio_that_take_turns_are_all_recorded(tmp_path: Path) -> None:
    async def serve(number: int) -> None:
        with profiler.op(f"request {number}"):
            await asyncio.sleep(0)
            with profiler.op("inference"):
                await asyncio.sleep(0)

    async def serve_all() -> None:
        await asyncio.gather(*(serve(number) for number in range(3)))

    with Profiler(output_path=tmp_path) as profiler:
        asyncio.run(serve_all())

    assert profiler.fault_counts == {}
    assert spans(tmp_path) == {"request 0": 1, "request 1": 1, "request 2": 1, "inference": 3}


INTERRUPTED = """
import os, signal, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
try:
    for number in range(100):
        profiler.start_op("forward")
        if number == 50:
            os.kill(os.getpid(), signal.SIGINT)
        profiler.stop_op("forward")
        profiler.step()
except KeyboardInterrupt:
    print("interrupted at", number)
    raise
"""


def test_ctrl_c_reaches_the_program_and_what_was_recorded_is_kept(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError) as ended:
        run_script(INTERRUPTED, tmp_path)

    assert ended.value.returncode == -2  # as Python ends after Ctrl-C
    assert ended.value.stdout.startswith("interrupted at 50")
    assert len(rows(tmp_path, STEP)) == 50
    assert len(rows(tmp_path, SPAN, SPAN | OPEN_FLAG)) == 51
    assert len(rows(tmp_path, SESSION_END)) == 1


DAEMONS = """
import multiprocessing, sys, threading
from ascend.profiler import Profiler

def work(output, ready):
    profiler = Profiler(output_path=output)
    for number in range(10):
        profiler.start_op("in the worker")
        profiler.stop_op("in the worker")
    ready.set()
    threading.Event().wait()  # until the parent ends it

def loop(profiler):
    while True:
        profiler.start_op("on a daemon thread")
        profiler.stop_op("on a daemon thread")
        seen.set()

if __name__ == "__main__":
    fork = multiprocessing.get_context("fork")
    ready, seen = fork.Event(), threading.Event()
    fork.Process(target=work, args=(sys.argv[2], ready), daemon=True).start()
    ready.wait()
    profiler = Profiler(output_path=sys.argv[1])
    profiler.start()
    threading.Thread(target=loop, args=(profiler,), daemon=True).start()
    seen.wait()
"""


def test_daemon_workers_and_daemon_threads_end_with_the_program(tmp_path: Path) -> None:
    done = run_script(DAEMONS, tmp_path / "parent", tmp_path / "worker")

    assert done.stderr == ""
    assert spans(tmp_path / "parent")["on a daemon thread"] > 0
    assert len(rows(tmp_path / "parent", SESSION_END)) == 1
    assert spans(tmp_path / "worker") == {"in the worker": 10}  # killed by its parent: found in the span ring


SIGNALLED = """
import signal, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])

def handle(number, frame):
    profiler.start_op("in the handler")
    profiler.log_metric("signals", 1.0)
    profiler.summary()
    profiler.stop_op("in the handler")
    signal.setitimer(signal.ITIMER_REAL, 0.0005)

signal.signal(signal.SIGALRM, handle)
profiler.start()
signal.setitimer(signal.ITIMER_REAL, 0.0005)
for number in range(3000):
    profiler.start_op(f"forward {number % 50}")
    profiler.summary()
    profiler.stop_op(f"forward {number % 50}")
signal.setitimer(signal.ITIMER_REAL, 0)
profiler.stop()
print(profiler.fault_counts)
"""


def test_a_signal_handler_may_record_at_any_moment(tmp_path: Path) -> None:
    done = run_script(SIGNALLED, tmp_path)

    assert done.stdout == "{}\n"
    found = spans(tmp_path)
    assert found.pop("in the handler") > 0
    assert found == {f"forward {number}": 60 for number in range(50)}


def test_a_disk_that_hangs_does_not_hold_the_program_up(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)
    profiler.start()
    trace, going = profiler._trace, threading.Event()
    assert trace is not None
    write, hangs = trace._writer.write_batch, threading.Event()

    def hanging(columns: tuple[object, ...]) -> None:
        hangs.set()
        going.wait()
        write(columns)

    trace._writer.write_batch = hanging  # type: ignore[method-assign]
    with profiler.op("first"):
        pass
    hangs.wait()
    for _ in range(2 * BUFFER_ROWS):
        profiler.start_op("forward")
        profiler.stop_op("forward")
    going.set()
    profiler.stop()

    kept, lost = len(rows(tmp_path, SPAN)) - 1, sum(row.value for row in rows(tmp_path, LOST))
    assert kept + lost == 2 * BUFFER_ROWS
    assert kept >= BUFFER_ROWS - 10


def test_calls_that_the_program_holds_on_to_go_on_working(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)
    early = profiler.start_op
    profiler.start()
    start, stop = profiler.start_op, profiler.stop_op

    start("first")
    stop("first")
    early("second")
    stop("second")
    profiler.stop()
    start("between")
    stop("between")
    profiler.start()
    start("third")
    stop("third")
    profiler.stop()

    assert [row.name for row in rows(tmp_path, SPAN)] == ["first", "second", "third"]
    assert profiler.fault_counts == {}


def test_a_subclass_hears_every_call(tmp_path: Path) -> None:
    class Counting(Profiler):
        count = 0

        def start_op(self, name: str, *args: object, **named: object) -> None:
            self.count += 1
            super().start_op(name)

    profiler = Counting(output_path=tmp_path)
    with profiler:
        for _ in range(3):
            profiler.start_op("forward")
            profiler.stop_op("forward")

    assert profiler.count == 3
    assert len(rows(tmp_path, SPAN)) == 3


def test_the_commands_help_survives_the_compiled_calls(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path) as profiler:
        assert profiler.start_op.__doc__ is not None
        assert "Open a span" in profiler.start_op.__doc__
