"""Simulated jobs of many shapes with one or two faults: what costs most comes first, with its cause and its true price.

The price of a fault is known: the same job with the same noise is simulated once more without it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest

import ascend_sn
from ascend_sn.advisor.finding import Advice, Finding
from benchmarks.cluster_faults import parsed_faults
from benchmarks.cluster_program import Model
from benchmarks.cluster_shape import Shape
from benchmarks.cluster_timing import Plan, simulate
from benchmarks.prediction_cluster import median_step_ns
from benchmarks.simulated_cluster import write_job


@dataclass(frozen=True)
class Case:
    """A job, and what has to come first: a rule about some ranks, or about a stage, which is the cure of `cured`."""

    name: str
    shape: Shape
    faults: tuple[str, ...]
    rule: str
    ranks: tuple[int, ...] = ()
    stage: int | None = None
    cured: tuple[str, ...] = ()
    micro_batches: int = 4
    seed: int = 1


FEW: Final = (
    Case("tokens of two stages", Shape(4, pp=2, ep=4), ("tokens:1:1.5",), "R-IMB-2", (1, 5)),
    Case("slow one of two in a stage", Shape(2, pp=4), ("slow-rank:4:1.25",), "R-IMB-1", (4,), micro_batches=6, seed=7),
    Case(
        "slow alike",
        Shape(8),
        ("slow-rank:2:1.3", "slow-rank:6:1.3"),
        "R-IMB-1",
        (2, 6),
        seed=5,
        cured=("slow-rank:2:1.3", "slow-rank:6:1.3"),
    ),
)
MANY: Final = (
    Case("tokens, data parallel", Shape(8, ep=4), ("tokens:1:1.5",), "R-IMB-2", (1, 5)),
    Case("tokens, tensor parallel", Shape(4, 2, ep=4), ("tokens:1:1.5",), "R-IMB-2", (2, 3)),
    Case("tokens of one rank", Shape(4, ep=4), ("tokens:1:1.5",), "R-IMB-1", (1,), seed=4),
    Case("tokens of one of two", Shape(4, pp=2, ep=2), ("tokens:0:1.4",), "R-IMB-2", (0, 2, 4, 6), seed=33),
    Case("slow memory", Shape(6, 2), ("slow-memory:5:2.5",), "R-IMB-1", (5,), seed=31),
    Case("slow one of three", Shape(3, pp=3), ("slow-rank:7:1.2",), "R-IMB-1", (7,), seed=36),
    Case("late one of two", Shape(2), ("late-host:1:150",), "R-IMB-1", (1,), seed=37),
    Case("late host, pipeline", Shape(2, 4, 2), ("late-host:9:120",), "R-IMB-1", (9,), seed=9),
    Case("slow pair", Shape(3, 2, 2, ranks_per_host=4), ("slow-link:1-5:6",), "R-COMM-5", (1, 5), seed=8),
    Case("slow links of a ring", Shape(16, ranks_per_host=4), ("slow-link:5:4",), "R-COMM-5", (5,), seed=18),
    Case("vocabulary", Shape(2, 2, 3), ("vocabulary:131072",), "R-PP-1", stage=2, seed=11),
    Case("late and slow", Shape(4, 2, 2), ("late-host:10:150", "slow-rank:3:1.4"), "R-IMB-1", (10,), seed=13),
    Case("link and slow", Shape(3, 4), ("slow-link:8-9:5", "slow-rank:2:1.3"), "R-COMM-5", (8, 9), seed=14),
    Case("vocabulary and slow", Shape(2, 2, 2), ("vocabulary:98304", "slow-rank:1:1.3"), "R-PP-1", stage=1, seed=15),
    Case(
        "a host",
        Shape(8, 2, ranks_per_host=4),
        tuple(f"slow-rank:{rank}:1.2" for rank in (4, 5, 6, 7)),
        "R-IMB-1",
        (4, 5, 6, 7),
        cured=tuple(f"slow-rank:{rank}:1.2" for rank in (4, 5, 6, 7)),
        seed=32,
    ),
)

CONSEQUENCES: Final = ("R-HOST-2", "R-PP-1", "R-COMM-0", "R-COMM-1")
"""Rules about what waiting for others looks like."""


def true_ns(plan: Plan, cured: tuple[str, ...]) -> int:
    left = tuple(fault for fault in plan.faults if fault.text not in cured)
    return median_step_ns(simulate(plan)) - median_step_ns(simulate(replace(plan, faults=left)))


def advice_of(plan: Plan, folder: Path) -> Advice:
    write_job(simulate(plan), folder / "job")
    with ascend_sn.open(folder / "job", cache_dir=folder / "cache") as run:
        return ascend_sn.advise(run)


def check(case: Case, folder: Path) -> None:
    model = Model(micro_batches=case.micro_batches)
    plan = Plan(case.shape, model, steps=6, faults=parsed_faults(case.faults, case.shape), seed=case.seed)
    found_ns = true_ns(plan, case.cured or case.faults[:1])

    first, *others = advice_of(plan, folder).findings

    assert (first.code, first.location.ranks, first.location.stage) == (
        case.rule,
        case.ranks,
        case.stage if case.rule == "R-PP-1" else first.location.stage,
    )
    assert first.gain is not None
    assert first.gain.low_ns <= found_ns <= first.gain.high_ns
    if case.rule != "R-PP-1":  # whose price is an even division of the work, not its disappearance
        assert abs(first.gain.expected_ns - found_ns) <= 0.1 * found_ns
    before = [one.code for one in others[: _place(others, case)]]
    assert not set(before) & set(CONSEQUENCES)


def _place(others: list[Finding], case: Case) -> int:
    """How many findings stand before the last one that is about a fault."""
    causes = ("R-IMB-1", "R-IMB-2", "R-COMM-5")
    return max((at for at, one in enumerate(others) if one.code in causes), default=0)


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_the_fault_comes_first_at_its_true_price(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("case", MANY, ids=lambda case: case.name)
def test_so_it_does_in_jobs_of_other_shapes(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [Shape(2, 2, 2), Shape(8, ep=8), Shape(4, pp=4)], ids=str)
def test_without_a_fault_nobody_is_blamed(shape: Shape, tmp_path: Path) -> None:
    advice = advice_of(Plan(shape, steps=6, seed=16), tmp_path)

    assert not {one.code for one in advice.findings} & {"R-IMB-1", "R-IMB-2", "R-COMM-5", "R-PP-1"}


def test_what_a_late_host_lets_the_others_wait_for_is_held_back(tmp_path: Path) -> None:
    shape = Shape(2, 2, 2)

    advice = advice_of(Plan(shape, steps=6, faults=parsed_faults(["late-host:5:200"], shape)), tmp_path)

    held = {one.code: one.reason.message_id for one in advice.suppressed}
    assert held["R-HOST-2"] == "suppressed.told-by"
    assert held["R-PP-1"] == "suppressed.straggler-explains"
    assert [one.code for one in advice.findings if one.code in CONSEQUENCES and one.gain is not None] == []
