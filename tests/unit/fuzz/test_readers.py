"""A bounded number of turns of every fuzz target, those that reach C with sanitizers on; `make fuzz` runs many."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz.mutate import mutate, overwrite
from fuzz.readers import damaged
from fuzz.seeds import SEEDS

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("target", list(SEEDS))
def test_damaged_files_are_read_or_refused_in_words(target: str) -> None:
    command = [sys.executable, "-m", "fuzz.readers", "--target", target, "--runs", "60", "--seed", "7"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.count("no fault")) == (0, 1), done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler that has the sanitizers")
def test_no_reader_makes_the_core_touch_memory_that_is_not_its_own() -> None:
    command = [sys.executable, "-m", "fuzz.readers", "--sanitize", "--runs", "100", "--seed", "7"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout.count("no fault")) == (0, 4), done.stdout + done.stderr


@pytest.mark.parametrize("target", list(SEEDS))
def test_a_turn_is_the_same_every_time(target: str) -> None:
    first, second = (damaged(target, random.Random(f"{target} 7 3")) for _ in range(2))

    assert sorted(first) == sorted(second)
    if target not in ("sqlite", "pickle"):  # gzip and SQLite put the moment and the version into the file
        assert first == second


def test_overwriting_keeps_the_size_and_cutting_only_shortens() -> None:
    content = bytes(range(200))

    assert {len(overwrite(content, random.Random(turn))) for turn in range(50)} == {200}
    assert any(len(mutate(content, random.Random(turn))) < 100 for turn in range(50))
