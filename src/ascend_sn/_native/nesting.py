"""Which slice of a thread encloses which other, and how long each runs without its children."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ascend_sn._native import _core

__all__ = ["Nesting", "deal", "deal_apart", "enclosing", "nest"]


class Nesting(NamedTuple):
    """Place of each slice in the tree of its thread; all arrays in the order of the input.

    Attributes:
        parent: Index of the innermost slice that fully contains this one, -1 for a root.
        depth: Number of slices above it.
        self_ns: Duration without the time its direct children cover, never below 0.
        crossing: 1 where the slice starts inside an open slice but ends after it.
    """

    parent: NDArray[np.int64]
    depth: NDArray[np.int32]
    self_ns: NDArray[np.int64]
    crossing: NDArray[np.uint8]


def nest(thread: ArrayLike, start: ArrayLike, dur: ArrayLike) -> Nesting:
    """Find parent, depth and self time of slices; none is dropped, whatever they overlap.

    A slice is contained by another of the same thread that starts no later and ends no earlier. Of two with
    the same range the first in the input is the parent. A slice without duration at the edge of another is
    contained by it. A negative duration counts as none. Where children overlap each other (crossing), the
    time they share is taken from the parent once.

    Args:
        thread: Any number that tells threads apart.
        start: int64 ns, in any order; sorted input is quicker.
        dur: int64 ns.
    """
    threads, starts, durs = _int64(thread), _int64(start), _int64(dur)
    found = Nesting(
        parent=np.empty(len(starts), dtype=np.int64),
        depth=np.empty(len(starts), dtype=np.int32),
        self_ns=np.empty(len(starts), dtype=np.int64),
        crossing=np.empty(len(starts), dtype=np.uint8),
    )
    _core.nest(threads, starts, durs, found.parent, found.self_ns, found.depth, found.crossing)
    return found


def deal(start: ArrayLike, end: ArrayLike) -> tuple[NDArray[np.int32], int]:
    """Deal the slices of one thread to rows in which none overlaps another; none is dropped.

    A slice goes to the first free row below the innermost slice that contains it, so that where slices nest the row is
    the depth. One without duration contains nothing, and shares its row with others of the same moment.

    Args:
        start: int64 ns, ascending.
        end: int64 ns, not before the start; of slices with the same start the longer one comes first.

    Returns:
        The row of each slice, from 0, and the number of rows.
    """
    starts, ends = _int64(start), _int64(end)
    rows = np.empty(len(starts), dtype=np.int32)
    return rows, _core.deal_rows(starts, ends, rows)


def deal_apart(start: ArrayLike, end: ArrayLike) -> tuple[NDArray[np.int32], int]:
    """Deal slices that are no parts of each other to as few rows as needed, each to the first row that is free.

    Those without duration share a row with others of the same moment.

    Args:
        start: int64 ns, ascending.
        end: int64 ns, not before the start.

    Returns:
        The row of each slice, from 0, and the number of rows: the most slices that are open at a moment.
    """
    starts, ends = _int64(start), _int64(end)
    rows = np.empty(len(starts), dtype=np.int32)
    taken: list[tuple[int, int]] = []  # end and row
    free: list[int] = []
    count = 0
    for at, (begins, ends_at) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        while taken and taken[0][0] <= begins:
            heappush(free, heappop(taken)[1])
        if not free:
            free.append(count)
            count += 1
        row = heappop(free)
        heappush(taken, (ends_at, row))
        rows[at] = row
    return rows, count


def enclosing(
    thread: ArrayLike, start: ArrayLike, dur: ArrayLike, q_thread: ArrayLike, q_ts: ArrayLike
) -> NDArray[np.int64]:
    """Find the innermost slice that is open at each asked moment.

    A slice is open at ts where start <= ts < start + dur; one without duration where ts == start.

    Args:
        thread: Thread of each slice.
        start: int64 ns of each slice, in any order.
        dur: int64 ns of each slice.
        q_thread: Thread of each question.
        q_ts: Moment of each question, int64 ns, in any order.

    Returns:
        Index of the slice for each question, -1 where none is open.
    """
    asked_thread, asked_ts = _int64(q_thread), _int64(q_ts)
    found = np.empty(len(asked_ts), dtype=np.int64)
    _core.enclosing(_int64(thread), _int64(start), _int64(dur), asked_thread, asked_ts, found)
    return found


def _int64(values: ArrayLike) -> NDArray[np.int64]:
    return np.ascontiguousarray(values, dtype=np.int64)
