"""Sets of half-open time intervals [start, end): merge them, combine them, sweep them by class.

All times are int64 nanoseconds. An interval whose end is not after its start contributes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ascend_sn._native import _core

Int64Array = NDArray[np.int64]
Uint8Array = NDArray[np.uint8]

__all__ = [
    "clip",
    "gaps",
    "intersect",
    "subtract",
    "sweep",
    "sweep_segments",
    "sweep_windows",
    "union",
    "union_length",
]


def union(start: ArrayLike, end: ArrayLike) -> tuple[Int64Array, Int64Array]:
    """Merge intervals; touching ones become one.

    Args:
        start: First nanosecond of each interval, in any order.
        end: First nanosecond after each interval.

    Returns:
        start and end of the merged intervals, ascending and disjoint.
    """
    starts, ends = _by_start(start, end)
    out_start, out_end = np.empty_like(starts), np.empty_like(starts)
    count = _core.union_sorted(starts, ends, out_start, out_end)
    return _first(out_start, count), _first(out_end, count)


def union_length(start: ArrayLike, end: ArrayLike) -> int:
    """Return the nanoseconds that at least one interval covers."""
    return _core.union_length_sorted(*_by_start(start, end))


def intersect(
    a_start: ArrayLike, a_end: ArrayLike, b_start: ArrayLike, b_end: ArrayLike
) -> tuple[Int64Array, Int64Array]:
    """Return what both sets cover. Each set must be sorted and disjoint, as `union` returns it."""
    return _combine(_core.intersect_sorted, a_start, a_end, b_start, b_end)


def subtract(
    a_start: ArrayLike, a_end: ArrayLike, b_start: ArrayLike, b_end: ArrayLike
) -> tuple[Int64Array, Int64Array]:
    """Return what the first set covers and the second does not. Each must be sorted and disjoint."""
    return _combine(_core.subtract_sorted, a_start, a_end, b_start, b_end)


def gaps(start: ArrayLike, end: ArrayLike, lo: int, hi: int) -> tuple[Int64Array, Int64Array]:
    """Return the parts of [lo, hi) that no interval covers, ascending."""
    window_start, window_end = (
        np.array([lo], dtype=np.int64)[: lo < hi],
        np.array([hi], dtype=np.int64)[: lo < hi],
    )
    return subtract(window_start, window_end, *union(start, end))


def clip(start: ArrayLike, end: ArrayLike, lo: int, hi: int) -> tuple[Int64Array, Int64Array]:
    """Cut intervals to [lo, hi) and leave out those of which nothing remains; the order is kept."""
    cut_start = np.maximum(_int64(start), np.int64(lo))
    cut_end = np.minimum(_int64(end), np.int64(hi))
    inside = cut_start < cut_end
    return cut_start[inside], cut_end[inside]


def sweep(start: ArrayLike, end: ArrayLike, kind: ArrayLike, kind_count: int, lo: int, hi: int) -> Int64Array:
    """Return how long each combination of classes was active within [lo, hi).

    Args:
        start: First nanosecond of each interval, in any order.
        end: First nanosecond after each interval.
        kind: Class of each interval, 0 to `kind_count` - 1.
        kind_count: Number of classes, 1 to 6.
        lo: First nanosecond of the window.
        hi: First nanosecond after the window.

    Returns:
        2**kind_count durations in ns; bit k of the index says that class k was active. They sum to hi - lo.
    """
    sums = np.zeros(1 << kind_count, dtype=np.int64)
    columns = _classed(start, end, kind)
    if not _core.sweep_sums(*columns, sums, kind_count, int(lo), int(hi)):
        _core.sweep_sums(*_sorted(columns), sums, kind_count, int(lo), int(hi))
    return sums


def sweep_segments(
    start: ArrayLike, end: ArrayLike, kind: ArrayLike, kind_count: int, lo: int, hi: int
) -> tuple[Int64Array, Int64Array, Uint8Array]:
    """Divide [lo, hi) where the combination of active classes changes.

    The arguments are those of `sweep`.

    Returns:
        start, end and bit mask of consecutive segments; neighbours differ in their mask, 0 means no class.
    """
    columns = _classed(start, end, kind)
    room = 2 * len(columns.start) + 1
    out_start, out_end = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    out_mask = np.empty(room, dtype=np.uint8)
    out = (out_start, out_end, out_mask)
    count = _core.sweep_parts(*columns, *out, kind_count, int(lo), int(hi))
    if count < 0:
        count = _core.sweep_parts(*_sorted(columns), *out, kind_count, int(lo), int(hi))
    return _first(out_start, count), _first(out_end, count), out_mask[:count].copy()


def sweep_windows(
    start: ArrayLike,
    end: ArrayLike,
    kind: ArrayLike,
    kind_count: int,
    window_start: ArrayLike,
    window_end: ArrayLike,
) -> Int64Array:
    """Do `sweep` for many windows at once; they may overlap and come in any order.

    Returns:
        Durations in ns, one row per window, 2**kind_count columns; a row sums to the window's length, an
        empty window gives zeros.
    """
    lo, hi = _int64(window_start), _int64(window_end)
    sums = np.zeros((len(lo), 1 << kind_count), dtype=np.int64)
    if len(lo):
        parts = sweep_segments(start, end, kind, kind_count, int(lo.min()), int(hi.max()))
        _core.windows_sums(*parts, lo, hi, sums.reshape(-1), 1 << kind_count)
    return sums


def _combine(
    operation: Callable[..., int], a_start: ArrayLike, a_end: ArrayLike, b_start: ArrayLike, b_end: ArrayLike
) -> tuple[Int64Array, Int64Array]:
    sets = [_int64(values) for values in (a_start, a_end, b_start, b_end)]
    room = len(sets[0]) + len(sets[2])
    out_start, out_end = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
    count = operation(*sets, out_start, out_end)
    return _first(out_start, count), _first(out_end, count)


def _int64(values: ArrayLike) -> Int64Array:
    return np.ascontiguousarray(values, dtype=np.int64)


def _first(values: Int64Array, count: int) -> Int64Array:
    # A copy gives the unused room back; nearly full arrays are not worth copying.
    return values[:count] if 2 * count > len(values) else values[:count].copy()


class _Classed(NamedTuple):
    start: Int64Array
    end: Int64Array
    kind: Uint8Array


def _classed(start: ArrayLike, end: ArrayLike, kind: ArrayLike) -> _Classed:
    return _Classed(_int64(start), _int64(end), np.ascontiguousarray(kind, dtype=np.uint8))


def _sorted(columns: _Classed) -> _Classed:
    # Needed only where the intervals of one class do not ascend; classes one after another are fine.
    order = _order(columns.start)
    return _Classed(columns.start[order], columns.end[order], columns.kind[order])


def _by_start(start: ArrayLike, end: ArrayLike) -> tuple[Int64Array, Int64Array]:
    starts, ends = _int64(start), _int64(end)
    if _core.is_sorted(starts):
        return starts, ends
    order = _order(starts)
    return starts[order], ends[order]


def _order(key: Int64Array) -> Int64Array:
    order = np.empty(len(key), dtype=np.int64)
    _core.order(key, order)
    return order
