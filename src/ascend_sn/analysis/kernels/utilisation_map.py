"""A05: how busy each device was over time, as a row of chunks per rank: the heat map."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import union
from ascend_sn.analysis.activity import COMPUTE, Activity, activities
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.window_rows import lengths_within, outer_windows

__all__ = ["ANALYSIS", "CHUNKS", "utilisation_map"]

CHUNKS: Final = 30
"""Chunks that a capture is divided into."""

LOW_RATIO: Final = 0.5
"""Chunks that are busy for less than this share are low; neighbouring ones form one run."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "chunk": "integer",
    "ts_ns": "bigint",
    "dur_ns": "bigint",
    "busy_ns": "bigint",
    "compute_ns": "bigint",
    "busy_ratio": "double",
    "compute_ratio": "double",
    "low_run": "integer",
}


def utilisation_map(db: DuckDBPyConnection, chunk_count: int = CHUNKS) -> Result:
    """Divide each profile from its first to its last step (or kernel) into chunks of equal length.

    Args:
        db: A connection with the tables `kernel`, `operator`, `step`.
        chunk_count: Chunks per profile.

    Returns:
        One row per chunk, by profile and time: profile_id, rank, chunk (from 0), ts_ns, dur_ns, busy_ns (some
        stream ran a kernel, a copy or a collective), compute_ns, busy_ratio and compute_ratio (each: share of
        the chunk), low_run (number of the run of chunks busy below 50 % that the chunk belongs to, null for the
        others). A capture shorter than the number of chunks in ns has as many chunks as ns.
    """
    rows: list[dict[str, Any]] = []
    for activity in activities(db):
        rows.extend(_chunks(activity, chunk_count))
    return listed(db, rows, _TYPES)


def _chunks(activity: Activity, chunk_count: int) -> list[dict[str, Any]]:
    outer = outer_windows(activity.windows)
    start, end = int(activity.windows.start[outer].min()), int(activity.windows.end[outer].max())
    edges = np.array([start + (end - start) * at // chunk_count for at in range(chunk_count + 1)], np.int64)
    low, high = edges[:-1], edges[1:]
    low, high = low[low < high], high[low < high]
    busy = lengths_within(*union(activity.start, activity.end), low, high)
    compute = lengths_within(*union(*activity.of_kind(COMPUTE)), low, high)
    is_low = busy < LOW_RATIO * (high - low)
    run = np.cumsum(is_low & ~np.append(False, is_low[:-1])) - 1
    return [
        {
            "profile_id": activity.profile_id,
            "rank": activity.rank,
            "chunk": at,
            "ts_ns": int(low[at]),
            "dur_ns": int(high[at] - low[at]),
            "busy_ns": int(busy[at]),
            "compute_ns": int(compute[at]),
            "busy_ratio": int(busy[at]) / int(high[at] - low[at]),
            "compute_ratio": int(compute[at]) / int(high[at] - low[at]),
            "low_run": int(run[at]) if is_low[at] else None,
        }
        for at in range(len(low))
    ]


ANALYSIS = Analysis(
    code="A05",
    name="utilisation_map",
    title="Utilisation over time",
    per_profile=utilisation_map,
    needs=(Need("kernel"),),
)
