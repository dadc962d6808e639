"""Processes that end badly, fork, or lose their disk leave a readable file and go on training."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_sn
from ascend.profiler import Profiler
from ascend_sn.model.trace_schema import LOST, SESSION_END, SPAN, SPAN_DATA
from tests.unit.collect.recorded import rows, run_script, script_environment

KILLED_WHILE_RECORDING = """
import os, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
for _ in range(100):
    profiler.start_op("before")
    profiler.stop_op("before")
profiler.save(intermediate=True)
print("go", flush=True)
while True:
    profiler.start_op("after")
    profiler.stop_op("after")
"""


def test_killed_while_recording_leaves_a_readable_prefix(tmp_path: Path) -> None:
    command = [sys.executable, "-c", KILLED_WHILE_RECORDING, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=script_environment()) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"go\n"
        child.send_signal(signal.SIGKILL)

    assert child.returncode == -signal.SIGKILL
    spans = rows(tmp_path, SPAN)
    assert [row.name for row in spans[:100]] == ["before"] * 100
    assert rows(tmp_path, SESSION_END) == []
    recovered = [name for (name,) in ascend_sn.open(tmp_path).sql("select name from span order by ts_ns").fetchall()]
    assert recovered[: len(spans)] == [row.name for row in spans]
    assert set(recovered[len(spans) :]) <= {"after"}


KILLED_AT_A_KNOWN_PLACE = """
import os, signal, sys, threading
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
def work(stop):
    profiler.start_op("open on a thread")
    ready.wait()
    stop.wait()
ready = threading.Barrier(2)
threading.Thread(target=work, args=(threading.Event(),), daemon=True).start()
ready.wait()
profiler.save()
sys.setswitchinterval(1000)  # the thread that writes does not get its turn any more
profiler.start_op("epoch")
for number in range(int(sys.argv[2])):
    profiler.start_op(f"work {number % 100}")
    profiler.stop_op(f"work {number % 100}")
profiler.start_op("all_reduce", kind="communication", size_bytes=4096)
if sys.argv[3] == "after a write":  # killed between writing the rows and letting go of them
    profiler._trace.buffer.release = lambda: os.kill(os.getpid(), signal.SIGKILL)
    profiler.save()
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("when", ["before a write", "after a write"])
def test_a_killed_process_loses_no_row_and_no_open_span(tmp_path: Path, when: str) -> None:
    with pytest.raises(subprocess.CalledProcessError) as killed:
        run_script(KILLED_AT_A_KNOWN_PLACE, tmp_path, "3000", when)
    assert killed.value.returncode == -signal.SIGKILL
    content = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    run = ascend_sn.open(tmp_path)

    counted = dict(run.sql("select name, count(*) from span group by name").fetchall())
    assert counted == {
        **{f"work {number}": 30 for number in range(100)},
        **dict.fromkeys(("epoch", "open on a thread", "all_reduce"), 1),
    }
    last_ns = "(select max(ts_ns + dur_ns) from span)"
    open_ends = run.sql(f"select name from span where ts_ns + dur_ns = {last_ns} order by name").fetchall()
    assert [name for (name,) in open_ends] == ["all_reduce", "epoch", "open on a thread"]
    assert run.sql("select size_bytes from collective").fetchall() == [(4096,)]
    told = dict(run.sql("select kind, count from damage where severity = 'info'").fetchall())
    assert told["open_spans"] == 3
    assert told["recovered_rows"] == (3003 if when == "before a write" else 3)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == content


def test_while_the_process_lives_its_ring_is_not_read(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path)
    profiler.start()
    with profiler.op("written"):
        pass
    profiler.save(intermediate=True)
    profiler.start_op("open")

    run = ascend_sn.open(tmp_path)

    assert run.sql("select name from span").fetchall() == [("written",)]
    assert run.sql("select count(*) from damage where kind = 'recovered_rows'").fetchall() == [(0,)]
    profiler.stop()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.trace", "train.trace"]


STOPPED_ON_A_FULL_DISK = """
import resource, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
profiler.start_op("early")
profiler.stop_op("early")
profiler.save()
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
for _ in range(500):
    profiler.start_op("early")
    profiler.stop_op("early")
profiler.stop()
print("trained")
"""


def test_what_stop_could_not_write_is_found_by_the_reader(tmp_path: Path) -> None:
    done = run_script(STOPPED_ON_A_FULL_DISK, tmp_path)

    assert done.stdout == "trained\n"
    run = ascend_sn.open(tmp_path)
    assert run.sql("select name, count(*) from span group by name").fetchall() == [("early", 501)]


RAISES = """
import sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
with profiler.op("work", kind="data"):
    pass
sys.exit("the program failed")
"""


