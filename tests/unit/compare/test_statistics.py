"""The statistics against known answers and against scipy, an independent implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn.compare.statistics import (
    block_length,
    block_replicates,
    holm,
    interval_of,
    mann_whitney_greater,
    robust_variation,
    run_replicates,
    runs_needed,
)

stats: Any = pytest.importorskip("scipy.stats", reason="scipy is the independent peer")


def medians(drawn: Any) -> Any:
    return np.median(drawn, axis=1)


@pytest.mark.parametrize(("size", "p"), [(3, 0.05), (4, 1 / 70), (5, 1 / 252)])
def test_the_least_p_value_is_one_order_out_of_all(size: int, p: float) -> None:
    base, candidate = list(range(size)), list(range(size, 2 * size))

    assert mann_whitney_greater(base, candidate) == pytest.approx(p)


SAMPLES = st.lists(st.integers(0, 1000), min_size=1, max_size=12, unique=True)


@given(SAMPLES, SAMPLES)
def test_the_rank_test_is_that_of_scipy(base: list[int], candidate: list[int]) -> None:
    apart = [2 * value + 1 for value in candidate]  # no ties: there scipy counts exactly
    even = [2 * value for value in base]

    theirs = stats.mannwhitneyu(apart, even, alternative="greater", method="exact").pvalue

    assert mann_whitney_greater(even, apart) == pytest.approx(theirs)


@given(st.lists(st.integers(0, 3), min_size=2, max_size=5), st.lists(st.integers(0, 3), min_size=2, max_size=5))
def test_with_ties_it_is_the_permutation_test(base: list[int], candidate: list[int]) -> None:
    def rank_sum(sample: Any, other: Any, axis: int) -> Any:
        both = np.concatenate([sample, other], axis=axis)
        return stats.rankdata(both, axis=axis)[..., : np.shape(sample)[axis]].sum(axis=axis)

    theirs = stats.permutation_test(
        (candidate, base), rank_sum, alternative="greater", n_resamples=np.inf, vectorized=True
    ).pvalue

    assert mann_whitney_greater(base, candidate) == pytest.approx(theirs)


def test_many_values_follow_the_normal_curve_of_scipy() -> None:
    generator = np.random.default_rng(1)
    base, candidate = generator.integers(0, 40, 50).tolist(), generator.integers(3, 43, 45).tolist()

    theirs = stats.mannwhitneyu(candidate, base, alternative="greater", method="asymptotic").pvalue

    assert mann_whitney_greater(base, candidate) == pytest.approx(theirs)


def test_equal_values_are_no_evidence() -> None:
    assert mann_whitney_greater([1.0] * 5, [1.0] * 5) == 1.0
    assert mann_whitney_greater([1.0] * 40, [1.0] * 40) == 1.0


def test_the_interval_is_that_of_scipy() -> None:
    # Of a mean: the bounds of a median jump from one value to the next.
    values = np.random.default_rng(3).lognormal(0, 0.1, 15)

    low, high = interval_of(run_replicates(values, lambda drawn: np.mean(drawn, axis=1), seed=1))
    theirs = stats.bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=2)

    assert low == pytest.approx(theirs.confidence_interval.low, rel=0.01)
    assert high == pytest.approx(theirs.confidence_interval.high, rel=0.01)


def test_steps_that_depend_on_each_other_have_a_wider_interval() -> None:
    generator = np.random.default_rng(5)
    noise = generator.normal(0, 1, 400)
    series = np.zeros(400)
    for at in range(1, 400):
        series[at] = 0.9 * series[at - 1] + noise[at]
    shuffled = generator.permutation(series)

    in_blocks = interval_of(block_replicates([series], medians, seed=1))
    one_by_one = interval_of(block_replicates([shuffled], medians, seed=1))

    assert block_length(series) > 4 * block_length(shuffled)
    assert in_blocks[1] - in_blocks[0] > 1.5 * (one_by_one[1] - one_by_one[0])


def test_independent_steps_are_drawn_in_blocks_of_the_cube_root() -> None:
    steps = np.random.default_rng(7).normal(0, 1, 1000)

    assert block_length(steps) in range(10, 16)
    assert block_length(np.ones(27)) == 3
    assert block_length(np.array([1.0])) == 1


def test_one_long_step_does_not_make_the_steps_dependent() -> None:
    steps = np.random.default_rng(9).normal(100, 1, 64)
    steps[30] = 10_000

    assert block_length(steps) <= 8


def test_resampling_is_reproducible_and_sides_have_their_own_numbers() -> None:
    values = np.arange(10.0)

    first, again, other = (run_replicates(values, medians, seed=seed) for seed in (1, 1, 2))

    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_long_runs_are_drawn_in_batches_and_cut_to_their_last_steps() -> None:
    steps = np.concatenate([np.zeros(10_000), np.ones(4_000)])

    replicates = block_replicates([steps], medians, seed=1)

    assert len(replicates) == 2_000
    assert set(replicates.tolist()) == {1.0}


@pytest.mark.parametrize(
    ("variation", "limit", "runs"),
    [
        (0.0, 0.1, 7),
        (0.02, 0.1, 7),
        (0.05, 0.1, 10),
        (0.075, 0.1, 15),
        (0.1, 0.1, 20),
        (0.2, 0.1, 80),
        (0.025, 0.05, 10),
    ],
)
def test_runs_needed_are_those_of_the_simulation(variation: float, limit: float, runs: int) -> None:
    assert runs_needed(variation, limit, in_turn=True) == runs


def test_without_recording_in_turn_it_takes_more_runs() -> None:
    assert runs_needed(0.02, 0.1) == runs_needed(0.02, 0.1, in_turn=True)
    assert runs_needed(0.1, 0.1) > runs_needed(0.1, 0.1, in_turn=True)


def test_holm_corrects_step_by_step() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_the_variation_ignores_an_outlier() -> None:
    assert robust_variation([98.0, 99.0, 100.0, 101.0, 1000.0]) == pytest.approx(1.4826 * 1 / 100)
    assert robust_variation([5.0]) == 0.0
