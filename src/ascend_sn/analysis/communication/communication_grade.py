"""A03b for communication: how much of the step it takes, and how bad that is."""

from __future__ import annotations

from typing import Any, Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.communication.collective_parts import completed_parts
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected
from ascend_sn.analysis.steps.step_breakdown import step_breakdown

__all__ = ["ANALYSIS", "GRADES", "combined_grade", "communication_grade"]

_EXPOSED: Final = {"profile_id": "integer", "exposed_comm_ns": "bigint", "window_ns": "bigint"}

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "window_ns": "bigint",
    "exposed_comm_ns": "bigint",
    "exposed_transit_ns": "bigint",
    "exposed_wait_ns": "bigint",
    "exposed_idle_ns": "bigint",
    "exposed_unknown_ns": "bigint",
    "exposed_share_ratio": "double",
    "exposed_transit_ratio": "double",
    "main_part": "varchar",
    "grade": "varchar",
}

GRADES: Final = ((0.50, "extreme"), (0.30, "severe"), (0.15, "slight"), (0.0, "normal"))
"""Share of the step with exposed transit from which it is graded so; the lower bound belongs to the grade."""


def communication_grade(db: DuckDBPyConnection) -> Result:
    """List the exposed communication of each profile.

    Args:
        db: A connection with the tables `collective`, `kernel`, `operator`, `step`.

    Returns:
        profile_id, exposed_comm_ns and window_ns, summed over the windows of the profile.
    """
    windows: dict[int, dict[str, int]] = {}
    for row in step_breakdown(db).dicts():
        if row["scope"] == "whole capture" or row["origin"] != "inferred":
            sums = windows.setdefault(row["profile_id"], {"exposed_comm_ns": 0, "window_ns": 0})
            for name in sums:
                sums[name] += row[name]
    return listed(db, [{"profile_id": profile_id, **sums} for profile_id, sums in windows.items()], _EXPOSED)


def combined_grade(db: DuckDBPyConnection, parts: Result) -> Result:
    """Divide the exposed communication of each profile as its collectives divide, and grade the part that moves bytes.

    Nothing records which moments of a collective move bytes, so exposed time is taken to be divided like the time of
    the collectives themselves: exposed_transit_ns = exposed_comm_ns x transit / elapsed, and so on. Waiting is not
    graded: a faster network does not shorten it.

    Returns:
        profile_id, rank, window_ns (all steps, or the whole capture), exposed_comm_ns, and of it exposed_transit_ns
        (moving bytes), exposed_wait_ns (waiting for others), exposed_idle_ns (neither) and exposed_unknown_ns (in
        collectives whose parts are unknown), exposed_share_ratio and exposed_transit_ratio (each: of the window),
        main_part (`transit`, `wait`, `idle` or `unknown`: the largest of the four), grade (`normal` below 15 % of
        exposed transit, `slight` from 15 %, `severe` from 30 %, `extreme` from 50 %; null where the unknown part
        could change it); by profile.
    """
    sums = selected(
        db,
        f"""
        select profile_id, any_value(rank) as rank, sum(dur_ns)::bigint as elapsed_ns,
               coalesce(sum(transit_ns) filter (where method is not null), 0)::bigint as transit_ns,
               coalesce(sum(wait_ns) filter (where method is not null and transit_ns is not null), 0)::bigint
                   as wait_ns,
               coalesce(sum(dur_ns) filter (where method is null or transit_ns is null), 0)::bigint as unknown_ns
        from {completed_parts(db)}
        group by profile_id
        """,
    ).dicts()
    exposed = {row["profile_id"]: row for row in parts.dicts()}
    known = [{**row, **exposed[row["profile_id"]]} for row in sums if row["profile_id"] in exposed]
    return listed(db, [_graded(row) for row in sorted(known, key=lambda row: int(row["profile_id"]))], _TYPES)


def _graded(row: dict[str, Any]) -> dict[str, Any]:
    exposed, window, elapsed = row["exposed_comm_ns"], row["window_ns"], row["elapsed_ns"]
    transit, wait, unknown = (_share(exposed, row[f"{name}_ns"], elapsed) for name in ("transit", "wait", "unknown"))
    if not elapsed:
        transit, wait, unknown = 0, 0, exposed
    idle = max(exposed - transit - wait - unknown, 0)
    divided = {"transit": transit, "wait": wait, "idle": idle, "unknown": unknown}
    grade = _grade(transit / window) if window else None
    return {
        "profile_id": row["profile_id"],
        "rank": row["rank"],
        "window_ns": window,
        "exposed_comm_ns": exposed,
        **{f"exposed_{part}_ns": ns for part, ns in divided.items()},
        "exposed_share_ratio": exposed / window if window else None,
        "exposed_transit_ratio": transit / window if window else None,
        "main_part": max(divided, key=lambda part: divided[part]),
        "grade": grade if window and grade == _grade((transit + unknown) / window) else None,
    }


def _share(exposed_ns: int, part_ns: int, elapsed_ns: int) -> int:
    """The part of the exposed time, half a nanosecond rounded up."""
    return (2 * exposed_ns * part_ns + elapsed_ns) // (2 * elapsed_ns) if elapsed_ns else 0


def _grade(ratio: float) -> str:
    return next(grade for bound, grade in GRADES if ratio >= bound)


ANALYSIS = Analysis(
    code="A03b",
    name="communication_grade",
    title="Communication graded",
    per_profile=communication_grade,
    combine=combined_grade,
    needs=(Need("collective"), Need("kernel")),
)
