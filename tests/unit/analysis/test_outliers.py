from __future__ import annotations

from statistics import median

import pytest
from hypothesis import given, strategies as st

from ascend_sn.analysis.outliers import modified_z, others_median


def test_scores_by_hand() -> None:
    # median 3, deviations 2 1 0 1 97, their median 1
    scores = modified_z([1, 2, 3, 4, 100])

    assert scores is not None
    assert scores.tolist() == pytest.approx([-1.349, -0.6745, 0, 0.6745, 0.6745 * 97])


def test_equal_values_have_a_spread_of_2_percent() -> None:
    scores = modified_z([100, 100, 100, 104])

    assert scores is not None
    assert scores[-1] == pytest.approx(0.6745 * 2)


def test_two_values_and_zeros_have_no_scores() -> None:
    assert modified_z([1, 100]) is None
    assert modified_z([0, 0, 0]) is None


def test_a_spread_that_is_given_counts_at_least() -> None:
    # median 3, deviations 2 1 0 1 97, their median 1: less than the 2 that count at least
    scores = modified_z([1, 2, 3, 4, 100], 2.0)

    assert scores is not None
    assert scores.tolist() == pytest.approx([-0.6745, -0.33725, 0, 0.33725, 0.6745 * 48.5])


@given(st.lists(st.integers(-5, 5), min_size=2, max_size=12))
def test_the_median_of_the_others_is_that_of_all_but_one(values: list[int]) -> None:
    expected = [float(median(values[:at] + values[at + 1 :])) for at in range(len(values))]

    assert others_median(values).tolist() == expected
