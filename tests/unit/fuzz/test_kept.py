"""What is kept on disk under named damages: shown as it was, made anew, or refused in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.kept import KINDS, kept_files, kind_of, make_world

ROOT = Path(__file__).resolve().parents[3]


def test_every_file_that_is_kept_has_a_corpus_and_every_corpus_a_file(tmp_path: Path) -> None:
    names = kept_files(make_world(tmp_path))

    assert [name for name in names if len(kind_of(name)) != 1] == []
    assert {kind for name in names for kind in kind_of(name)} == set(KINDS)


@pytest.mark.parametrize("extent", [("1", "2"), pytest.param(("2", "6"), marks=pytest.mark.slow)], ids=["few", "many"])
def test_damaged_files_of_our_own_are_shown_as_they_were_or_refused_in_one_line(extent: tuple[str, str]) -> None:
    command = [sys.executable, "-m", "fuzz.kept_promises", "--files", extent[0], "--each", extent[1]]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", 0 faults") == len(KINDS)
