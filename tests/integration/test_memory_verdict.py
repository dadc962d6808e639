"""A real leak and a real cache in a training on the CPU are told apart."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.advisor.advise import advise
from ascend_sn.advisor.finding import Finding
from ascend_sn.analysis.memory.memory_leak import memory_leak
from ascend_sn.store import open_run
from tests.integration.growing_training import BLOCK


def verdict(mode: str, folder: Path) -> tuple[dict[str, Any], list[Finding]]:
    """Return the row of the analysis, and what the advisor makes of it."""
    output = folder / mode
    command = [sys.executable, "-m", "tests.integration.growing_training", mode, str(output)]
    subprocess.run(command, check=True, timeout=300, cwd=Path(__file__).parents[2], capture_output=True)
    with open_run(output, cache_dir=folder / "read") as run:
        found = memory_leak(run.db)
        names = found.columns
        (row,) = (dict(zip(names, values, strict=True)) for values in found.fetchall())
        findings = list(advise(run, codes=["R-MEM-2"]).findings)
    return row, findings


def test_a_list_that_grows_every_step_is_a_leak_of_its_size(tmp_path: Path) -> None:
    row, (finding,) = verdict("leak", tmp_path)

    assert (row["component"], row["verdict"]) == ("process", "leak")
    assert row["slope_bytes_per_step"] == pytest.approx(8 * BLOCK, rel=0.1)
    assert (finding.grade, finding.severity) == ("leak", "warning")
    assert finding.message.params["slope_bytes"] == pytest.approx(8 * BLOCK, rel=0.1)


def test_a_cache_that_fills_in_twenty_steps_is_a_cache(tmp_path: Path) -> None:
    row, (finding,) = verdict("cache", tmp_path)

    assert row["verdict"] == "cache"
    assert (finding.grade, finding.severity) == ("cache", "info")


def test_a_block_that_is_replaced_every_step_is_neither(tmp_path: Path) -> None:
    row, findings = verdict("steady", tmp_path)

    assert row["verdict"] in ("steady", "cache")
    assert [finding.grade for finding in findings if finding.severity != "info"] == []
