"""Level-of-detail pyramids of the slices of one track row: any viewport in about a millisecond.

Level 0 are the slices by start; a node of the next level stands for `factor` neighbours below it. The arrays
are flat, so that they can be stored as they are and memory-mapped.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ascend_sn._native import _core

__all__ = ["Pyramid", "Viewport", "build", "query"]

Int64Array = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pyramid:
    """All levels, one after another; times in ns.

    Attributes:
        start, end: Range of each node of each level; the slices themselves first.
        id: Id of each slice, level 0 only.
        busy: Sum of the durations below each node, from level 1 on.
        count: Number of slices below each node, from level 1 on.
        longest: Place in level 0 of the longest slice below each node, from level 1 on.
        offsets: Where each level begins in `start`, and the end of the last.
        factor: Nodes that a node of the next level stands for.
    """

    start: Int64Array
    end: Int64Array
    id: Int64Array
    busy: Int64Array
    count: Int64Array
    longest: Int64Array
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


def build(start: ArrayLike, end: ArrayLike, id: ArrayLike, factor: int = 16) -> Pyramid:
    """Build the levels over slices, up to a level of one node.

    Args:
        start: int64 ns, in any order.
        end: int64 ns; an end before its start counts as the start.
        id: What `query` names slices by.
        factor: Nodes that a node of the next level stands for, at least 2.

    Raises:
        ValueError: The arrays differ in length, or the factor is below 2.
    """
    starts, ends, ids = (np.ascontiguousarray(values, np.int64) for values in (start, end, id))
    if not len(starts) == len(ends) == len(ids):
        raise ValueError("start, end and id differ in length")
    if factor < 2:
        raise ValueError("the factor must be at least 2")
    if not _core.is_sorted(starts):
        order = np.empty(len(starts), np.int64)
        _core.order(starts, order)
        starts, ends, ids = starts[order], ends[order], ids[order]
    sizes = [len(starts)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // factor))
    offsets = np.cumsum([0, *sizes])
    total, upper = int(offsets[-1]), int(offsets[-1]) - len(starts)
    made = Pyramid(
        start=np.empty(total, np.int64),
        end=np.empty(total, np.int64),
        id=ids,
        busy=np.empty(upper, np.int64),
        count=np.empty(upper, np.int64),
        longest=np.empty(upper, np.int64),
        offsets=offsets,
        factor=factor,
    )
    made.start[: len(starts)] = starts
    np.maximum(starts, ends, out=made.end[: len(starts)])
    _core.pyramid_fill(made.start, made.end, made.busy, made.count, made.longest, made.offsets, factor)
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
    ids = np.asarray(levels.id[place[:made]], np.int64)
    return Viewport(start[:made], end[:made], busy[:made], count[:made], ids)
