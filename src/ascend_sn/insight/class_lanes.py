"""Lanes of activity classes: when a device computed, communicated exposed or overlapped, copied exposed, was free.

The classes are those of the step breakdown (A03): within a window compute + exposed communication + exposed copies +
free is the window, and overlapped communication is a part of compute. Free exists only inside the windows (marked
steps, else the whole capture).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import gaps, intersect, sweep_segments, union
from ascend_sn.analysis.activity import CLASS_OF_KIND, COMMUNICATION, COMPUTE, COPY, windows_of
from ascend_sn.model.kinds import BUSY_KINDS
from ascend_sn.model.rows import Int64
from ascend_sn.store.timeline_build import ClassLane

__all__ = ["COMPUTING", "EXPOSED", "EXPOSED_COPY", "FREE", "OVERLAPPED", "class_lanes"]

COMPUTING: Final = "compute"
EXPOSED: Final = "exposed_communication"
OVERLAPPED: Final = "overlapped_communication"
EXPOSED_COPY: Final = "exposed_copy"
FREE: Final = "free"

_AT_ONCE: Final = 4_000_000
"""Kernels that are swept at once; a sweep takes 40 bytes of each."""

Parts = dict[str, list[tuple[Int64, Int64]]]


def class_lanes(db: DuckDBPyConnection, profile_id: int) -> list[ClassLane]:
    """Return a lane per class that occurs in a profile; none where no kernel ran."""
    kernels = db.execute(
        f"""
        select ts_ns as start_ns, ts_ns + dur_ns as end_ns, {CLASS_OF_KIND} as code
        from kernel
        where profile_id = $profile and kernel.kind in {BUSY_KINDS} and dur_ns > 0
        order by ts_ns
        """,
        {"profile": profile_id},
    ).fetchnumpy()
    start, end, kind = (np.asarray(kernels[name]) for name in ("start_ns", "end_ns", "code"))
    if not len(start):
        return []
    parts: Parts = {name: [] for name in (COMPUTING, EXPOSED, OVERLAPPED, EXPOSED_COPY)}
    busy: list[tuple[Int64, Int64]] = []
    for some in _swept(start, end, kind, parts):
        busy.append(some)
    windows = windows_of(db, profile_id, int(start[0]), int(end.max()))
    allowed = union(windows.start, windows.end)
    found = {name: _joined(pieces) for name, pieces in parts.items()}
    if len(allowed[0]):
        idle = gaps(*_joined(busy), int(allowed[0][0]), int(allowed[1][-1]))
        found[FREE] = intersect(*idle, *allowed)
    return [ClassLane(name, *piece) for name, piece in found.items() if len(piece[0])]


def _swept(start: Int64, end: Int64, kind: npt.NDArray[np.uint8], parts: Parts) -> Iterator[tuple[Int64, Int64]]:
    """Add what each class covers to `parts`, some kernels at a time, and return when anything was busy."""
    kept = np.empty(0, np.int64)  # kernels of before that reach into what follows
    for first in range(0, len(start), _AT_ONCE):
        past = min(first + _AT_ONCE, len(start))
        here = np.concatenate([kept, np.arange(first, past)])
        low = int(start[first])
        high = int(start[past]) if past < len(start) else int(end[here].max())
        if low < high:
            at, until, mask = sweep_segments(start[here], end[here], kind[here], 3, low, high)
            both = mask & (1 << COMPUTE | 1 << COMMUNICATION)
            for name, chosen in (
                (COMPUTING, (mask & 1 << COMPUTE) > 0),
                (EXPOSED, both == 1 << COMMUNICATION),
                (OVERLAPPED, both == (1 << COMPUTE | 1 << COMMUNICATION)),
                (EXPOSED_COPY, mask == 1 << COPY),
            ):
                parts[name].append((at[chosen], until[chosen]))
            yield at[mask > 0], until[mask > 0]
        kept = here[end[here] > high]


def _joined(pieces: list[tuple[Int64, Int64]]) -> tuple[Int64, Int64]:
    """Make pieces that touch one."""
    none = np.empty(0, np.int64)
    return union(np.concatenate([none, *(a for a, _ in pieces)]), np.concatenate([none, *(b for _, b in pieces)]))
