"""The field case of large traces: exact at any size, and memory that grows no faster than the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.ingest import stage_command, write_trace
from benchmarks.measured import Cost, run_measured
from tests.shared_data import requires_shared

pytestmark = [requires_shared, pytest.mark.slow]

MEGABYTE = 1_000_000


def measured(stage: str, megabytes: int, folder: Path) -> tuple[dict[str, int], Cost, int]:
    """Return the truth of a trace, what a stage cost and found, and the size of the file."""
    path = folder / f"{megabytes}.json"
    truth = write_trace("case", path, megabytes * MEGABYTE)
    return truth, run_measured(stage_command(stage, "case", path, folder / f"cache{megabytes}")), path.stat().st_size


def test_fifty_megabytes_are_exact(tmp_path: Path) -> None:
    truth, cost, _ = measured("ingest", 50, tmp_path)

    assert cost.said == {name: truth[name] for name in ("kernels", "kernel_ns", "operators")}


def test_memory_grows_no_faster_than_one_and_a_half_files(tmp_path: Path) -> None:
    _, small, small_size = measured("analyze", 50, tmp_path)
    _, large, large_size = measured("analyze", 150, tmp_path)

    assert large.peak_bytes - small.peak_bytes <= 1.5 * (large_size - small_size)
