"""Every command of the page "How do I capture ..." is run, on a small program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_sn
from tests.integration.test_recording_found import environment

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "capture.md").read_text(encoding="utf-8")
COMMANDS = [block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "attach" not in block]
ATTACHED = [block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "attach" in block]
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

TRAIN = """
import sys, time
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 2))
DISTRIBUTED
optimizer = torch.optim.SGD(model.parameters(), 0.1)
data = DataLoader([torch.ones(8) for _ in range(12)], batch_size=2)
while True:
    for batch in data:
        optimizer.zero_grad()
        model(batch).sum().backward()
        optimizer.step()
    if "--forever" not in sys.argv:
        break
    time.sleep(0.01)
"""
RANKS = "import torch.distributed; torch.distributed.init_process_group('gloo'); "
RANKS += "model = nn.parallel.DistributedDataParallel(model)"


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "train.py").write_text(TRAIN.replace("DISTRIBUTED", ""))
    (folder / "train_ranks.py").write_text(TRAIN.replace("DISTRIBUTED", RANKS))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    cache = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_RUNTIME_DIR": str(folder / "runtime")}
    (folder / "runtime").mkdir()
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env=environment(folder / "site", PATH=path, OMP_NUM_THREADS="1", **cache),
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize("block", COMMANDS)
def test_every_command_leaves_a_recording(block: str, tmp_path: Path) -> None:
    done = shell(block, tmp_path)

    assert done.returncode == 0, done.stderr
    ((output,),) = {tuple(re.findall(r"(?:--output |OUTPUT_PATH=)(\S+)", block))}
    with ascend_sn.open(tmp_path / output) as run:
        ((steps, operators),) = run.sql(
            "select (select count(*) from step), (select count(*) from operator)"
        ).fetchall()
    assert steps > 0
    assert operators > 0


@pytest.mark.slow
@pytest.mark.parametrize("block", ATTACHED)
def test_the_job_in_standby_is_recorded_between_start_and_stop(block: str, tmp_path: Path) -> None:
    begin, start, stop = block.strip().splitlines()
    ready = "until ascend-sn attach $! status 2>/dev/null | grep -q 'step [1-9]'; do kill -0 $!; done"

    done = shell("\n".join([begin, "trap 'kill %1' EXIT", ready, start, stop]), tmp_path)

    assert done.returncode == 0, done.stderr
    with ascend_sn.open(tmp_path / "later") as run:
        ((steps,),) = run.sql("select count(*) from step").fetchall()
    assert steps > 0


@pytest.mark.parametrize("block", PYTHON)
def test_every_piece_of_python_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    exec(compile(block, "capture.md", "exec"), {"__name__": "__main__"})

    if "output_path" in block:
        with ascend_sn.open(tmp_path / re.findall(r'output_path="(\w+)"', block)[0]) as run:
            ((steps,),) = run.sql("select count(*) from step").fetchall()
        assert steps in (9, 10)  # a first step in which nothing happened is left out
