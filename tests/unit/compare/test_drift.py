"""Runs that depend on each other: what is assumed of them, and when nothing has to be."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from ascend_sn.compare.drift import dependence, drift_margin, prediction_margin, recorded_in_turn, widening
from ascend_sn.compare.judge import judged
from ascend_sn.compare.metrics import Samples, metric_of
from benchmarks.gate_power import FAMILIES, Family

stats = pytest.importorskip("scipy.stats", reason="the quantile is checked against scipy")

STEP = metric_of("step_time")
NOISE = np.random.default_rng(4)


@pytest.mark.parametrize(
    ("base", "candidate", "expected"),
    [
        ([1, 3, 5], [2, 4, 6], True),
        ([1, 4, 5], [2, 3, 6], True),
        ([1, 2, 3], [4, 5, 6], False),
        ([1, 2, 3, 8], [4, 5, 6, 7], False),
        ([1, 3, None], [2, 4, 6], False),
        ([1, 3, 3], [2, 4, 6], False),
        ([1], [2], False),
    ],
)
def test_recorded_in_turn(base: list[int | None], candidate: list[int | None], expected: bool) -> None:
    assert recorded_in_turn(base, candidate) is expected


def test_few_runs_leave_the_assumed_share_nearly_as_it_is() -> None:
    shares = [dependence([NOISE.standard_normal(5), NOISE.standard_normal(5)]) for _ in range(50)]

    assert 0.25 < np.median(shares) < 0.6


def test_many_independent_runs_take_it_away_and_dependent_ones_confirm_it() -> None:
    independent = NOISE.standard_normal(500)
    dependent = np.cumsum(independent)

    assert dependence([independent]) < 0.1
    assert dependence([dependent]) == 0.8


def test_equal_runs_say_nothing() -> None:
    assert dependence([np.ones(5), np.ones(5)]) == 0.5


def test_a_share_of_a_half_is_as_a_third_of_the_runs() -> None:
    # The variance of a mean of runs with neighbours alike by r grows by (1 + r) / (1 - r).
    assert widening(0.5) == pytest.approx(sqrt(3))


def test_the_margin_of_a_prediction_is_students() -> None:
    runs = np.array([98.0, 99.0, 100.0, 101.0, 102.0])
    expected = stats.t.ppf(0.975, 4) * np.std(runs, ddof=1) * sqrt(1 + 1.2533**2 / 5)

    assert prediction_margin(runs, 1) == pytest.approx(expected, rel=0.01)
    assert prediction_margin(runs[:1], 1) == float("inf")


def test_the_margin_of_a_drift_is_that_of_medians_further_apart() -> None:
    # Median absolute deviation 1 on both sides, ten runs each, no dependence.
    runs = np.array([-1.0, 1.0] * 5)

    assert drift_margin(runs, runs, 0.0) == pytest.approx(2.4 * 1.4826 * 1.2533 * sqrt(0.2))


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_at_most_two_of_a_hundred_groups_of_the_same_program_are_a_regression(family: Family, in_turn: bool) -> None:
    generator = np.random.default_rng(11)
    alarms = 0
    for _ in range(200):
        runs = family(generator, 10, 0.10)
        base, candidate = (
            (runs[::2], runs[1::2]) if in_turn else (family(generator, 5, 0.10), family(generator, 5, 0.10))
        )
        alarms += judged(STEP, Samples(base), Samples(candidate), 0.1, in_turn=in_turn).verdict == "regression"

    assert alarms <= 4


def test_what_a_drift_can_do_is_a_regression_only_where_the_sides_were_recorded_in_turn() -> None:
    # Five runs a side that vary by 10 %; the candidate's median is 16 % higher and its interval above no change.
    base = np.array([90.0, 95.0, 100.0, 105.0, 110.0])
    candidate = np.array([111.0, 113.0, 116.0, 125.0, 130.0])

    apart = judged(STEP, Samples(base), Samples(candidate), 0.1)
    in_turn = judged(STEP, Samples(base), Samples(candidate), 0.1, in_turn=True)

    assert (apart.verdict, in_turn.verdict) == ("possible", "regression")
    assert apart.drift_ratio is not None
    assert in_turn.drift_ratio is None


def test_few_runs_of_the_candidate_are_held_against_where_the_next_ones_of_the_baseline_would_lie() -> None:
    # The slowest of ten runs takes 107.8; two further ones that take longer come in that order in one of 66 cases,
    # which is too often to decide alone: they must be slower than it by the limit of 10 %, 117.8, as well.
    base = Samples(100 * np.exp(0.05 * np.array([-1.5, -1, -0.7, -0.4, -0.1, 0.1, 0.4, 0.7, 1, 1.5])))

    verdicts = {
        change: judged(STEP, base, Samples(np.array([100.0 + change] * 2)), 0.1).verdict for change in (2, 11, 16, 19)
    }

    assert verdicts == {2: "inconclusive", 11: "possible", 16: "possible", 19: "regression"}
    assert judged(STEP, base, Samples(np.array([116.0])), 0.1).method == "prediction"


def test_a_metric_without_noise_is_judged_by_its_limit() -> None:
    memory = metric_of("peak_memory")
    base = Samples(np.full(6, 1000.0))

    verdicts = [judged(memory, base, Samples(np.array([value])), 0.05).verdict for value in (1049.0, 1051.0)]

    assert verdicts == ["no change", "regression"]
