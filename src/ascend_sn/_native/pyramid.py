"""Level-of-detail pyramids of the slices of one track row: any viewport in about a millisecond.

Level 0 are the slices by start; a node of the next level stands for `factor` neighbours below it. The arrays
are flat, so that they can be stored as they are and memory-mapped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ascend_sn._native import _core

__all__ = [
    "FACTOR",
    "Levels",
    "Pyramid",
    "Viewport",
    "Views",
    "build",
    "highest",
    "highest_levels",
    "level_sizes",
    "query",
    "views",
]

Int64Array = NDArray[np.int64]
Float64Array = NDArray[np.float64]

Levels = tuple[Int64Array, Int64Array, Int64Array, Int64Array, Int64Array, Int64Array]

FACTOR: Final = 16
"""Nodes that a node of the next level stands for, unless said otherwise."""


@dataclass(frozen=True, eq=False)
class Pyramid:
    """All levels, one after another; times in ns.

    Attributes:
        start, end: Range of each node of each level; the slices themselves first.
        id: Id of each slice, level 0 only; None where their places are their ids.
        busy: Sum of the durations below each node, from level 1 on.
        count: Number of slices below each node, from level 1 on.
        longest: Place in level 0 of the longest slice below each node, from level 1 on.
        length: Duration of that slice, from level 1 on: it spares a look at a far place.
        offsets: Where each level begins in `start`, and the end of the last.
        factor: Nodes that a node of the next level stands for.
    """

    start: Int64Array
    end: Int64Array
    id: Int64Array | None
    busy: Int64Array
    count: Int64Array
    longest: Int64Array
    length: Int64Array
    offsets: Int64Array
    factor: int


@dataclass(frozen=True, eq=False)
class Viewport:
    """Rows to draw, by start; each is a slice (`count` 1) or stands for several.

    Attributes:
        start, end: Range in ns; not cut to the window.
        busy: Sum of the durations of the slices, ns.
        count: Number of slices.
        id: Id of the longest of them.
    """

    start: Int64Array
    end: Int64Array
    busy: Int64Array
    count: Int64Array
    id: Int64Array


@dataclass(frozen=True, eq=False)
class Views:
    """What several pyramids have in one window, one after another.

    Attributes:
        start, end, busy, count: As in `Viewport`.
        place: Place of the longest slice in level 0 of its pyramid.
        first: Place of the first slice of the row there.
        rows: Number of rows of each pyramid.
    """

    start: Int64Array
    end: Int64Array
    busy: Int64Array
    count: Int64Array
    place: Int64Array
    first: Int64Array
    rows: Int64Array


def build(start: ArrayLike, end: ArrayLike, id: ArrayLike | None = None, factor: int = FACTOR) -> Pyramid:
    """Build the levels over slices, up to a level of one node.

    Args:
        start: int64 ns, in any order.
        end: int64 ns; an end before its start counts as the start.
        id: What `query` names slices by; their places where not given, and then they must come by start.
        factor: Nodes that a node of the next level stands for, at least 2.

    Raises:
        ValueError: The arrays differ in length, the factor is below 2, or slices without ids are out of order.
    """
    starts, ends = (np.ascontiguousarray(values, np.int64) for values in (start, end))
    ids = None if id is None else np.ascontiguousarray(id, np.int64)
    if len(starts) != len(ends) or (ids is not None and len(ids) != len(starts)):
        raise ValueError("start, end and id differ in length")
    if factor < 2:
        raise ValueError("the factor must be at least 2")
    if not _core.is_sorted(starts):
        if ids is None:
            raise ValueError("slices whose places are their ids must come by start")
        order = np.empty(len(starts), np.int64)
        _core.order(starts, order)
        starts, ends, ids = starts[order], ends[order], ids[order]
    offsets = np.cumsum([0, *level_sizes(len(starts), factor)])
    total, upper = int(offsets[-1]), int(offsets[-1]) - len(starts)
    made = Pyramid(
        start=np.empty(total, np.int64),
        end=np.empty(total, np.int64),
        id=ids,
        busy=np.empty(upper, np.int64),
        count=np.empty(upper, np.int64),
        longest=np.empty(upper, np.int64),
        length=np.empty(upper, np.int64),
        offsets=offsets,
        factor=factor,
    )
    made.start[: len(starts)] = starts
    np.maximum(starts, ends, out=made.end[: len(starts)])
    _core.pyramid_fill(made.start, made.end, made.busy, made.count, made.longest, made.length, made.offsets, factor)
    return made


def query(levels: Pyramid, t0: int, t1: int, max_slices: int) -> Viewport:
    """Return what is in [t0, t1), at most `max_slices` rows.

    A row is a slice of its own where it is wide enough to be seen; narrower ones that share a pixel (two rows'
    share of the window) are one row. Should wide slices that overlap be too many, pixels are made wider.

    Args:
        levels: What `build` returned; its arrays may be memory-mapped.
        t0: First nanosecond of the window.
        t1: First nanosecond after the window.
        max_slices: Most rows, at least 2.

    Raises:
        ValueError: The window is empty, `max_slices` is below 2, or the arrays do not belong together.
    """
    start, end, busy, count, place = (np.empty(max(max_slices, 0), np.int64) for _ in range(5))
    made = _core.pyramid_view(
        levels.start,
        levels.end,
        levels.busy,
        levels.count,
        levels.longest,
        levels.length,
        levels.offsets,
        start,
        end,
        busy,
        count,
        place,
        levels.factor,
        int(t0),
        int(t1),
    )
    ids = place[:made] if levels.id is None else np.asarray(levels.id[place[:made]], np.int64)
    return Viewport(start[:made], end[:made], busy[:made], count[:made], ids)


def level_sizes(slices: int, factor: int = FACTOR) -> list[int]:
    """Return how many nodes each level over so many slices has, the slices themselves first."""
    sizes = [slices]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // factor))
    return sizes


def views(
    levels: Levels,
    base: Int64Array,
    upper: Int64Array,
    slices: Int64Array,
    t0: int,
    t1: int,
    most: int,
    factor: int = FACTOR,
) -> Views:
    """Do `query` on many pyramids that lie one after another in the same arrays.

    Args:
        levels: start, end, busy, count, longest and length of all of them, as `build` made each; may be
            memory-mapped.
        base: Where each of the asked ones begins in start and end.
        upper: Where each begins in busy, count, longest and length.
        slices: Slices of each.
        t0: First nanosecond of the window.
        t1: First nanosecond after the window.
        most: Most rows of each, at least 2.
        factor: That of all of them.

    Raises:
        ValueError: The window is empty, `most` is below 2, or the arrays do not belong together.
    """
    room = int(np.minimum(slices, most).sum())
    start, end, busy, count, place, first = (np.empty(room, np.int64) for _ in range(6))
    rows = np.empty(len(base), np.int64)
    made = _core.pyramid_views(
        *levels, base, upper, slices, start, end, busy, count, place, first, rows, factor, int(t0), int(t1), most
    )
    return Views(start[:made], end[:made], busy[:made], count[:made], place[:made], first[:made], rows)


def highest_levels(values: ArrayLike, factor: int = FACTOR) -> Float64Array:
    """Return the values, and above them the highest of every `factor`, level by level, for `highest`."""
    here = np.ascontiguousarray(values, np.float64)
    found = [here]
    while len(here) > 1:
        here = np.fmax.reduceat(here, np.arange(0, len(here), factor))
        found.append(here)
    return np.concatenate(found)


def highest(
    levels: Float64Array, base: int, count: int, first: Int64Array, past: Int64Array, factor: int = FACTOR
) -> Float64Array:
    """Return the highest value of each range [first, past); what is no number counts only where nothing else is there.

    Args:
        levels: What `highest_levels` made, of several series one after another; may be memory-mapped.
        base: Where the series begins in there.
        count: Values of the series.
        first: First place of each range.
        past: First place after each range.
        factor: That of the levels.
    """
    found = np.empty(len(first), np.float64)
    _core.range_max(levels, first, past, found, base, count, factor)
    return found
