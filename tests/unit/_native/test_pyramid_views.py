"""Many pyramids in the same arrays, looked at together; and the highest value of ranges of a curve."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn._native.pyramid import Pyramid, Views, build, highest, highest_levels, query, views

Slices = list[tuple[int, int]]

slices_ = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 30)), max_size=40).map(
    lambda found: sorted((at, at + dur) for at, dur in found)
)


def built(slices: Slices, factor: int = 3) -> Pyramid:
    start, end = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    return build(start, end, factor=factor)


def joined(pyramids: list[Pyramid], t0: int, t1: int, most: int, factor: int = 3) -> Views:
    start, end, busy, count, longest, length = (
        np.concatenate([np.empty(0, np.int64), *(getattr(one, name) for one in pyramids)])
        for name in ("start", "end", "busy", "count", "longest", "length")
    )
    levels = (start, end, busy, count, longest, length)
    slices = np.array([int(one.offsets[1]) for one in pyramids], np.int64)
    base = np.concatenate([[0], np.cumsum([len(one.start) for one in pyramids])])[:-1].astype(np.int64)
    upper = np.concatenate([[0], np.cumsum([len(one.busy) for one in pyramids])])[:-1].astype(np.int64)
    return views(levels, base, upper, slices, t0, t1, most, factor)


@given(st.lists(slices_, max_size=4), st.integers(-5, 200), st.integers(1, 200), st.integers(2, 40))
def test_each_pyramid_answers_as_it_does_alone(lanes: list[Slices], t0: int, length: int, most: int) -> None:
    pyramids = [built(slices) for slices in lanes]

    found = joined(pyramids, t0, t0 + length, most)

    at = 0
    for pyramid, rows in zip(pyramids, found.rows.tolist(), strict=True):
        alone = query(pyramid, t0, t0 + length, most)
        here = slice(at, at + rows)
        assert found.start[here].tolist() == alone.start.tolist()
        assert found.end[here].tolist() == alone.end.tolist()
        assert found.busy[here].tolist() == alone.busy.tolist()
        assert found.count[here].tolist() == alone.count.tolist()
        assert found.place[here].tolist() == alone.id.tolist()
        at += rows
    assert at == len(found.start)


def test_a_row_says_with_which_slice_it_begins() -> None:
    # 10 rows allow pixels of 25 ns: the first three share one, the fourth is wide, the last two share one.
    pyramid = built([(0, 2), (3, 4), (5, 6), (30, 60), (80, 81), (82, 84)])

    found = joined([pyramid], 0, 100, 10)

    assert found.count.tolist() == [3, 1, 2]
    assert found.first.tolist() == [0, 3, 4]
    assert found.place.tolist() == [0, 3, 5]


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    pyramid = built([(0, 4), (5, 6), (7, 8), (9, 10)])
    levels = pyramid.start, pyramid.end, pyramid.busy, pyramid.count, pyramid.longest, pyramid.length
    one = np.array([1], np.int64)

    for base, upper, slices in ((-one, 0 * one, 4 * one), (0 * one, 5 * one, 4 * one), (0 * one, 0 * one, 9 * one)):
        with pytest.raises(ValueError, match="pyramids"):
            views(levels, base, upper, slices, 0, 10, 10, 3)


values_ = st.lists(st.one_of(st.integers(-50, 50).map(float), st.just(math.nan)), min_size=1, max_size=60)


@given(values_, st.integers(2, 5), st.data())
def test_the_highest_value_of_a_range(values: list[float], factor: int, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(values) - 1))
    past = data.draw(st.integers(first + 1, len(values)))
    levels = np.concatenate([[9e9], highest_levels(values, factor)])

    (found,) = highest(levels, 1, len(values), np.array([first]), np.array([past]), factor).tolist()

    known = [value for value in values[first:past] if not math.isnan(value)]
    assert found == max(known) if known else math.isnan(found)


def test_ranges_outside_of_the_values_are_refused() -> None:
    levels = highest_levels([1.0, 2.0, 3.0], 2)

    with pytest.raises(ValueError, match="ranges"):
        highest(levels, 0, 3, np.array([2]), np.array([4]), 2)
    with pytest.raises(ValueError, match="ranges"):
        highest(levels, 5, 3, np.array([0]), np.array([1]), 2)
