"""A22: leak, cache or neither: what the lowest memory level of each step does over the steps."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import union
from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.memory.floor_trend import floor_trend, onset_of
from ascend_sn.analysis.memory.memory_curves import PROCESS, MemoryCurve, memory_curves
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.model.rows import Int64
from ascend_sn.model.trace_schema import CAPACITY_METRIC

__all__ = ["ANALYSIS", "memory_leak"]

PROCESS_GROWTH_BYTES: Final = 2 * 1024 * 1024
"""What a process comes to hold without a leak of the program: pages of the interpreter and of what records it."""

_PHASES: Final = ("data", "forward", "backward", "optimizer")

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "component": "varchar",
    "source": "varchar",
    "verdict": "varchar",
    "steps": "bigint",
    "slope_bytes_per_step": "double",
    "slope_low_bytes_per_step": "double",
    "growth_bytes": "double",
    "chance_ratio": "double",
    "tail_chance_ratio": "double",
    "onset_step_id": "integer",
    "onset_step": "bigint",
    "phase": "varchar",
    "last_floor_bytes": "bigint",
    "last_peak_bytes": "bigint",
    "capacity_bytes": "bigint",
    "steps_left": "double",
}


def memory_leak(db: DuckDBPyConnection) -> Result:
    """Judge the floor of every memory curve: the lowest allocated level inside each step.

    See `floor_trend` for the test; the resident memory of a process has to grow by 2 MiB. The onset is the step from
    which the floor rises. The phase is the one of data, forward, backward and optimizer over whose ranges on the host
    the level grows most per step, if it does in more than half of the growth (not told from the resident memory of a
    process). Where the program logged `memory_capacity_bytes`, steps_left is what is left of it above the last step's
    peak over the slope.

    Args:
        db: A connection with the tables `memory_sample`, `memory_event`, `counter`, `step`, `operator`, `metric`.

    Returns:
        One row per curve of a profile with steps: profile_id, rank, component, source (as `memory_curves`),
        verdict (leak, cache, steady, insufficient), steps (looked at, warm-up left out), slope_bytes_per_step
        (of the second half), slope_low_bytes_per_step (lower 95 % bound of it), growth_bytes (of the floor,
        from the first tenth of the steps to the last), chance_ratio (p value of the rise as a whole),
        tail_chance_ratio (of that in the second half), onset_step_id, onset_step (step number from which it
        rises) and phase (all null unless it leaks), last_floor_bytes and last_peak_bytes (each: of the last
        step), capacity_bytes (as logged), steps_left (null unless it leaks and the capacity is known); by
        profile and growth.
    """
    steps = db.execute("""
        select profile_id, step_id::bigint as step_id, step, ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from step
        order by profile_id, ts_ns, step_id
    """).fetchnumpy()
    capacity = dict(
        db.execute(
            """
            select profile_id, max(value)::bigint
            from metric
            where name = $name and value between 1 and 1e18
            group by profile_id
            """,
            {"name": CAPACITY_METRIC},
        ).fetchall()
    )
    parts = grouped(steps["profile_id"])
    rows = []
    for curve in memory_curves(db):
        if curve.profile_id in parts:
            part = parts[curve.profile_id]
            rows.append(_judged(db, curve, {name: column[part] for name, column in steps.items()}, capacity))
    rows.sort(key=lambda row: (row["profile_id"], -(row["growth_bytes"] or 0.0), row["component"]))
    return listed(db, rows, _TYPES)


def _judged(
    db: DuckDBPyConnection, curve: MemoryCurve, steps: dict[str, Any], capacity: dict[int, int]
) -> dict[str, Any]:
    start, end = np.asarray(steps["start_ns"], np.int64), np.asarray(steps["end_ns"], np.int64)
    floor = curve.lowest(start, end)
    known = np.flatnonzero(~np.isnan(floor))
    trend = floor_trend(floor[known], least_growth=PROCESS_GROWTH_BYTES if curve.component == PROCESS else 0)
    row: dict[str, Any] = dict.fromkeys(_TYPES)
    row |= {
        "profile_id": curve.profile_id,
        "rank": curve.rank,
        "component": curve.component,
        "source": curve.source,
        "verdict": trend.verdict,
        "steps": trend.steps,
        "slope_bytes_per_step": trend.slope,
        "slope_low_bytes_per_step": trend.slope_low,
        "growth_bytes": trend.growth,
        "chance_ratio": trend.p_all,
        "tail_chance_ratio": trend.p_tail,
        "capacity_bytes": capacity.get(curve.profile_id),
    }
    if len(known):
        last = known[-1]
        inside = curve.allocated[(curve.ts >= start[last]) & (curve.ts < end[last])]
        row["last_floor_bytes"] = int(floor[last])
        row["last_peak_bytes"] = int(inside.max()) if len(inside) else int(floor[last])
    if trend.verdict != "leak" or trend.slope is None:
        return row
    onset = int(known[onset_of(floor[known])])
    row["onset_step_id"] = int(steps["step_id"][onset])
    number = steps["step"][onset]
    row["onset_step"] = None if number is np.ma.masked else int(number)
    if curve.component != PROCESS:  # sampled some milliseconds late, often in the phase after
        row["phase"] = _growing_phase(db, curve, start[onset:], end[onset:], trend.slope)
    if row["capacity_bytes"] is not None:
        row["steps_left"] = max(row["capacity_bytes"] - row["last_peak_bytes"], 0) / trend.slope
    return row


def _growing_phase(db: DuckDBPyConnection, curve: MemoryCurve, start: Int64, end: Int64, slope: float) -> str | None:
    """The phase over whose host ranges the level rises by more than half of the slope per step."""
    found = db.execute(
        """
        select phase, ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from operator
        where profile_id = $profile and phase in ('data', 'forward', 'backward', 'optimizer')
          and ts_ns >= $low and ts_ns < $high
        order by ts_ns
        """,
        {"profile": curve.profile_id, "low": int(start[0]), "high": int(end[-1])},
    ).fetchnumpy()
    phase = np.asarray(found["phase"], object)
    rises = {}
    for name in _PHASES:
        chosen = phase == name
        if bool(chosen.any()):
            ranges = union(np.asarray(found["start_ns"])[chosen], np.asarray(found["end_ns"])[chosen])
            rises[name] = float((curve.level(ranges[1]) - curve.level(ranges[0])).sum()) / len(start)
    largest = max(rises, key=lambda name: rises[name], default=None)
    return largest if largest is not None and rises[largest] > slope / 2 else None


ANALYSIS = Analysis(
    code="A22",
    name="memory_leak",
    title="Memory: leak or cache",
    per_profile=memory_leak,
    needs=(Need("step"), Need("memory_sample", alternatives=("memory_event", "counter"))),
)