def test_a_program_that_fails_leaves_a_closed_session(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run_script(RAISES, tmp_path)

    assert [row.name for row in rows(tmp_path, SPAN_DATA)] == ["work"]
    assert len(rows(tmp_path, SESSION_END)) == 1


FORKS = """
import os, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
profiler.start_op("parent")
child = os.fork()
if child == 0:
    profiler.start_op("silent child")
    profiler.stop_op("silent child")
    if sys.argv[2] == "start":
        profiler.start()
        profiler.start_op("loud child")
        profiler.stop_op("loud child")
        profiler.stop()
    print(profiler.output_folder, flush=True)
    sys.exit()
os.waitpid(child, 0)
profiler.stop_op("parent")
"""


def test_a_forked_child_is_silent(tmp_path: Path) -> None:
    done = run_script(FORKS, tmp_path, "no start")

    assert done.stdout == "None\n"
    assert [row.name for row in rows(tmp_path, SPAN)] == ["parent"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["names.trace", "train.trace"]


def test_a_forked_child_that_starts_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    done = run_script(FORKS, tmp_path, "start")

    folder = Path(done.stdout.strip())
    assert folder.parent == tmp_path
    assert [row.name for row in rows(folder, SPAN)] == ["loud child"]
    assert [row.name for row in rows(tmp_path, SPAN)] == ["parent"]


MULTIPROCESSING = """
import multiprocessing, sys
from ascend.profiler import Profiler

def work(output):
    profiler = Profiler(output_path=output)
    profiler.start_op("in the worker")
    profiler.stop_op("in the worker")

worker = multiprocessing.get_context("fork").Process(target=work, args=(sys.argv[1],))
worker.start()
worker.join()
sys.exit(worker.exitcode)
"""


def test_a_worker_of_multiprocessing_writes_at_its_end(tmp_path: Path) -> None:
    run_script(MULTIPROCESSING, tmp_path)

    assert [row.name for row in rows(tmp_path, SPAN)] == ["in the worker"]
    assert len(rows(tmp_path, SESSION_END)) == 1


FULL_DISK = """
import resource, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
with profiler.op("early"):
    pass
profiler.save()
limits = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))  # the files cannot grow beyond
for _ in range(int(sys.argv[2])):
    with profiler.op("too much"):
        pass
profiler.save()
resource.setrlimit(resource.RLIMIT_FSIZE, limits)
with profiler.op("late"):
    pass
profiler.stop()
print("trained")
"""


def test_rows_wait_while_the_disk_is_full(tmp_path: Path) -> None:
    done = run_script(FULL_DISK, tmp_path, "1000")

    assert done.stdout == "trained\n"
    assert done.stderr.count("Traceback") == 1
    assert [row.name for row in rows(tmp_path, SPAN)] == ["early", *["too much"] * 1000, "late"]
    assert rows(tmp_path, LOST) == []


def test_what_finds_no_room_while_the_disk_is_full_is_counted(tmp_path: Path) -> None:
    done = run_script(FULL_DISK, tmp_path, "30000")

    assert done.stdout == "trained\n"
    spans = [row.name for row in rows(tmp_path, SPAN)]
    lost_count = sum(row.value for row in rows(tmp_path, LOST))
    assert lost_count > 0
    assert len(spans) + lost_count == 30_002
    assert spans[0] == "early"


def test_ranks_lie_in_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    profiler = Profiler(output_path=tmp_path)

    profiler.start()
    profiler.stop()

    (folder,) = tmp_path.iterdir()
    assert folder.name.endswith("_rank1")
    assert profiler.output_folder == str(folder)


def test_a_second_run_lies_beside_the_first(tmp_path: Path) -> None:
    script = RAISES.replace('sys.exit("the program failed")', "")

    run_script(script, tmp_path)
    first = (tmp_path / "train.trace").read_bytes()
    run_script(script, tmp_path)

    assert (tmp_path / "train.trace").read_bytes() == first
    (second,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert [row.name for row in rows(second, SPAN_DATA)] == ["work"]


def test_a_folder_in_use_keeps_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")

    with Profiler(output_path=tmp_path) as profiler, profiler.op("work"):
        pass

    (folder,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert [row.name for row in rows(folder, SPAN)] == ["work"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [folder.name, "notes.txt"]


@pytest.mark.parametrize("name", ["数据 输出", "a b#&%", "x" * 200])
def test_odd_folder_names_simply_work(tmp_path: Path, name: str) -> None:
    with Profiler(output_path=tmp_path / name / "deep") as profiler, profiler.op("名字 🚀 \udcff"):
        pass

    assert [row.name for row in rows(tmp_path / name / "deep", SPAN)] == ["名字 🚀 \udcff"]
