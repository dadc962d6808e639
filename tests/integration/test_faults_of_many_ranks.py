"""Simulated jobs of many ranks with faults of known size: found, and what costs most comes first."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from benchmarks.cluster_shape import Shape
from benchmarks.measured import ROOT, run_measured

SLOW: Final = 69
SLOW_LINKS: Final = 66

PEAK_BYTES: Final = 1_200_000_000
"""What docs/how-to/clusters.md states for a thousand ranks: 1.2 GB."""

SMALL: Final = Shape(dp=9, tp=4, pp=2)
"""Seventy-two ranks on nine hosts."""


class Analysed:
    """What `analyze` says of a job, the true faults, and the most memory that its processes took."""

    def __init__(self, folder: Path, shape: Shape, faults: Sequence[str], **model: int) -> None:
        sizes = {"dp": shape.dp, "tp": shape.tp, "pp": shape.pp, "ep": shape.ep, "layers": 1, "micro_batches": 4}
        sizes |= {"steps": 6, **model}
        words = [word for name, size in sizes.items() for word in (f"--{name.replace('_', '-')}", str(size))]
        words += [word for fault in faults for word in ("--fault", fault)]
        # In a process of its own: one that is started begins with the peak of the process that starts it.
        simulated = [sys.executable, "-m", "benchmarks.simulated_cluster", str(folder / "job"), *words]
        subprocess.run(simulated, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        said = folder / "said.json"
        told = ["--output", str(said), "--lang", "en", "--cache-dir", str(folder / "cache")]
        cost = run_measured([sys.executable, "-m", "ascend_sn", "analyze", str(folder / "job"), *told])
        self.peak_bytes = cost.peak_bytes
        self.document: dict[str, Any] = json.loads(said.read_text(encoding="utf-8"))
        self.truth: dict[str, Any] = json.loads((folder / "job" / "truth.json").read_text(encoding="utf-8"))
        self.cluster: dict[str, Any] = self.document["cluster"]
        self.findings: list[dict[str, Any]] = self.document["findings"]["rows"]

    def true_ns(self, kind: str) -> int:
        """What the fault of a kind costs a step."""
        (fault,) = (fault for fault in self.truth["faults"] if fault["kind"] == kind)
        return int(fault["step_ns"])

    def place(self, rule: str, *ranks: int) -> int:
        """Where the finding of a rule about some ranks stands."""
        places = [at for at, one in enumerate(self.findings) if one["rule"] == rule]
        return next(at for at in places if self.findings[at]["location"]["ranks"] == list(ranks))


@pytest.mark.slow
@pytest.mark.parametrize("dp", [12, 125])
def test_the_fault_that_costs_most_is_the_first_advice(tmp_path: Path, dp: int) -> None:
    faults = (f"slow-rank:{SLOW}:1.2", f"slow-link:{SLOW_LINKS}:3")

    job = Analysed(tmp_path, Shape(dp=dp, tp=4, pp=2), faults, micro_batches=8)

    first, link_ns = job.findings[0], job.true_ns("slow-link")
    assert job.cluster["rank_count"] == 8 * dp
    assert len(job.cluster["detailed_ranks"]) == 32
    assert (job.cluster["worst"][0]["rank"], job.cluster["worst"][0]["cause"]) == (SLOW, "compute")
    assert job.cluster["straggler_count"] == 1
    assert all(SLOW_LINKS in (link["src_rank"], link["dst_rank"]) for link in job.cluster["slow_links"])
    assert link_ns > 10 * job.true_ns("slow-rank")
    assert (first["rule"], first["location"]["ranks"]) == ("R-COMM-5", [SLOW_LINKS])
    assert first["gain"]["low_ns"] <= link_ns <= first["gain"]["high_ns"]
    assert job.document["verdict"][0]["message_id"] == "verdict.slow-link"
    assert job.peak_bytes <= PEAK_BYTES


@pytest.mark.slow
def test_a_late_host_is_found_with_its_cause_and_explains_what_it_does(tmp_path: Path) -> None:
    job = Analysed(tmp_path, SMALL, ["late-host:50:200"])

    first, worst = job.findings[0], job.cluster["worst"][0]
    assert (worst["rank"], worst["cause"], job.cluster["straggler_count"]) == (50, "host", 1)
    assert (first["rule"], first["location"]["ranks"]) == ("R-IMB-1", [50])
    assert abs(first["gain"]["expected_ns"] - job.true_ns("late-host")) <= 0.05 * job.true_ns("late-host")
    assert not any(one["rule"] in ("R-HOST-5", "R-BS-1") for one in job.findings)
    assert job.cluster["slow_link_count"] == 0


@pytest.mark.slow
def test_experts_with_more_tokens_are_one_uneven_load(tmp_path: Path) -> None:
    job = Analysed(tmp_path, Shape(dp=9, tp=4, pp=2, ep=3), ["tokens:1:1.5"])

    (fault,) = job.truth["faults"]
    heavy = {row["rank"] for row in job.cluster["worst"] if row["is_straggler"]}
    assert job.cluster["straggler_count"] == len(fault["ranks"]) == 24
    assert heavy <= set(fault["ranks"])
    assert {row["cause"] for row in job.cluster["worst"]} == {"compute"}
    assert any(one["rule"] == "R-IMB-2" for one in job.findings)
    assert not any(one["rule"] == "R-IMB-1" for one in job.findings)


@pytest.mark.slow
def test_a_stage_with_more_to_do_is_told_as_the_stage(tmp_path: Path) -> None:
    job = Analysed(tmp_path, SMALL, ["vocabulary:65536"])

    first, *others = job.findings
    assert (first["rule"], first["location"]["stage"]) == ("R-PP-1", 1)
    assert first["gain"]["high_ns"] >= 0.95 * job.true_ns("vocabulary")
    assert not any(one["rule"] == "R-PP-1" for one in others)
    assert job.cluster["straggler_count"] == 0


@pytest.mark.slow
def test_a_leak_and_clocks_that_differ_are_found_and_nothing_else(tmp_path: Path) -> None:
    faults = ["leak:61:67108864", "clock:3:1500", "clock:6:-800"]

    job = Analysed(tmp_path, Shape(dp=17, tp=4), faults, micro_batches=1, steps=34)

    first = job.findings[0]
    assert (first["rule"], first["location"]["ranks"]) == ("R-MEM-2", [61])
    assert first["params"]["slope_bytes"] == 67_108_864
    assert 61 in job.cluster["detailed_ranks"]
    assert (job.cluster["straggler_count"], job.cluster["slow_link_count"]) == (0, 0)
    clocks = {one["rank"]: one for one in job.document["health"]["clocks"]}
    true = {rank["rank"]: rank["clock_offset_ns"] for rank in job.truth["ranks"]}
    assert clocks
    for rank, clock in clocks.items():
        # Ranks of one host have one clock; nobody measures how well they agree.
        assert abs(clock["offset_ns"] - true[rank]) <= (clock["error_ns"] or 0), rank


@pytest.mark.slow
def test_several_faults_come_in_the_order_of_their_true_cost(tmp_path: Path) -> None:
    job = Analysed(tmp_path, SMALL, ["late-host:50:200", "slow-link:20:3", "slow-rank:13:1.2"])

    assert job.true_ns("late-host") > job.true_ns("slow-link") > job.true_ns("slow-rank")
    places = [job.place("R-IMB-1", 50), job.place("R-COMM-5", 20), job.place("R-IMB-1", 13)]
    assert places == sorted(places)
    assert places[0] == 0
    verdict = [said["message_id"] for said in job.document["verdict"]]
    assert (verdict[0], job.document["verdict"][0]["params"]["rank"]) == ("verdict.straggler", 50)
    assert "verdict.slow-link" in verdict
