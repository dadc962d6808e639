"""A31: how even the steps are, where their level changes, and what part of the step changed."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.activity import grouped
from ascend_sn.analysis.change_points import ChangePoint, change_points
from ascend_sn.analysis.host.free_time_causes import CAUSES, free_time_causes
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.steps.step_breakdown import step_breakdown

__all__ = ["CHANGES", "JITTER", "step_changes", "step_jitter"]

PARTS: Final = ("compute", "exposed_comm", "exposed_copy", *(f"free: {cause}" for cause in CAUSES))
"""Parts of a step that a change is laid to; together they are the step."""

_JITTER_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "origin": "varchar",
    "steps": "bigint",
    "mean_ns": "double",
    "p50_ns": "double",
    "p99_ns": "double",
    "min_ns": "bigint",
    "max_ns": "bigint",
    "cv_ratio": "double",
    "p99_over_p50": "double",
    "changes": "bigint",
}

_CHANGE_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "place": "bigint",
    "step_id": "integer",
    "step": "bigint",
    "ts_ns": "bigint",
    "before_ns": "double",
    "after_ns": "double",
    "change_ns": "double",
    "change_ratio": "double",
    "chance_ratio": "double",
    "cause": "varchar",
    "cause_change_ns": "double",
}


def step_jitter(db: DuckDBPyConnection) -> Result:
    """Describe the series of step durations of each profile.

    Args:
        db: A connection with the table `step`.

    Returns:
        One row per profile with steps: profile_id, rank, origin (of the first step), steps, mean_ns, p50_ns,
        p99_ns, min_ns, max_ns, cv_ratio (standard deviation over mean, null for a single step), p99_over_p50 =
        p99_ns / p50_ns, changes (number of `step_changes`).
    """
    rows = []
    for profile_id, steps in _steps(db).items():
        dur = np.asarray(steps["dur_ns"], np.float64)
        mean, middle, high = float(dur.mean()), float(np.median(dur)), float(np.quantile(dur, 0.99))
        rows.append(
            {
                "profile_id": profile_id,
                "rank": _value(steps["rank"], 0),
                "origin": str(steps["origin"][0]),
                "steps": len(dur),
                "mean_ns": mean,
                "p50_ns": middle,
                "p99_ns": high,
                "min_ns": int(dur.min()),
                "max_ns": int(dur.max()),
                "cv_ratio": float(dur.std(ddof=1)) / mean if len(dur) > 1 and mean else None,
                "p99_over_p50": high / middle if middle else None,
                "changes": len(change_points(dur)),
            }
        )
    return listed(db, rows, _JITTER_TYPES)


def step_changes(db: DuckDBPyConnection) -> Result:
    """List where the level of the step durations changes (`change_points`), and the part of the step that did.

    Args:
        db: A connection with the tables `step`, `kernel`, `host_call`, `operator`, `span`, `collective`.

    Returns:
        profile_id, rank, place (of the first step after the change, from 0), step_id, step, ts_ns, before_ns
        and after_ns (each: median of the stretch between changes), change_ns = after_ns - before_ns,
        change_ratio (of before_ns), chance_ratio (p value), cause (compute, exposed_comm, exposed_copy or
        `free: <cause>`: the part whose mean changed most in the same direction; null without device work),
        cause_change_ns (change of its mean); by profile and time.
    """
    steps = _steps(db)
    found = {profile_id: change_points(np.asarray(own["dur_ns"], np.float64)) for profile_id, own in steps.items()}
    parts = _parts(db) if any(found.values()) else {}
    rows: list[dict[str, Any]] = []
    for profile_id, own in steps.items():
        bounds = [0, *(change.place for change in found[profile_id]), len(own["dur_ns"])]
        for at, change in enumerate(found[profile_id]):
            sides = own["step_id"][bounds[at] : change.place], own["step_id"][change.place : bounds[at + 2]]
            rows.append(_row(profile_id, own, change, sides, parts.get(profile_id, {})))
    return listed(db, rows, _CHANGE_TYPES)


def _row(
    profile_id: int, own: dict[str, Any], change: ChangePoint, sides: tuple[Any, Any], parts: dict[int, dict[str, int]]
) -> dict[str, Any]:
    shift = change.after - change.before
    cause, cause_change = _cause(sides, parts, shift)
    return {
        "profile_id": profile_id,
        "rank": _value(own["rank"], 0),
        "place": change.place,
        "step_id": int(own["step_id"][change.place]),
        "step": _value(own["step"], change.place),
        "ts_ns": int(own["ts_ns"][change.place]),
        "before_ns": change.before,
        "after_ns": change.after,
        "change_ns": shift,
        "change_ratio": shift / change.before if change.before else None,
        "chance_ratio": change.chance,
        "cause": cause,
        "cause_change_ns": cause_change,
    }


def _cause(sides: tuple[Any, Any], parts: dict[int, dict[str, int]], shift: float) -> tuple[str | None, float | None]:
    known = [[parts[step] for step in side.tolist() if step in parts] for side in sides]
    if not all(known):
        return None, None
    changes = {
        name: sum(one.get(name, 0) for one in known[1]) / len(known[1])
        - sum(one.get(name, 0) for one in known[0]) / len(known[0])
        for name in PARTS
    }
    sign = 1 if shift >= 0 else -1
    largest = max(PARTS, key=lambda name: sign * changes[name])
    return largest, changes[largest]


def _steps(db: DuckDBPyConnection) -> dict[int, dict[str, Any]]:
    steps = db.execute("""
        select profile_id, rank, step_id::bigint as step_id, step, ts_ns, dur_ns, origin
        from step
        order by profile_id, ts_ns, step_id
    """).fetchnumpy()
    return {
        profile_id: {name: column[part] for name, column in steps.items()}
        for profile_id, part in grouped(steps["profile_id"]).items()
    }


def _parts(db: DuckDBPyConnection) -> dict[int, dict[int, dict[str, int]]]:
    """Nanoseconds of each part by profile and step."""
    parts: dict[int, dict[int, dict[str, int]]] = {}
    for row in step_breakdown(db).dicts():
        if row["step_id"] is not None:
            values = (row["compute_ns"], row["exposed_comm_ns"], row["exposed_copy_ns"])
            parts.setdefault(row["profile_id"], {})[row["step_id"]] = dict(zip(PARTS[:3], values, strict=True))
    for row in free_time_causes(db).dicts():
        if row["step_id"] is not None:
            parts[row["profile_id"]][row["step_id"]][f"free: {row['cause']}"] = row["cause_ns"]
    return parts


def _value(column: Any, at: int) -> int | None:
    value = column[at]
    return None if value is np.ma.masked else int(value)


JITTER = Analysis(
    code="A31", name="step_jitter", title="Evenness of the steps", per_profile=step_jitter, needs=(Need("step"),)
)
CHANGES = Analysis(
    code="A31", name="step_changes", title="Changes of the step time", per_profile=step_changes, needs=(Need("step"),)
)
