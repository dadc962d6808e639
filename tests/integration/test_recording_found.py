"""Recording a program that was not changed: by variables, and by commands while it runs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import ascend_sn
from ascend_sn.collect.standby import ask, listening_processes
from ascend_sn.errors import ProfilerStateError
from ascend_sn.store import Run
from tests.unit.collect.recorded import SOURCES, script_environment

SCRIPT = Path(__file__).with_name("found_training.py")

# The start-up file acts in site directories; the tests' interpreter need not have it in one. This stands in for
# it in the program and in the children that it spawns.
CUSTOM = f"""
import sys
if not any(type(finder).__name__ == "_Finder" for finder in sys.meta_path):
    exec(open({str(Path(SOURCES) / "ascend_sn_startup.pth")!r}).read())
"""


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, str(SCRIPT), *map(str, arguments)]


def environment(folder: Path, **variables: str) -> dict[str, str]:
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CUSTOM, encoding="utf-8")
    return script_environment(PYTHONPATH=f"{folder}:{SOURCES}", **variables)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, str]]:
    home = tmp_path_factory.mktemp("found")
    folder = home / "run 数据"
    done = subprocess.run(
        command("5"),
        env=environment(
            home / "site",
            ASCEND_PROFILING_ENABLE="1",
            ASCEND_MEMORY_PROFILING_ENABLE="1",
            ASCEND_PROFILING_OUTPUT_PATH=str(folder),
            ASCEND_PROFILING_OP_LIST="MatMul",
        ),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    with ascend_sn.open(folder) as run:
        yield run, done.stderr


def test_what_surrounds_the_program_is_recorded(found: tuple[Run, str]) -> None:
    run, _ = found

    told = dict(run.sql("select name, value from metric where name in ('num_workers', 'cpu_count')").fetchall())

    assert told["num_workers"] == 0
    assert told["cpu_count"] >= 1


def test_steps_are_found_by_the_first_optimizer_in_the_program_and_its_children(found: tuple[Run, str]) -> None:
    run, errors = found

    steps = run.sql("""
        select list(step order by step), any_value(origin) from step group by profile_id order by 1
    """).fetchall()

    assert steps == [([0, 1], "optimizer"), ([0, 1, 2], "optimizer"), ([0, 1, 2, 3, 4], "optimizer")]
    assert errors.count("ascend-sn: recorded into") == 3


def test_a_forked_child_is_recorded_without_operators_and_the_others_with_them(found: tuple[Run, str]) -> None:
    run, errors = found

    kinds = run.sql("""
        select device_kind, (select count(*) from step s where s.profile_id = p.profile_id) from profile p order by 2
    """).fetchall()

    assert kinds == [("host", 2), ("cpu", 3), ("cpu", 5)]
    assert "which has used torch.profiler: only spans are recorded" in errors


def test_only_the_chosen_operators_and_the_memory_came(found: tuple[Run, str]) -> None:
    run, _ = found

    names = {name for (name,) in run.sql("select distinct name from kernel").fetchall()}
    ((allocations,),) = run.sql("select count(*) from memory_event").fetchall()

    assert "aten::addmm" in names
    assert not names & {"aten::add_", "aten::nll_loss_forward", "aten::detach"}
    assert allocations > 0


def test_a_running_job_is_recorded_for_a_while_on_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    ending = tmp_path / "end"
    with subprocess.Popen(
        command("4", ending),
        env=environment(
            tmp_path / "site",
            ASCEND_PROFILING_ENABLE="standby",
            ASCEND_PROFILING_OUTPUT_PATH=str(tmp_path / "run"),
            XDG_RUNTIME_DIR=str(tmp_path),
        ),
        stderr=subprocess.PIPE,
    ) as program:
        try:
            _wait(program, lambda status: status["step"] > 2)
            socket = tmp_path / "ascend-sn" / f"{program.pid}.sock"
            assert socket.stat().st_mode & 0o077 == 0
            assert listening_processes(program.pid) == [program.pid]
            assert not (tmp_path / "run").exists()
            at = _wait(program, lambda status: True)["step"] + 20
            ask(program.pid, {"command": "start", "step": at})
            _wait(program, lambda status: status["is_recording"] and status["step"] > at + 3)
            ask(program.pid, {"command": "stop"})
            _wait(program, lambda status: not status["is_recording"])
        finally:
            ending.touch()
            program.communicate(timeout=300)

    assert not socket.exists()
    with ascend_sn.open(tmp_path / "run") as run:
        steps = [step for (step,) in run.sql("select step from step order by step").fetchall()]
    assert steps[0] == at
    assert steps == list(range(at, at + len(steps)))


def _wait(program: subprocess.Popen[bytes], is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Ask for the status until it is as wanted; the program is at work meanwhile."""
    deadline = monotonic() + 300
    while monotonic() < deadline:
        assert program.poll() is None, program.stderr
        try:
            status = ask(program.pid, {"command": "status"})
            if is_wanted(status):
                return status
        except ProfilerStateError:
            pass  # has not come to listening yet
        sleep(0.01)  # without a pause the program would have less of the processor
    raise AssertionError("the program did not get there")


RECORDS_ITSELF = """
import sys, torch
from ascend.profiler import Profiler
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train(steps):
    for _ in range(steps):
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
train(3)
with Profiler(output_path=sys.argv[1], enable_ops=True):
    train(4)
"""


def test_a_program_that_records_itself_later_is_not_recorded_twice(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(RECORDS_ITSELF)
    variables = {"ASCEND_PROFILING_ENABLE": "1", "ASCEND_PROFILING_OUTPUT_PATH": str(tmp_path / "found")}

    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "own")],
        env=environment(tmp_path / "site", **variables),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert (done.returncode, done.stderr.count("the program records itself from here on")) == (0, 1), done.stderr
    assert counted(tmp_path / "own", "addmm") == 4
    assert counted(tmp_path / "found", "addmm") == 2  # it starts at the end of the 1st step, and the 3rd is the last


def counted(folder: Path, operator: str) -> int:
    with ascend_sn.open(folder, cache_dir=folder.with_name("cache")) as run:
        ((count,),) = run.sql("select count(*) from operator where name ilike '%' || $name", name=operator).fetchall()
    return int(count)
