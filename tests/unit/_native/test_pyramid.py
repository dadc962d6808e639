from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn._native.pyramid import Pyramid, Viewport, build, query

Slices = list[tuple[int, int]]

overlapping = st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=40)


@st.composite
def lanes(draw: st.DrawFn) -> Slices:
    """Slices of one row: by start, none overlaps the next."""
    steps = draw(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=40))
    at, found = 0, []
    for gap, dur in steps:
        found.append((at + gap, at + gap + dur))
        at += gap + dur
    return found


def of(slices: Slices, factor: int = 3) -> Pyramid:
    start, end = np.array(slices, dtype=np.int64).reshape(-1, 2).T
    return build(start, end, np.arange(len(slices)) + 100, factor)


def rows(view: Viewport) -> list[tuple[int, ...]]:
    columns = view.start, view.end, view.busy, view.count, view.id
    return list(zip(*(column.tolist() for column in columns), strict=True))


def inside(slices: Slices, t0: int, t1: int) -> list[int]:
    return [i for i, (s, e) in enumerate(slices) if s < t1 and (max(s, e) > t0 or (max(s, e) == s and s == t0))]


def test_few_slices_are_shown_as_they_are() -> None:
    levels = of([(0, 4), (6, 9), (9, 12)])

    assert rows(query(levels, 1, 20, 100)) == [(0, 4, 4, 1, 100), (6, 9, 3, 1, 101), (9, 12, 3, 1, 102)]
    assert rows(query(levels, 4, 9, 100)) == [(6, 9, 3, 1, 101)]


def test_narrow_slices_of_a_pixel_are_one_row_named_by_the_longest() -> None:
    # 10 rows allow pixels of 25 ns; the first four slices share one, the fifth is wide.
    levels = of([(0, 2), (3, 10), (11, 12), (14, 20), (30, 90)])

    assert rows(query(levels, 0, 100, 10)) == [(0, 20, 16, 4, 101), (30, 90, 60, 1, 104)]


def test_levels_stand_for_factor_nodes_each() -> None:
    levels = of([(n * 10, n * 10 + n % 4) for n in range(20)], factor=4)

    assert levels.offsets.tolist() == [0, 20, 25, 27, 28]
    assert levels.count.tolist() == [4] * 5 + [16, 4] + [20]
    assert levels.busy.tolist() == [6] * 5 + [24, 6] + [30]
    assert levels.longest.tolist() == [3, 7, 11, 15, 19, 3, 19, 3]
    assert (levels.start[20:25].tolist(), levels.end[20:25].tolist()) == (
        [0, 40, 80, 120, 160],
        [33, 73, 113, 153, 193],
    )


def test_slices_in_any_order_are_sorted() -> None:
    levels = of([(6, 9), (0, 4)])

    assert rows(query(levels, 0, 20, 10)) == [(0, 4, 4, 1, 101), (6, 9, 3, 1, 100)]


def test_no_slices_give_no_rows() -> None:
    assert rows(query(of([]), 0, 10, 5)) == []


def test_a_long_slice_before_the_window_is_found() -> None:
    slices = [(0, 1000), *((n, n + 1) for n in range(1, 500))]

    found = rows(query(of(slices), 900, 950, 10))

    assert found == [(0, 1000, 1000, 1, 100)]


def test_stored_and_mapped_levels_answer_the_same(tmp_path: Path) -> None:
    levels = of([(n * 10, n * 10 + 5) for n in range(50)])
    np.save(tmp_path / "start.npy", levels.start)
    mapped = replace(levels, start=np.load(tmp_path / "start.npy", mmap_mode="r"))

    assert rows(query(mapped, 17, 300, 12)) == rows(query(levels, 17, 300, 12))


@pytest.mark.parametrize(("t0", "t1", "most"), [(5, 5, 10), (6, 5, 10), (0, 10, 1), (0, 10, -1)])
def test_empty_windows_and_too_few_rows_are_refused(t0: int, t1: int, most: int) -> None:
    with pytest.raises(ValueError, match="window is empty"):
        query(of([(0, 4)]), t0, t1, most)


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    levels = of([(0, 4), (5, 6), (7, 8), (9, 10)])

    with pytest.raises(ValueError, match="pyramid"):
        query(replace(levels, offsets=np.array([0, 2, 4, 7])), 0, 10, 10)
    with pytest.raises(ValueError, match="differ"):
        build([1], [2], [3, 4])
    with pytest.raises(ValueError, match="factor"):
        build([1], [2], [3], factor=1)


@given(overlapping, st.integers(-10, 210), st.integers(1, 220), st.integers(2, 60), st.integers(2, 16))
def test_rows_are_few_and_count_every_slice_of_the_window(
    slices: Slices, t0: int, length: int, most: int, factor: int
) -> None:
    view = query(of(slices, factor), t0, t0 + length, most)

    wanted = inside(slices, t0, t0 + length)
    assert len(view.start) <= most
    assert view.start.tolist() == sorted(view.start.tolist())
    # Nodes at the edges may bring neighbours along that lie outside.
    assert len(wanted) <= view.count.sum() <= len(slices)
    assert set(view.id.tolist()) <= set(range(100, 100 + len(slices)))


@given(overlapping, st.integers(2, 60), st.integers(2, 16))
def test_the_whole_range_holds_every_slice_and_all_its_time(slices: Slices, most: int, factor: int) -> None:
    view = query(of(slices, factor), -1, 500, most)

    assert view.count.sum() == len(slices)
    assert view.busy.sum() == sum(max(end - start, 0) for start, end in slices)


@given(lanes(), st.integers(0, 400), st.integers(1, 500), st.integers(4, 60), st.integers(2, 16))
def test_slices_wider_than_a_pixel_are_shown_on_their_own(
    slices: Slices, t0: int, length: int, most: int, factor: int
) -> None:
    pixel = -(-length // ((most - 1) // 2))

    shown = set(rows(query(of(slices, factor), t0, t0 + length, most)))

    for i in inside(slices, t0, t0 + length):
        start, end = slices[i]
        if end - start >= pixel:
            assert (start, end, end - start, 1, 100 + i) in shown
    for start, end, _, count, _ in shown:
        assert count == 1 or end - start < 2 * pixel
