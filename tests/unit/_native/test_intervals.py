from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from ascend_sn._native import intervals
from tests.reference import intervals as reference

EPOCH_NS = 1_736_408_883_704_643_212  # beyond what a float64 holds to the nanosecond

pair = st.tuples(st.integers(0, 40), st.integers(0, 40))
pairs = st.lists(pair, max_size=12)
kinds = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(0, 2)), max_size=12)


Columns = tuple[NDArray[np.int64], NDArray[np.int64]]


def columns(rows: Sequence[tuple[int, int]]) -> Columns:
    start, end = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return start, end


def classed(rows: Sequence[tuple[int, int, int]]) -> tuple[NDArray[np.int64], ...]:
    start, end, kind = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return start, end, kind


def rows(result: tuple[NDArray[Any], ...]) -> list[tuple[int, ...]]:
    return list(zip(*(column.tolist() for column in result), strict=True))


def test_touching_intervals_become_one() -> None:
    assert rows(intervals.union([0, 10, 30], [10, 20, 40])) == [(0, 20), (30, 40)]


def test_unsorted_input_is_sorted_first() -> None:
    assert rows(intervals.union([30, 0, 5], [40, 10, 20])) == [(0, 20), (30, 40)]


def test_a_contained_interval_does_not_shorten_the_outer_one() -> None:
    assert intervals.union_length([0, 2], [10, 3]) == 10


def test_zero_and_negative_lengths_contribute_nothing() -> None:
    assert rows(intervals.union([5, 9, 20], [5, 3, 21])) == [(20, 21)]


def test_no_intervals_give_no_intervals() -> None:
    assert rows(intervals.union([], [])) == []
    assert intervals.union_length([], []) == 0


def test_epoch_times_keep_every_nanosecond() -> None:
    start = [EPOCH_NS, EPOCH_NS + 3]
    assert rows(intervals.union(start, [EPOCH_NS + 1, EPOCH_NS + 4])) == [
        (EPOCH_NS, EPOCH_NS + 1),
        (EPOCH_NS + 3, EPOCH_NS + 4),
    ]


def test_extreme_times_are_ordered() -> None:
    least, most = -(2**63), 2**63 - 1
    assert rows(intervals.union([most - 1, 0, least], [most, 1, least + 1])) == [
        (least, least + 1),
        (0, 1),
        (most - 1, most),
    ]


def test_intersection_of_two_sets() -> None:
    assert rows(intervals.intersect([0, 20], [10, 30], [5, 25], [22, 40])) == [(5, 10), (20, 22), (25, 30)]


def test_subtraction_leaves_the_uncovered_parts() -> None:
    assert rows(intervals.subtract([0, 20], [10, 30], [5, 25], [22, 26])) == [(0, 5), (22, 25), (26, 30)]


def test_gaps_include_both_edges_of_the_window() -> None:
    assert rows(intervals.gaps([5, 8], [8, 9], 0, 12)) == [(0, 5), (9, 12)]


def test_gaps_of_an_empty_window_are_none() -> None:
    assert rows(intervals.gaps([], [], 7, 7)) == []


def test_clipping_keeps_order_and_drops_what_is_outside() -> None:
    assert rows(intervals.clip([20, 0, 8], [30, 5, 25], 4, 22)) == [(20, 22), (4, 5), (8, 22)]


def test_sweep_tells_exposed_from_overlapped_time() -> None:
    # compute  AAAA......   kind 0
    # comm     ..BBBB....   kind 1
    sums = intervals.sweep([0, 2], [4, 6], [0, 1], 2, 0, 10)

    assert sums.tolist() == [4, 2, 2, 2]


def test_sweep_counts_two_of_one_class_once() -> None:
    assert intervals.sweep([0, 1], [4, 6], [0, 0], 1, 0, 6).tolist() == [0, 6]


def test_sweep_refuses_a_class_beyond_the_count() -> None:
    with pytest.raises(ValueError, match="kind"):
        intervals.sweep([0], [4], [2], 2, 0, 6)


def test_segments_name_the_active_classes() -> None:
    assert rows(intervals.sweep_segments([0, 2], [4, 6], [0, 1], 2, 0, 10)) == [
        (0, 2, 1),
        (2, 4, 3),
        (4, 6, 2),
        (6, 10, 0),
    ]


def test_windows_may_overlap_and_be_empty() -> None:
    sums = intervals.sweep_windows([0, 2], [4, 6], [0, 1], 2, [0, 3, 5], [5, 8, 5])

    assert sums.tolist() == [[0, 2, 1, 2], [2, 0, 2, 1], [0, 0, 0, 0]]


def test_more_than_six_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="kind_count"):
        intervals.sweep([0], [1], [0], 7, 0, 1)


@given(pairs)
def test_union_agrees_with_counting(intervals_: list[tuple[int, int]]) -> None:
    expected = reference.runs(reference.points(intervals_))

    start, end = columns(intervals_)

    assert rows(intervals.union(start, end)) == expected
    assert intervals.union_length(start, end) == sum(b - a for a, b in expected)


