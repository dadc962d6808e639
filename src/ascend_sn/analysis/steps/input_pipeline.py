"""A06: does the step wait for its data?"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import intersect, union
from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.registry import Analysis
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.model.trace_schema import DATA_TIME_METRIC

__all__ = ["ANALYSIS", "input_pipeline"]

BOTTLENECK_RATIO: Final = 0.8
"""Data time from this share of the compute time on makes `data` the bottleneck (45 to 55 ms is, 12 to 55 is not)."""

GRADES: Final = ((0.20, "high"), (0.05, "moderate"), (0.0, "none"))
"""Share of the step from which the wait is graded so; the lower bound belongs to the grade."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "steps": "bigint",
    "data_ns": "bigint",
    "compute_ns": "bigint",
    "window_ns": "bigint",
    "data_share_ratio": "double",
    "grade": "varchar",
    "bottleneck": "varchar",
    "source": "varchar",
}


def input_pipeline(db: DuckDBPyConnection) -> Result:
    """Compare the time a step waits for data on the host with the rest of it.

    Data time is the union of the operators of phase data within the marked steps; where the program logged
    `data_time` (seconds), that is added, since it was measured outside any operator. Without marked steps,
    logged data times are set against the phases forward, backward and optimizer that were recorded, per
    logged value.

    Args:
        db: A connection with the tables `operator`, `step`, `metric`.

    Returns:
        One row per profile with data ranges or logged data times: profile_id, rank, steps, data_ns (waiting for
        data), compute_ns (the rest of the step) and window_ns as means per step, data_share_ratio = data_ns /
        window_ns, grade (none, moderate from 5 %, high from 20 %), bottleneck (`data` when data_ns >= 0.8 x
        compute_ns, else `compute`), source (`ranges`, `logged` or both).
    """
    steps = db.execute("""
        select profile_id, ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from step
        where origin <> 'inferred'
        order by profile_id, ts_ns
    """).fetchnumpy()
    ranges = db.execute("""
        select profile_id, phase, ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from operator
        where phase <> 'other'
        order by profile_id, ts_ns
    """).fetchnumpy()
    logged = db.execute(
        """
        select profile_id, ts_ns, round(value * 1e9)::bigint as data_ns
        from metric
        where name = $name and value between 0 and 1e9
        order by profile_id, ts_ns
        """,
        {"name": DATA_TIME_METRIC},
    ).fetchnumpy()
    parts = grouped(steps["profile_id"]), grouped(ranges["profile_id"]), grouped(logged["profile_id"])
    nothing = slice(0, 0)
    rows = []
    for profile_id, rank in db.execute("select profile_id, rank from profile order by profile_id").fetchall():
        row = _verdict(
            {name: column[parts[0].get(profile_id, nothing)] for name, column in steps.items()},
            {name: column[parts[1].get(profile_id, nothing)] for name, column in ranges.items()},
            {name: column[parts[2].get(profile_id, nothing)] for name, column in logged.items()},
        )
        if row is not None:
            rows.append({"profile_id": profile_id, "rank": rank, **row})
    return listed(db, rows, _TYPES)


def _verdict(steps: dict[str, Any], ranges: dict[str, Any], logged: dict[str, Any]) -> dict[str, Any] | None:
    phase = np.asarray(ranges["phase"])
    waits = union(ranges["start_ns"][phase == "data"], ranges["end_ns"][phase == "data"])
    windows = union(steps["start_ns"], steps["end_ns"])
    count = len(steps["start_ns"])
    if count:
        inside = intersect(*waits, *windows)
        at = np.searchsorted(windows[0], logged["ts_ns"], side="right") - 1
        in_step = (at >= 0) & (logged["ts_ns"] <= windows[1][np.maximum(at, 0)])
        from_logs = int(logged["data_ns"][in_step].sum())
        from_ranges = int((inside[1] - inside[0]).sum())
        total = int((windows[1] - windows[0]).sum())
    else:
        count = len(logged["data_ns"])
        busy = union(ranges["start_ns"][phase != "data"], ranges["end_ns"][phase != "data"])
        from_logs, from_ranges = int(logged["data_ns"].sum()), 0
        total = from_logs + int((busy[1] - busy[0]).sum())
    data = from_logs + from_ranges
    if not count or not (len(waits[0]) or len(logged["data_ns"])) or not total:
        return None
    share = min(data / total, 1.0)
    rest = max(total - data, 0)
    return {
        "steps": count,
        "data_ns": round(data / count),
        "compute_ns": round(rest / count),
        "window_ns": round(total / count),
        "data_share_ratio": share,
        "grade": next(grade for bound, grade in GRADES if share >= bound),
        "bottleneck": "data" if data >= BOTTLENECK_RATIO * rest else "compute",
        "source": " and ".join(
            name for name, part in (("ranges", from_ranges), ("logged", len(logged["data_ns"]))) if part
        )
        or "ranges",
    }


ANALYSIS = Analysis(code="A06", name="input_pipeline", title="Input pipeline", per_profile=input_pipeline)
