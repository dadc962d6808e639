from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from ascend_sn.analysis.trend import MAX_VALUES, rising_p, theil_sen

SERIES = st.lists(st.integers(-1000, 1000), min_size=3, max_size=40)


def test_a_rising_series_of_ten_has_the_p_of_its_45_ordered_pairs() -> None:
    # S = 45, var = 10 x 9 x 25 / 18 = 125, z = 4.0249
    assert rising_p(range(10)) == pytest.approx(2.85e-5, rel=0.01)
    assert rising_p(range(10)[::-1]) == pytest.approx(1 - 2.85e-5)


def test_ties_widen_the_test() -> None:
    # 1 1 2: S = 2, var = (3 x 2 x 11 - 2 x 1 x 9) / 18 = 48 / 18
    assert rising_p([1, 1, 2]) == pytest.approx(0.1103, abs=1e-3)


def test_nothing_can_be_said_of_two_values_or_of_equal_ones() -> None:
    assert rising_p([1, 2]) == 1.0
    assert rising_p([5] * 20) == 1.0
    assert theil_sen([1, 1], [1, 2]) is None
    assert theil_sen([], []) is None


def test_the_line_through_most_points_is_not_moved_by_one_far_off() -> None:
    line = theil_sen([0, 1, 2, 3, 4, 5], [10, 12, 14, 16, 1000, 20])

    assert line is not None
    # of 15 slopes ten are 2; median(y) = 15 is lifted to 16 + ... by the outlier, hence 15.0 - 2 x 2.5
    assert line.slope == 2.0
    assert line.intercept == np.median([10, 12, 14, 16, 1000, 20]) - 2.0 * 2.5


def test_the_interval_of_sen_is_that_of_the_published_formula() -> None:
    # y = x^2 at 0..9: 45 slopes x1 + x2; sigma = sqrt(125), z 1.96: ranks round((45 -+ 21.913) / 2)
    line = theil_sen(range(10), [place**2 for place in range(10)])
    slopes = sorted(a + b for a in range(10) for b in range(a + 1, 10))

    assert line is not None
    assert (line.slope, line.low, line.high) == (9.0, slopes[11], slopes[33])


def test_a_long_series_is_thinned_and_keeps_its_trend() -> None:
    line = theil_sen(range(3 * MAX_VALUES), range(3 * MAX_VALUES))

    assert line is not None
    assert line.slope == 1.0
    assert rising_p(range(3 * MAX_VALUES)) < 1e-12


@given(SERIES)
def test_turning_a_series_round_turns_the_probability_round(series: list[int]) -> None:
    assume(len(set(series)) > 1)
    assert rising_p(series) + rising_p(series[::-1]) == pytest.approx(1.0)


@given(SERIES, st.integers(-100, 100), st.integers(1, 9))
def test_the_slope_moves_with_the_scale_and_not_with_the_level(series: list[int], level: int, scale: int) -> None:
    places = range(len(series))
    one, moved = theil_sen(places, series), theil_sen(places, [level + scale * value for value in series])

    assert one is not None
    assert moved is not None
    assert moved.slope == pytest.approx(scale * one.slope)
    assert one.low <= one.slope <= one.high
