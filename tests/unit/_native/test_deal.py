"""Slices dealt to rows in which none overlaps another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, strategies as st

from ascend_sn._native.nesting import deal, deal_apart, nest

Slices = list[tuple[int, int]]


def dealt(slices: Slices) -> list[int]:
    start, end = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    rows, count = deal(start, end)
    assert count == max(rows.tolist(), default=-1) + 1
    return [int(row) for row in rows]


@st.composite
def lanes(draw: st.DrawFn) -> Slices:
    """Slices as they are drawn: by start, the longer one first."""
    found = draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), max_size=25))
    return sorted(((at, at + dur) for at, dur in found), key=lambda one: (one[0], -one[1]))


def test_the_row_of_nested_slices_is_their_depth() -> None:
    # |AAAAAAAAAA|EE|
    # |.BBB.CCCC.|..|
    # |......D...|..|
    assert dealt([(0, 10), (1, 4), (5, 9), (6, 7), (10, 12)]) == [0, 1, 1, 2, 0]


def test_a_crossing_slice_goes_to_a_row_of_its_own() -> None:
    # |AAAAAA....|
    # |...BBBBBB.|   begins inside A, ends after it
    # |....C.....|   lies in B, the innermost that contains it
    assert dealt([(0, 6), (3, 9), (4, 5)]) == [0, 1, 2]


def test_a_row_is_used_again_once_it_is_free() -> None:
    assert dealt([(0, 4), (2, 6), (4, 8), (6, 9)]) == [0, 1, 0, 1]


def test_moments_of_the_same_time_share_a_row() -> None:
    assert dealt([(5, 5), (5, 5), (5, 5)]) == [0, 0, 0]
    assert dealt([(0, 10), (5, 5), (5, 5)]) == [0, 1, 1]


def test_thousands_that_overlap_get_a_row_each() -> None:
    assert dealt([(n, 10_000 + n) for n in range(5_000)]) == list(range(5_000))


@given(lanes())
def test_no_two_slices_of_a_row_overlap(slices: Slices) -> None:
    rows = dealt(slices)

    for row in set(rows):
        own = [one for one, at in zip(slices, rows, strict=True) if at == row]
        assert all(left[1] <= right[0] for left, right in pairwise(own))


@given(lanes())
def test_a_slice_lies_below_the_innermost_that_contains_it(slices: Slices) -> None:
    rows = dealt(slices)

    for at, (start, end) in enumerate(slices):
        around = [
            row
            for before, row in enumerate(rows[:at])
            if slices[before][0] <= start and slices[before][1] >= end and slices[before][0] < slices[before][1]
        ]
        assert rows[at] > (around[-1] if around else -1)


@given(lanes())
def test_where_nothing_crosses_rows_are_depths(slices: Slices) -> None:
    lasting = [(start, end) for start, end in slices if start < end]
    start, end = np.array(lasting, dtype=np.int64).reshape(-1, 2).T
    nested = nest(np.zeros(len(lasting), np.int64), start, end - start)
    if nested.crossing.any():
        return

    assert dealt(lasting) == nested.depth.tolist()


def test_slices_apart_go_to_the_first_free_row_wherever_they_lie() -> None:
    # |AAAAAAAA....|
    # |.BBB.DDDDD..|   D does not wait for C, whose row comes later
    # |..CCCCCCCCCC|
    rows, count = deal_apart([0, 1, 2, 5], [8, 4, 12, 10])

    assert (rows.tolist(), count) == ([0, 1, 2, 1], 3)


def test_slices_apart_that_touch_share_a_row() -> None:
    rows, count = deal_apart([0, 3, 3, 6], [3, 3, 6, 9])

    assert (rows.tolist(), count) == ([0, 0, 0, 0], 1)
    assert deal_apart([], [])[1] == 0


@given(lanes())
def test_rows_of_slices_apart_are_as_many_as_are_open_at_a_moment(drawn: Slices) -> None:
    start, end = np.array(drawn, dtype=np.int64).reshape(-1, 2).T

    rows, count = deal_apart(start, end)

    assert count >= max((sum(a <= at < b for a, b in drawn) for at in range(45)), default=0)
    assert count <= max((sum(a <= at < max(b, a + 1) for a, b in drawn) for at in range(45)), default=0)
    for row in range(count):
        own = [one for one, number in zip(drawn, rows.tolist(), strict=True) if number == row]
        assert all(one[1] <= other[0] for one, other in pairwise(own))
