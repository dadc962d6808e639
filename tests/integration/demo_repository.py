"""The repository of docs/tutorials/guard-a-repository.md: its files, its commands, and a shell to run them in."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import REPOSITORY
from tests.integration.test_recording_found import environment

PAGE = REPOSITORY / "docs" / "tutorials" / "guard-a-repository.md"
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.M | re.S)


def blocks() -> list[tuple[str, str, str]]:
    """Language, file name and text of each block of the page."""
    return [(found[1], found[2] or "", found[3]) for found in _BLOCK.finditer(PAGE.read_text(encoding="utf-8"))]


def write_files(folder: Path) -> None:
    """Write the files of the repository."""
    for _, name, text in blocks():
        if name:
            (folder / name).write_text(text, encoding="utf-8")


def shell_environment(folder: Path, **variables: str) -> dict[str, str]:
    """What a pipeline on this machine would see; `ascend-sn` and Python are those of the tests."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    home = folder / ".home"
    home.mkdir()
    return environment(
        home / "site",
        PATH=path,
        OMP_NUM_THREADS="1",
        ASCEND_SN_LANG="en",
        COLUMNS="110",
        XDG_CACHE_HOME=str(home / "cache"),
        XDG_DATA_HOME=str(home / "data"),
        **variables,
    )


def shell(script: str, folder: Path, env: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run a script as pipelines do: it ends at the first command that fails."""
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script, *words],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
