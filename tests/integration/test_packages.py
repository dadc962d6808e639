"""The source distribution becomes a package that works, with and without Node and a C compiler."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WAYS = {
    "sdist": "installs, records, reads",
    "no-node": "installs, records, reads",
    "no-compiler": "installs, records, reads",
    "nothing": "the build stops and names the compiler",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
def test_the_source_distribution_is_built_and_used(how: str) -> None:
    done = subprocess.run(
        ["scripts/check-wheel.sh", sys.executable, how], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{how}: ")
    assert done.stdout.rstrip().endswith(WAYS[how])
