"""Each reader's corpus under named damages: read with the damage named, or refused in one line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ascend_sn.formats import readers
from ascend_sn.formats.discover import discover
from fuzz.corpus import CORPUS, seed
from fuzz.promises import read_outcome

ROOT = Path(__file__).resolve().parents[3]
REFUSED = ("mindspore-raw", "torch_npu-raw", "msprof-raw", "pytorch-execution-trace")


def test_every_reader_has_a_corpus() -> None:
    assert [reader.name for reader in readers()] == list(CORPUS)


@pytest.mark.parametrize("name", list(CORPUS))
def test_the_sound_inputs_are_read_by_their_reader(name: str, tmp_path: Path) -> None:
    for number, write in enumerate(CORPUS[name]):
        made = seed(write)
        for file, content in made.files.items():
            path = tmp_path / str(number) / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        opened = tmp_path / str(number) / made.opened

        outcome = read_outcome(opened)

        assert [source.reader.name for source in discover(opened).sources] == [name]
        assert not outcome.fault
        assert bool(outcome.refused) is (name in REFUSED)
        assert bool(outcome.tables) is (name not in REFUSED)


@pytest.mark.parametrize("name", list(CORPUS))
def test_damaged_files_are_read_with_the_damage_named_or_refused_in_one_line(name: str) -> None:
    command = [sys.executable, "-m", "fuzz.promises", "--reader", name, "--each", "1"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(", 0 faults") == len(CORPUS[name])
