"""Verdicts by the rule: the limit, the interval, and how many samples there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from ascend_sn.compare.comparison import compared
from ascend_sn.compare.figures import Peak, RunFigures
from ascend_sn.compare.judge import Judgement, judge, judged
from ascend_sn.compare.metrics import METRICS, Samples, metric_of
from ascend_sn.errors import UnknownNameError
from ascend_sn.report.words.comparison_text import verdict_sentences
from tests.unit.compare.made import run_of, work

STEP, UTILISATION, MEMORY = metric_of("step_time"), metric_of("utilisation"), metric_of("peak_memory")


def runs(medians: Sequence[float]) -> list[RunFigures]:
    return [run_of([round(1000 * one)] * 3) for one in medians]


def step_time(base: Sequence[RunFigures], candidate: Sequence[RunFigures], limit: float = 0.1) -> Judgement:
    found = judge(STEP, base, candidate, limit)
    assert found is not None
    return found


def test_five_runs_a_side_are_the_samples() -> None:
    found = step_time(runs([100, 101, 99, 100, 102]), runs([120, 121, 119, 122, 120]))

    assert (found.verdict, found.method, found.confidence) == ("regression", "runs", "normal")
    assert (found.base, found.candidate) == (100_000, 120_000)
    assert found.change == pytest.approx(0.2)
    assert found.p_value == pytest.approx(1 / 252)
    assert found.low is not None
    assert 0.15 < found.low < 0.2


def test_a_regression_is_an_improvement_the_other_way_round() -> None:
    slow, fast = runs([120, 121, 119, 122, 120]), runs([100, 101, 99, 100, 102])

    assert step_time(slow, fast).verdict == "improved"


def test_a_change_below_the_limit_is_no_change() -> None:
    assert step_time(runs([100, 101, 99, 100, 102]), runs([105, 104, 106, 105, 105])).verdict == "no change"


def test_a_lower_limit_catches_it() -> None:
    assert step_time(runs([100, 101, 99, 100, 102]), runs([105, 104, 106, 105, 105]), 0.03).verdict == "regression"


def test_a_change_that_chance_may_have_made_is_possible_and_asks_for_runs() -> None:
    found = step_time(runs([80, 100, 140, 90, 100]), runs([85, 112, 150, 95, 112]))

    assert found.verdict == "possible"
    assert found.more_runs is not None
    assert found.more_runs > 15


def test_noise_without_a_change_is_inconclusive_where_it_could_hide_one() -> None:
    found = step_time(runs([70, 100, 140, 80, 120]), runs([75, 102, 150, 70, 125]))

    assert found.verdict == "inconclusive"


def test_a_run_against_itself_is_no_change_however_noisy() -> None:
    noisy = [run_of([50, 400, 90, 700, 20, 1000])]

    assert step_time(noisy, noisy).verdict == "no change"


def test_steps_stand_for_runs_where_there_are_too_few() -> None:
    generator = np.random.default_rng(1)
    base, slow = (run_of(np.rint(generator.normal(mean, 500, 40)).astype(int).tolist()) for mean in (40_000, 46_000))

    found = step_time([base], [slow])

    assert (found.verdict, found.method, found.confidence, found.p_value) == ("regression", "steps", "low", None)
    assert found.base_count == 40


def test_a_few_steps_are_never_a_regression() -> None:
    assert step_time([run_of([100, 100, 100])], [run_of([200, 200, 200])]).verdict == "possible"
    assert step_time([run_of([100, 100, 100])], [run_of([101, 101, 101])]).verdict == "inconclusive"


def test_utilisation_falls_in_points() -> None:
    base = run_of([100] * 10, work("A", 10, 900))
    low = run_of([100] * 10, work("A", 10, 700))

    found = judge(UTILISATION, [base], [low], 0.15)

    assert found is not None
    assert (found.base, found.candidate) == (0.9, 0.7)
    assert found.change == pytest.approx(-0.2)
    assert found.verdict == "regression"


def test_memory_is_judged_by_its_limit_alone() -> None:
    base, more = (
        run_of([100], peak=Peak(peak_bytes=size, basis="allocated", component="PTA")) for size in (1000, 1050)
    )

    found = judge(MEMORY, [base], [more], 0.05)

    assert found is not None
    assert (found.verdict, found.confidence, found.low) == ("regression", "low", None)


def test_allocated_and_reserved_memory_are_not_compared() -> None:
    base = run_of([100], peak=Peak(peak_bytes=1000, basis="allocated", component="PTA"))
    other = run_of([100], peak=Peak(peak_bytes=1000, basis="reserved", component="PTA"))

    assert judge(MEMORY, [base, other], [base], 0.05) is None


def test_without_a_limit_there_is_no_verdict() -> None:
    found = judge(STEP, runs([100]), runs([150]), None)

    assert found is not None
    assert (found.verdict, found.more_runs) == (None, None)


def test_what_is_not_there_is_not_judged() -> None:
    bare = run_of([100], parts=None, steps=[])

    assert [metric.name for metric in METRICS if judge(metric, [bare], [bare], 0.1)] == []


def test_a_baseline_of_zero_is_no_error() -> None:
    found = judged(STEP, Samples(np.zeros(5)), Samples(np.ones(5)), 0.1)

    assert found.verdict in ("regression", "possible")


def test_an_unknown_metric_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="step_time"):
        metric_of("step-tim")


@pytest.mark.parametrize(
    ("more", "said"),
    [(100, "compare.said.more-runs"), (101, "compare.said.too-many-runs"), (1, "compare.said.more-runs")],
)
def test_nobody_is_asked_for_more_runs_than_anybody_records(more: int, said: str) -> None:
    comparison = compared([run_of([100] * 20)], [run_of([104] * 20)])
    judgement = replace(comparison.judgements[0], verdict="inconclusive", more_runs=more, method="steps")
    told = verdict_sentences(replace(comparison, judgements=[judgement], decided_by=[judgement.metric]))

    assert [one.message_id for one in told][-1] == said
