"""What the power study feeds into the analysis is what files would give it; and faults are found with their cause."""

from __future__ import annotations

from pathlib import Path

import pytest

import ascend_sn
from benchmarks.cluster_faults import parsed_faults
from benchmarks.cluster_program import Model
from benchmarks.cluster_shape import Shape
from benchmarks.cluster_timing import Job, Noise, Plan, simulate
from benchmarks.simulated_cluster import write_job
from benchmarks.straggler_power import SHAPES, judged


def job(shape: Shape, *faults: str, noise: float = 0.05, steps: int = 5, seed: int = 11) -> Job:
    return simulate(Plan(shape, Model(2, 2), steps, Noise(noise, 0.05), parsed_faults(faults, shape), seed))


def named(found: Job) -> dict[int, str]:
    return {row["rank"]: row["cause"] for row in judged(found) if row["is_straggler"]}


def test_the_fed_tables_are_those_that_files_give(tmp_path: Path) -> None:
    simulated = job(Shape(dp=2, tp=2, pp=2, ep=2, ranks_per_host=4), "slow-rank:5:1.2", steps=3)
    write_job(simulated, tmp_path / "job")

    with ascend_sn.open(tmp_path / "job", cache_dir=tmp_path / "cache") as run:
        relation = ascend_sn.analysis.stragglers(run)
        read = [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]

    assert judged(simulated) == read


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.10])
def test_one_rank_of_256_that_computes_a_tenth_longer_is_found(noise: float) -> None:
    assert named(job(Shape(32, 8), "slow-rank:77:1.1", noise=noise)) == {77: "compute"}


@pytest.mark.parametrize("shape", SHAPES[16], ids=lambda shape: f"{shape.dp}x{shape.tp}x{shape.pp}ep{shape.ep}")
def test_without_a_fault_nobody_is_named_and_with_one_only_that_rank(shape: Shape) -> None:
    assert named(job(shape)) == {}
    assert named(job(shape, "slow-rank:6:1.2")) == {6: "compute"}


def test_a_late_host_is_its_host_and_tokens_are_compute() -> None:
    assert named(job(Shape(16), "late-host:3:100")) == {3: "host"}

    shape = Shape(16, ep=8)
    uneven = named(job(shape, "tokens:2:1.8"))

    assert uneven == {rank: "compute" for rank in range(16) if shape.expert_place(rank) == 2}
