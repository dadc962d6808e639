"""`attach` to several processes: they begin and end at the same step, wherever each of them is."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import ascend_sn
from ascend_sn.cli.main import main
from ascend_sn.collect.standby import ask
from tests.unit.collect.recorded import script_environment

RANK = """
import os, sys, time
from ascend_sn.collect.automatic import AutomaticRun
from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.standby import listen

output, ending, ahead = sys.argv[1], sys.argv[2], int(sys.argv[3])
run = AutomaticRun(ProfilerConfig(output, backend="host"), starts_by_step=False)
listen(run)
for _ in range(ahead):
    run.optimizer_stepped(run)
while not os.path.exists(ending):
    run.optimizer_stepped(run)
    time.sleep(0.02)
run.profiler.stop()
"""


@pytest.fixture
def ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Two processes in standby, the second one 40 steps ahead."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    ending = tmp_path / "end"
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, str(tmp_path / "run"), str(ending), str(40 * rank)],
            env=script_environment(XDG_RUNTIME_DIR=str(tmp_path), RANK=str(rank), WORLD_SIZE="2"),
        )
        for rank in range(2)
    ]
    yield [str(program.pid) for program in programs]
    ending.touch()
    assert [program.wait(timeout=300) for program in programs] == [0, 0]


def call(*words: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(words)
    return int(stopped.value.code or 0)


def wait_until_both_step(pids: list[str]) -> None:
    for pid in map(int, pids):
        while True:
            try:
                if ask(pid, {"command": "status"})["step"] > 0:
                    break
            except ascend_sn.errors.ProfilerStateError:
                pass  # has not come to listening yet
            time.sleep(0.01)


def test_ranks_begin_and_end_at_the_same_step(
    ranks: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wait_until_both_step(ranks)

    assert call("attach", *ranks, "start", "--format", "json") == 0
    started = json.loads(capsys.readouterr().out)["processes"]
    assert call("attach", *ranks, "stop") == 0

    assert [process["is_recording"] for process in started] == [True, True]
    with ascend_sn.open(tmp_path / "run") as run:
        bounds = run.sql("select rank, min(step), max(step) from step group by rank order by rank").fetchall()
    (first, begin, end), (second, *others) = bounds
    assert (first, second) == (0, 1)
    assert [begin, end] == others
    assert begin > 40
