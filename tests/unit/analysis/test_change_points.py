from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn.analysis.change_points import MAX_VALUES, change_points, rank_sum_p


def test_ten_of_100_and_ten_of_120_change_at_place_ten() -> None:
    (change,) = change_points([100] * 10 + [120] * 10)

    assert (change.place, change.before, change.after) == (10, 100, 120)
    # U = 0 of 100, variance 100 / 12 x (21 - 1980 / 380) = 131.6, z = 50 / 11.47
    assert change.chance == pytest.approx(1.3e-5, rel=0.05)


def test_there_and_back_are_two_changes() -> None:
    rng = np.random.default_rng(0)
    series = np.concatenate([rng.normal(level, 2, 30) for level in (100, 130, 100)])

    assert [change.place for change in change_points(series)] == [30, 60]


@pytest.mark.parametrize(
    "series",
    [[100] * 40, [100, 101] * 20, [100] * 10 + [101] * 10, [100] * 4 + [200] * 4, [100] * 20 + [900] + [100] * 20, []],
    ids=["level", "alternating", "one percent", "too short", "one outlier", "empty"],
)
def test_what_is_no_change(series: list[int]) -> None:
    assert change_points(series) == []


def test_a_long_series_is_looked_at_in_blocks() -> None:
    (change,) = change_points([100] * (2 * MAX_VALUES) + [150] * (2 * MAX_VALUES))

    assert change.place == 2 * MAX_VALUES


def test_ranks_with_ties_by_hand() -> None:
    assert rank_sum_p([1, 2, 3], [1, 2, 3]) == 1.0
    assert rank_sum_p([5, 5], [5, 5]) == 1.0
    # 1 2 3 against 4 5 6: W = 6, mean 10.5, variance 9 / 12 x 7 = 5.25
    assert rank_sum_p([1, 2, 3], [4, 5, 6]) == pytest.approx(0.0495, abs=1e-4)


@given(st.lists(st.integers(90, 110), max_size=60))
def test_segments_are_at_least_five_long_and_in_order(series: list[int]) -> None:
    places = [0, *(change.place for change in change_points(series)), len(series)]

    assert all(second - first >= 5 for first, second in pairwise(places)) or len(series) < 5


@given(st.lists(st.integers(1, 1000), min_size=10, max_size=50), st.integers(1, 1000))
def test_the_unit_does_not_matter(series: list[int], unit: int) -> None:
    assert [c.place for c in change_points(series)] == [c.place for c in change_points(np.array(series) * unit)]
