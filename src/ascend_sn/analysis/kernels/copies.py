"""A03 for copies: how long memory copies take by direction, how much of it exposed, and how fast they are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import intersect, subtract, union
from ascend_sn.analysis.activity import COMMUNICATION, COMPUTE, Activity, activities, grouped
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.window_rows import outer_windows

__all__ = ["ANALYSIS", "copies"]

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "direction": "varchar",
    "host_memory": "varchar",
    "calls": "bigint",
    "total_ns": "bigint",
    "mean_ns": "bigint",
    "exposed_ns": "bigint",
    "overlapped_ns": "bigint",
    "window_ns": "bigint",
    "exposed_share_ratio": "double",
    "size_bytes": "bigint",
    "sized_calls": "bigint",
    "bandwidth_bytes_per_s": "double",
}


def copies(db: DuckDBPyConnection) -> Result:
    """Sum the copies of each profile by direction and kind of host memory.

    Args:
        db: A connection with the tables `kernel`, `operator`, `step`.

    Returns:
        profile_id, rank, direction (h2d, d2h, d2d, h2h; null where not recorded), host_memory (`pageable` or `pinned`
        where the kernel's name says so, else null), calls, total_ns (sum of the durations), mean_ns, exposed_ns (time
        within the steps, or the whole capture, in which such a copy runs with neither compute nor communication
        beside it), overlapped_ns (the rest of the time in which such a copy runs there), window_ns (all steps, or the
        whole capture), exposed_share_ratio = exposed_ns / window_ns, size_bytes (null where no size was recorded),
        sized_calls (copies with a size), bandwidth_bytes_per_s (bytes over time of those); by profile and total.
    """
    found = db.execute("""
        select profile_id, rank, coalesce(copy_direction, '') as direction,
               case when name ilike '%pageable%' then 'pageable' when name ilike '%pinned%' then 'pinned' else '' end
                   as host_memory,
               ts_ns as start_ns, ts_ns + dur_ns as end_ns, dur_ns, coalesce(size_bytes, -1) as size_bytes
        from kernel
        where kind = 'copy'
        order by profile_id, direction, host_memory, ts_ns
    """).fetchnumpy()
    if not len(found["profile_id"]):
        return listed(db, [], _TYPES)
    by_profile = {activity.profile_id: activity for activity in activities(db)}
    rows = []
    for profile_id, part in grouped(found["profile_id"]).items():
        columns = {name: np.asarray(column[part]) for name, column in found.items() if name != "rank"}
        keys = np.char.add(np.char.add(columns["direction"].astype(str), "/"), columns["host_memory"].astype(str))
        for key in sorted(set(keys.tolist())):
            chosen = {name: column[keys == key] for name, column in columns.items()}
            rows.append({"profile_id": profile_id, **_row(by_profile[profile_id], key, chosen)})
    rows.sort(key=lambda row: (row["profile_id"], -row["total_ns"], row["direction"] or "", row["host_memory"] or ""))
    return listed(db, rows, _TYPES)


def _row(activity: Activity, key: str, chosen: dict[str, Any]) -> dict[str, Any]:
    direction, _, host_memory = key.partition("/")
    windows, outer = activity.windows, outer_windows(activity.windows)
    inside = union(windows.start[outer], windows.end[outer])
    running = intersect(*union(chosen["start_ns"], chosen["end_ns"]), *inside)
    work = [activity.of_kind(kind) for kind in (COMPUTE, COMMUNICATION)]
    beside = union(np.concatenate([start for start, _ in work]), np.concatenate([end for _, end in work]))
    exposed = _length(*subtract(*running, *beside))
    window = _length(*inside)
    total, calls = int(chosen["dur_ns"].sum()), len(chosen["dur_ns"])
    sized = chosen["size_bytes"] >= 0
    size, sized_ns = int(chosen["size_bytes"][sized].sum()), int(chosen["dur_ns"][sized].sum())
    return {
        "rank": activity.rank,
        "direction": direction or None,
        "host_memory": host_memory or None,
        "calls": calls,
        "total_ns": total,
        "mean_ns": round(total / calls),
        "exposed_ns": exposed,
        "overlapped_ns": _length(*running) - exposed,
        "window_ns": window,
        "exposed_share_ratio": exposed / window if window else None,
        "size_bytes": size if bool(sized.any()) else None,
        "sized_calls": int(sized.sum()),
        "bandwidth_bytes_per_s": size * 1e9 / sized_ns if bool(sized.any()) and sized_ns else None,
    }


def _length(start: Any, end: Any) -> int:
    return int((end - start).sum())


ANALYSIS = Analysis(
    code="A03",
    name="copies",
    title="Copies by direction",
    per_profile=copies,
    needs=(Need("kernel"),),
)
