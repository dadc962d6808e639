"""Recorders that are held, whose disk fills or closes under them, and recordings cut at any byte."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import ascend_sn
from ascend.profiler import Profiler
from ascend_sn.errors import AscendSnError
from tests.small_disk import small_disk
from tests.unit.collect.recorded import rows, run_script, script_environment

SPANS: Final = 40

HELD = """
import sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1], enable_memory=True)
with profiler:
    for number in range(100):
        with profiler.op("before"):
            pass
    profiler.save()
    print("held", flush=True)
    sys.stdin.readline()
    for number in range(100):
        with profiler.op("after"):
            pass
print(profiler.fault_counts)
"""


def test_a_process_that_is_held_and_let_go_loses_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HELD, str(tmp_path / "run")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=script_environment()
    ) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == "held\n"
        child.send_signal(signal.SIGSTOP)
        os.waitpid(child.pid, os.WUNTRACED)
        with ascend_sn.open(tmp_path / "run", cache_dir=tmp_path / "cache") as run:
            held = run.sql("select name, count(*) from span group by name").fetchall()
        child.send_signal(signal.SIGCONT)
        said, _ = child.communicate("go on\n", timeout=300)

    assert held == [("before", 100)]
    assert (child.returncode, said) == (0, "{}\n")
    with ascend_sn.open(tmp_path / "run", cache_dir=tmp_path / "cache") as run:
        assert dict(run.sql("select name, count(*) from span group by name").fetchall()) == {
            "before": 100,
            "after": 100,
        }


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small", 2 << 20) as place:
        yield place


FILLS = """
import sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
for _ in range(40_000):
    with profiler.op("work"):
        pass
profiler.stop()
print("trained")
"""


def test_a_disk_that_fills_costs_rows_that_are_counted_and_no_training(disk: Path, tmp_path: Path) -> None:
    (disk / "other").write_bytes(b"x" * 100_000)

    done = run_script(FILLS, disk / "run")

    assert done.stdout == "trained\n"
    with ascend_sn.open(disk / "run", cache_dir=tmp_path / "cache") as run:
        ((spans,),) = run.sql("select count(*) from span where name = 'work'").fetchall()
        told = dict(run.sql("select kind, sum(count)::bigint from damage group by kind").fetchall())
    assert 0 < spans < 40_000
    assert 40_000 <= spans + told["lost_rows"] < 40_100  # a few rows of the recorder's own find no room either


def test_a_disk_that_is_smaller_than_a_batch_keeps_the_rows_that_fit(tmp_path: Path) -> None:
    with small_disk(tmp_path / "tiny", 256 << 10) as tiny:  # half of the buffer alone takes 360,000 bytes
        done = run_script(FILLS, tiny / "run")

        assert done.stdout == "trained\n"
        with ascend_sn.open(tiny / "run", cache_dir=tmp_path / "cache") as run:
            ((spans,),) = run.sql("select count(*) from span where name = 'work'").fetchall()
        assert (tiny / "run" / "train.trace").stat().st_size > 128 << 10
    assert 2_500 < spans < 40_000  # 44 bytes a row


CLOSED = """
import os, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
with profiler, profiler.op("first"):
    pass
os.chmod(profiler.output_folder, 0)
for name in ("names.trace", "train.trace"):
    os.path.exists(os.path.join(sys.argv[1], name))
with profiler.op("nowhere"):
    pass
profiler.save()
os.chmod(sys.argv[1], 0o755)
with profiler, profiler.op("second"):
    pass
print("trained")
"""


def test_rights_that_go_between_two_sessions_harm_no_training(tmp_path: Path) -> None:
    done = run_script(CLOSED, tmp_path / "run")

    assert done.stdout == "trained\n"
    recorded = [row.name for folder in (tmp_path / "run").rglob("train.trace") for row in rows(folder.parent)]
    assert {"first", "second"} <= set(recorded)


TAKEN_AWAY = """
import os, shutil, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
with profiler, profiler.op("first"):
    pass
shutil.rmtree(sys.argv[1])
other = Profiler(output_path=sys.argv[1])
with other, other.op("of another"):
    pass
profiler.save()
with profiler, profiler.op("second"):
    pass
print("trained")
"""


def test_a_recording_that_took_the_place_of_another_is_never_written_into(tmp_path: Path) -> None:
    done = run_script(TAKEN_AWAY, tmp_path / "run")

    assert done.stdout == "trained\n"
    assert [row.name for row in rows(tmp_path / "run") if row.name in ("first", "of another", "second")] == [
        "of another"
    ]


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two batches of spans with names of their own, ended in an orderly way."""
    folder = tmp_path_factory.mktemp("cut") / "run"
    with Profiler(output_path=folder) as profiler:
        for number in range(SPANS):
            with profiler.op(f"work {number}"):
                pass
            if number == SPANS // 2 - 1:
                profiler.save()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("cut", ["train.trace", "names.trace"])
