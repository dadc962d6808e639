"""What stands against a comparison."""

from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.compare.comparability import comparability
from ascend_sn.compare.comparison import compared
from ascend_sn.compare.figures import Collectives, RunFigures
from tests.unit.compare.made import run_of, work

STEPS = [100] * 8


def run(**more: Any) -> RunFigures:
    return run_of(STEPS, work("A", 8, 400), **more)


def obstacles(base: RunFigures, *candidate: RunFigures) -> list[str]:
    return [message.message_id for message in comparability([base], candidate).obstacles]


def remarks(base: RunFigures, candidate: RunFigures) -> list[str]:
    return [message.message_id for message in comparability([base], [candidate]).remarks]


@pytest.mark.parametrize(
    ("base", "candidate", "said"),
    [
        ({}, {"steps": [], "parts": None}, "compare.empty"),
        ({"silent_ranks": [0]}, {}, "compare.no-device-data"),
        ({"ranks": [0, 1], "world_size": 2}, {"ranks": [0], "world_size": 2}, "compare.lost-rank"),
        ({"ranks": [0], "world_size": 2}, {"ranks": [0, 1], "world_size": 2}, "compare.lost-rank"),
        ({"ranks": [0, 1]}, {"ranks": [0]}, "compare.lost-rank"),
    ],
)
def test_what_cannot_be_compared_is_said(base: dict[str, Any], candidate: dict[str, Any], said: str) -> None:
    assert obstacles(run(**base), run(**candidate)) == [said]
    assert compared([run(**base)], [run(**candidate)]).verdict == "cannot compare"


def test_runs_of_one_side_must_belong_together() -> None:
    assert obstacles(run(), run(ranks=[0, 1]), run()) == ["compare.mixed-size"]
    assert obstacles(run(), run(device_kinds=["cpu"]), run()) == ["compare.mixed-kind"]


@pytest.mark.parametrize(
    ("candidate", "said"),
    [
        ({"device_kinds": ["cuda"]}, "compare.other-device"),
        ({"all_step_count": 30}, "compare.other-step-count"),
        ({"scope": "inferred step"}, "compare.other-steps"),
        ({"damage_count": 2}, "compare.damaged"),
        ({"tool_version": "9"}, "compare.other-version"),
        ({"groups": ["tp 4 x 2"]}, "compare.other-structure"),
        ({"ranks": [0, 1], "world_size": None}, "compare.other-size"),
    ],
)
def test_what_differs_is_said_first_and_compared(candidate: dict[str, Any], said: str) -> None:
    base, other = run(groups=["dp 8 x 1"]), run(**{"groups": ["dp 8 x 1"], **candidate})

    assert said in remarks(base, other)
    assert obstacles(base, other) == []


def test_the_same_rank_of_a_larger_job_is_enough() -> None:
    assert obstacles(run(world_size=300, ranks=[34]), run(world_size=300, ranks=[34])) == []


def test_a_chip_that_one_side_does_not_name_is_no_other_device() -> None:
    assert remarks(run(device_names=["Ascend910B"]), run()) == []
    assert remarks(run(device_names=["Ascend910B"]), run(device_names=["Ascend910A"])) == ["compare.other-device"]


def test_more_ranks_give_speed_up_instead_of_a_verdict() -> None:
    base, candidate = run(world_size=4, ranks=[0, 1, 2, 3]), run_of([125] * 8, world_size=8, ranks=list(range(8)))

    found = compared([base], [candidate])

    assert found.verdict == "scaling"
    assert found.scaling is not None
    assert (found.scaling.step_ratio, found.scaling.weak_speed_up, found.scaling.weak_efficiency) == (0.8, 1.6, 0.8)
    assert (found.scaling.strong_speed_up, found.scaling.strong_efficiency) == (0.8, 0.4)


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        (run_of([125] * 8, work("A", 8, 400), world_size=8, ranks=list(range(8)), device_names=["CPU"]), "device"),
        (run_of([125] * 8, work("Z", 8, 400), world_size=8, ranks=list(range(8)), device_names=["NPU"]), "work"),
    ],
)
def test_speed_up_is_left_out_for_another_device_or_other_work(candidate: RunFigures, why: str) -> None:
    base = run(world_size=4, ranks=[0, 1, 2, 3], device_names=["NPU"])

    found = compared([base], [candidate])

    assert (found.verdict, found.scaling) == ("scaling", None)
    assert [one.message_id for one in found.remarks][-1] == f"compare.no-scaling-{why}"


def test_another_metric_may_decide() -> None:
    base = run_of([100] * 20, work("A", 20, 1900))
    found = compared([base], [run_of([100] * 20, work("A", 20, 1000))])

    assert (found.verdict, found.decided_by) == ("regression", ["utilisation"])


def test_a_metric_of_one_side_only_is_named() -> None:
    found = compared([run(mfu_ratio=0.4)], [run()])

    assert found.lacking == {"mfu": "candidate"}
    assert set(found.absent) == {"epoch_time", "peak_memory"}


def test_each_operator_is_tested_where_there_are_runs_enough() -> None:
    base = [run_of([100], work("A", 1, 40 + at), work("B", 1, 20)) for at in range(5)]
    candidate = [run_of([120], work("A", 1, 60 + at), work("B", 1, 20)) for at in range(5)]

    found = {one.name: one for one in compared(base, candidate).operators}

    # 1/252 for A times two tests; B is equal throughout.
    assert found["A"].p_value == pytest.approx(2 / 252)
    assert found["A"].is_slower
    assert found["B"].p_value == 1.0


def test_collectives_stand_beside_each_other_per_step() -> None:
    def with_collectives(calls: int, total_ns: int) -> RunFigures:
        row = Collectives(op="allreduce", calls=calls, total_ns=total_ns, transit_ns=total_ns // 2, wait_ns=None)
        return run(collectives=[row])

    (found,) = compared([with_collectives(8, 800), with_collectives(16, 800)], [run()]).collectives

    assert found.candidate is None
    assert found.base is not None
    assert (found.base.calls, found.base.total_ns, found.base.transit_ns, found.base.wait_ns) == (1.5, 100, 50, None)