@given(pairs, pairs)
def test_set_operations_agree_with_counting(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> None:
    in_a, in_b = reference.points(a), reference.points(b)
    merged_a, merged_b = intervals.union(*columns(a)), intervals.union(*columns(b))

    assert rows(intervals.intersect(*merged_a, *merged_b)) == reference.runs(in_a & in_b)
    assert rows(intervals.subtract(*merged_a, *merged_b)) == reference.runs(in_a - in_b)


@given(pairs, st.integers(-5, 45), st.integers(-5, 45))
def test_gaps_and_busy_time_fill_the_window(rows_: list[tuple[int, int]], lo: int, hi: int) -> None:
    window = set(range(lo, hi))

    start, end = columns(rows_)

    assert rows(intervals.gaps(start, end, lo, hi)) == reference.runs(window - reference.points(rows_))
    assert rows(intervals.union(*intervals.clip(start, end, lo, hi))) == reference.runs(
        window & reference.points(rows_)
    )


@given(kinds, st.integers(-5, 45), st.integers(-5, 45))
def test_sweeps_agree_with_counting(rows_: list[tuple[int, int, int]], lo: int, hi: int) -> None:
    start, end, kind = classed(rows_)

    assert intervals.sweep(start, end, kind, 3, lo, hi).tolist() == reference.sweep(rows_, 3, lo, hi)
    assert rows(intervals.sweep_segments(start, end, kind, 3, lo, hi)) == reference.segments(rows_, lo, hi)


@given(kinds, st.integers(-5, 45), st.integers(-5, 45), st.integers(3, 6))
def test_sweeps_of_ascending_intervals_agree_with_counting(
    rows_: list[tuple[int, int, int]], lo: int, hi: int, kind_count: int
) -> None:
    rows_ = sorted(rows_)
    start, end, kind = classed(rows_)

    assert intervals.sweep(start, end, kind, kind_count, lo, hi).tolist() == reference.sweep(rows_, kind_count, lo, hi)


@pytest.mark.parametrize("kind_count", [1, 2, 4, 5])
def test_sweeps_at_both_ends_of_the_numbers(kind_count: int) -> None:
    least, most = -(2**63), 2**63 - 1
    start, end = np.array([least, least + 5, most - 9]), np.array([least + 2, least + 9, most])
    last = kind_count - 1

    sums = intervals.sweep(start, end, np.array([0, 0, last]), kind_count, least + 1, least + 12)
    late = intervals.sweep(start, end, np.array([0, 0, last]), kind_count, most - 20, most - 1)

    assert (sums[0], sums[1]) == (6, 5)  # of 11 ns the first covers 1, the second 4
    assert (late[0], late[1 << last]) == (11, 8)


@given(kinds, st.lists(pair, max_size=5))
def test_windows_agree_with_one_sweep_each(rows_: list[tuple[int, int, int]], windows: list[tuple[int, int]]) -> None:
    start, end, kind = classed(rows_)
    lo, hi = columns(windows)

    sums = intervals.sweep_windows(start, end, kind, 3, lo, hi)

    assert sums.tolist() == [reference.sweep(rows_, 3, a, b) for a, b in windows]


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=300))
def test_order_is_stable_and_ascending(keys: list[int]) -> None:
    doubled = np.array([keys, keys], dtype=np.int64).reshape(-1)
    start, end = intervals.union(doubled, np.where(doubled < 2**63 - 1, doubled + 1, doubled))

    assert np.all(start[1:] > end[:-1])
    assert set(start.tolist()) <= set(keys)


def test_long_input_gives_the_same_in_any_order_of_its_rows() -> None:
    random = np.random.default_rng(5)
    start = np.sort(random.integers(0, 200_000, 20_000))
    end = start + random.integers(0, 60, 20_000)
    kind = random.integers(0, 3, 20_000)
    # The measure: which classes are active at each of the 200,100 nanoseconds.
    active = [np.zeros(200_101, dtype=np.int64) for _ in range(3)]
    for k in range(3):
        np.add.at(active[k], start[kind == k], 1)
        np.add.at(active[k], end[kind == k], -1)
    busy = np.cumsum(np.array(active), axis=1) > 0
    mask = (np.array([1, 2, 4]) @ busy)[50:200_000]
    expected = np.bincount(mask, minlength=8).tolist()

    in_turn = np.arange(20_000) % 2
    same_starts = np.argsort(np.where(start < 150_000, 0, kind), kind="stable")
    orders = [np.argsort(key, kind="stable") for key in (start, kind, -kind, in_turn, kind * 2 + in_turn)]
    for order in (*orders, same_starts, random.permutation(20_000)):
        columns_ = start[order], end[order], kind[order]
        parts = intervals.sweep_segments(*columns_, 3, 50, 200_000)

        assert intervals.sweep(*columns_, 3, 50, 200_000).tolist() == expected
        assert np.repeat(parts[2], parts[1] - parts[0]).tolist() == mask.tolist()
        assert (parts[2][1:] != parts[2][:-1]).all()


@pytest.mark.parametrize("equal", [1_024, 1_025, 5_000])
def test_many_equal_starts_in_two_runs(equal: int) -> None:
    start = np.concatenate([np.repeat([10, 20, 30], equal), np.repeat([0, 10, 25], equal)])
    kind = np.repeat([0, 1], 3 * equal).astype(np.uint8)

    assert intervals.sweep(start, start + 4, kind, 2, 0, 40).tolist() == [40 - 20, 8, 8, 4]


def test_many_random_intervals_sort_like_numpy() -> None:
    random = np.random.default_rng(7)
    start = random.integers(0, 10**12, 50_000) * 3
    end = start + 1

    merged_start, merged_end = intervals.union(start, end)

    assert merged_start.tolist() == np.unique(start).tolist()
    assert (merged_end - merged_start == 1).all()