def test_a_recording_cut_at_any_byte_is_refused_in_words_or_gives_a_beginning(
    recording: Path, tmp_path: Path, cut: str
) -> None:
    whole = (recording / cut).read_bytes()
    expected = [f"work {number}" for number in range(SPANS)]
    folder = Path(shutil.copytree(recording, tmp_path / "run"))
    last = 0
    for size in range(len(whole) + 1):
        (folder / cut).write_bytes(whole[:size])
        names = spans_of(folder)
        if cut == "train.trace":
            assert names == expected[: len(names)], size
            assert len(names) >= last, size
            last = len(names)
        else:  # the rows are whole: each has its own name, or one that says that it is lost
            assert len(names) == SPANS, size
            assert all(name == own or name.startswith("name ") for name, own in zip(names, expected, strict=True)), size
    assert spans_of(folder) == expected


def spans_of(folder: Path) -> list[str]:
    """Names of the spans by time; none where the recording is refused in words."""
    from ascend_sn.formats.discover import discover

    try:
        (source,) = discover(folder).sources
        (capture,) = source.reader.read(source)
    except AscendSnError:
        return []
    found = capture.rows("span").to_dicts()
    return [str(row["name"]) for row in sorted(found, key=lambda row: row["ts_ns"])]


LIMITED = """
import resource, sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1], enable_memory=True)
profiler.start()
resource.setrlimit(getattr(resource, sys.argv[2]), (int(sys.argv[3]),) * 2)
for number in range(20_000):
    with profiler.op("work"):
        pass
    if number % 5_000 == 0:
        profiler.save()
profiler.stop()
print("trained")
"""


def test_a_process_without_a_free_descriptor_trains_on_and_says_so_in_one_line(tmp_path: Path) -> None:
    done = run_script(LIMITED, tmp_path / "run", "RLIMIT_NOFILE", "3")

    assert done.stdout == "trained\n"
    assert "Traceback" not in done.stderr
    assert done.stderr.count("Too many open files") == done.stderr.count("\n") > 0
    with ascend_sn.open(tmp_path / "run", cache_dir=tmp_path / "cache") as run:
        ((spans,),) = run.sql("select count(*) from span where name = 'work'").fetchall()
    assert spans == 20_000


def test_a_process_without_memory_trains_on_and_what_was_recorded_is_read(tmp_path: Path) -> None:
    done = run_script(LIMITED, tmp_path / "run", "RLIMIT_AS", str(1 << 20))

    assert done.stdout == "trained\n"
    with ascend_sn.open(tmp_path / "run", cache_dir=tmp_path / "cache") as run:
        ((spans,),) = run.sql("select count(*) from span where name = 'work'").fetchall()
    assert 0 < spans <= 20_000


FORKED = """
import os, sys, threading, time
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
is_over = False

made = []

def record():
    while not is_over:
        with profiler.op("beside"):
            time.sleep(0.0001)  # what never rests fills the buffer; that rows are lost then is another matter
        made.append(1)

def fork():
    for number in range(12):
        profiler.save()
        with profiler.op("around a fork"):
            child = os.fork()
            if not child:
                with profiler.op("nowhere"):
                    pass
                if number % 3 == 0:
                    own = Profiler(output_path=f"{sys.argv[1]}-child-{number}")
                    with own, own.op("of a child"):
                        pass
                if number % 3 == 1:
                    os.execv(sys.executable, [sys.executable, "-c", "pass"])
                os._exit(0)
        codes.append(os.waitpid(child, 0)[1])

codes = []
threads = [threading.Thread(target=record) for _ in range(2)] + [threading.Thread(target=fork)]
for thread in threads:
    thread.start()
threads[-1].join()
is_over = True
for thread in threads[:-1]:
    thread.join()
profiler.stop()
print(codes == [0] * 12, len(made))
"""


def test_forks_of_a_thread_while_others_record_lose_nothing_and_children_record_apart(tmp_path: Path) -> None:
    done = run_script(FORKED, tmp_path / "run")

    all_ended, made = done.stdout.split()
    assert (all_ended, done.stderr) == ("True", "")
    with ascend_sn.open(tmp_path / "run", cache_dir=tmp_path / "cache") as run:
        found = dict(run.sql("select name, count(*) from span group by name").fetchall())
    assert found == {"around a fork": 12, "beside": int(made)}
    for number in (0, 3, 6, 9):
        assert spans_of(tmp_path / f"run-child-{number}") == ["of a child"]


FLUSHES = """
import sys
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
profiler.start()
print("on", flush=True)
for number in range(10_000_000):
    with profiler.op(f"work {number % 50}"):
        pass
    profiler.save()
"""


def test_a_process_that_is_held_in_the_middle_of_a_flush_and_killed_leaves_whole_rows(tmp_path: Path) -> None:
    for at in range(4):
        folder = tmp_path / f"run{at}"
        command = [sys.executable, "-c", FLUSHES, str(folder)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=script_environment()) as child:
            assert child.stdout is not None
            child.stdout.readline()
            for _ in range(3):  # it does little but flush: most times it is held in the middle of one
                while not spans_of(folder):
                    assert child.poll() is None
                    time.sleep(0.01)
                child.send_signal(signal.SIGSTOP)
                os.waitpid(child.pid, os.WUNTRACED)
                held = spans_of(folder)
                child.send_signal(signal.SIGCONT)
            child.kill()

        names = spans_of(folder)
        assert len(names) >= len(held) > 0
        assert names == [f"work {number % 50}" for number in range(len(names))]
