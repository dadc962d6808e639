"""A small recording, and the command line run in this process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ascend_sn.cli import main as cli

TRACE = Path(__file__).resolve().parents[2] / "golden" / "train_trace" / "v1"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of our own profiler, in a folder of its own."""
    folder = tmp_path / "recording"
    folder.mkdir()
    for name in ("train.trace", "names.trace"):
        shutil.copyfile(TRACE / name, folder / name)
    return folder


def run(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str, str]:
    """Run a command; returns exit code, output and errors."""
    with pytest.raises(SystemExit) as stop:
        cli.main([str(word) for word in words])
    told = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, told.out, told.err
