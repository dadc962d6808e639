"""Simulated jobs of many ranks with faults of known size: found, and what costs most comes first."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.cluster_faults import parsed_faults
from benchmarks.cluster_program import Model
from benchmarks.cluster_shape import Shape
from benchmarks.cluster_timing import Plan, simulate
from benchmarks.simulated_cluster import write_job

SLOW: Final = 69
SLOW_LINKS: Final = 66


def analysed(folder: Path, dp: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What `analyze` says of a job of eight times `dp` ranks, and its true faults."""
    shape = Shape(dp=dp, tp=4, pp=2)
    faults = parsed_faults((f"slow-rank:{SLOW}:1.2", f"slow-link:{SLOW_LINKS}:3"), shape)
    write_job(simulate(Plan(shape, Model(layers=1, micro_batches=8), steps=6, faults=faults)), folder / "job")
    words = ["analyze", str(folder / "job"), "--format", "json", "--lang", "en", "--cache-dir", str(folder / "cache")]
    done = subprocess.run([sys.executable, "-m", "ascend_sn", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    truth = json.loads((folder / "job" / "truth.json").read_text(encoding="utf-8"))
    return json.loads(done.stdout), truth["faults"]


@pytest.mark.slow
@pytest.mark.parametrize("dp", [12, 125])
def test_the_fault_that_costs_most_is_the_first_advice(tmp_path: Path, dp: int) -> None:
    document, faults = analysed(tmp_path, dp)

    cluster, (first, *_) = document["cluster"], document["findings"]["rows"]
    costliest = max(faults, key=lambda fault: fault["step_ns"])
    assert cluster["rank_count"] == 8 * dp
    assert len(cluster["detailed_ranks"]) == 32
    assert (cluster["worst"][0]["rank"], cluster["worst"][0]["cause"]) == (SLOW, "compute")
    assert cluster["straggler_count"] == 1
    assert all(SLOW_LINKS in (link["src_rank"], link["dst_rank"]) for link in cluster["slow_links"])
    assert costliest["ranks"] == [SLOW_LINKS]
    assert (first["rule"], first["location"]["ranks"]) == ("R-COMM-5", [SLOW_LINKS])
    assert first["gain"]["low_ns"] <= costliest["step_ns"] <= first["gain"]["high_ns"]
