"""A23: time that the host spends in the driver's allocator, and how much of it the device stands still for."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import gaps, intersect, union
from ascend_sn.analysis.activity import Activity, activities, grouped
from ascend_sn.analysis.host.host_calls import classify_calls
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.window_rows import lengths_within, outer_windows
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "allocator_cost"]

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "name": "varchar",
    "calls": "bigint",
    "total_ns": "bigint",
    "max_ns": "bigint",
    "device_free_ns": "bigint",
    "steps": "bigint",
    "ns_per_step": "double",
    "share_ratio": "double",
}


def allocator_cost(db: DuckDBPyConnection) -> Result:
    """Sum the driver calls that allocate, free and map device memory (`host_calls.toml`), by name.

    A pool that works calls the driver in the first steps only; what is left is pressure, or `empty_cache` in the loop.
    Only calls that start within the marked steps count, where there are any.

    Args:
        db: A connection with the tables `host_call`, `kernel`, `operator`, `step`.

    Returns:
        profile_id, rank, name, calls, total_ns (union over threads), max_ns, device_free_ns (of it, with no
        kernel, copy or collective on the device; null without kernels), steps (0 for a whole capture),
        ns_per_step = total_ns / steps, share_ratio (of the steps' time, null without kernels); by profile and
        total.
    """
    classified = classify_calls(db)
    found = db.execute(f"""
        select call.profile_id, profile.rank, call.name, call.ts_ns as start_ns, call.ts_ns + call.dur_ns as end_ns
        from {classified} call
        left join profile using (profile_id)
        where class = 'allocator'
        order by call.profile_id, call.ts_ns, call.name
    """).fetchnumpy()
    by_profile = {activity.profile_id: activity for activity in activities(db)}
    rows: list[dict[str, Any]] = []
    for profile_id, part in grouped(found["profile_id"]).items():
        start, end = (np.asarray(found[name][part], np.int64) for name in ("start_ns", "end_ns"))
        names = np.asarray(found["name"][part], object)
        rank = found["rank"][part][0]
        known = {"profile_id": profile_id, "rank": None if rank is np.ma.masked else int(rank)}
        rows.extend({**known, **row} for row in _by_name(names, start, end, by_profile.get(profile_id)))
    return listed(db, rows, _TYPES)


def _by_name(names: Any, start: Int64, end: Int64, activity: Activity | None) -> list[dict[str, Any]]:
    steps, window_ns = 0, None
    free: tuple[Int64, Int64] | None = None
    if activity is not None:
        windows = activity.windows
        outer = outer_windows(windows)
        low, high = windows.start[outer], windows.end[outer]
        steps = sum(windows.scope[at] == "step" for at in outer)
        if steps:
            inside = lengths_within(*union(low, high), start, start + 1) > 0
            names, start, end = names[inside], start[inside], end[inside]
        window_ns = int((high - low).sum())
        if len(start):
            free = gaps(activity.start, activity.end, int(start.min()), int(end.max()))
    rows = []
    for name in sorted(set(names.tolist())):
        chosen = names == name
        calls = union(start[chosen], end[chosen])
        total = int((calls[1] - calls[0]).sum())
        idle = None if free is None else intersect(*calls, *free)
        rows.append(
            {
                "name": name,
                "calls": int(chosen.sum()),
                "total_ns": total,
                "max_ns": int((end - start)[chosen].max()),
                "device_free_ns": None if idle is None else int((idle[1] - idle[0]).sum()),
                "steps": steps,
                "ns_per_step": total / max(steps, 1),
                "share_ratio": total / window_ns if window_ns else None,
            }
        )
    return sorted(rows, key=lambda row: (-row["total_ns"], row["name"]))


ANALYSIS = Analysis(
    code="A23",
    name="allocator_cost",
    title="Time in the driver's allocator",
    per_profile=allocator_cost,
    needs=(Need("host_call"),),
)
