"""A18: how long each pipeline stage waits for the others, against the least that its schedule allows."""

from __future__ import annotations

from statistics import median
from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import subtract, union
from ascend_sn.analysis.activity import COMPUTE, Activity, activities
from ascend_sn.analysis.ranks.pipeline_stages import stages_of_profiles
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.window_rows import lengths_within, outer_windows
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "MICRO_BATCH_METRIC", "combined_bubble", "pipeline_bubble"]

MICRO_BATCH_METRIC: Final = "micro_batches"
"""Name under which the program logs the micro-batches of a step (`log_metric`)."""

RECEIVES: Final = ("receive", "sendrecv", "batchsendrecv")
"""Operations that wait for another stage; some frameworks only have batched ones, which send and receive at once."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "stage": "integer",
    "stage_count": "integer",
    "steps": "bigint",
    "window_ns": "double",
    "receive_ns": "double",
    "bubble_ns": "double",
    "bubble_ratio": "double",
    "receives_per_step": "double",
    "batched_per_step": "double",
    "micro_batches": "double",
    "micro_batch_source": "varchar",
    "ideal_ratio": "double",
    "excess_ratio": "double",
}


def pipeline_bubble(db: DuckDBPyConnection) -> Result:
    """Measure the waiting of each rank in receives, per step.

    The bubble is the time in which a receive (plain or batched with a send) runs without any compute beside it, less
    the recorded time in which bytes moved. Micro-batches are the logged value `micro_batches`; else the plain receives
    per step: the first and last stage receive once for each, the stages between twice. Batched calls do not tell.

    Args:
        db: A connection with the tables `kernel`, `operator`, `step`, `collective`, `comm_group_member`, `profile`,
            `metric`.

    Returns:
        One row per profile with receives: profile_id, rank, stage and stage_count (null where no communicator
        of kind `pp` tells), steps, window_ns, receive_ns (receives) and bubble_ns (receives with no compute
        beside them and no bytes moving; both are means per step, or of the whole capture), bubble_ratio (of the
        window), receives_per_step (plain ones), batched_per_step (receives batched with a send), micro_batches
        (per step), micro_batch_source (`metric`, `receives` or null), ideal_ratio and excess_ratio (null here,
        see `combined_bubble`).
    """
    stages = stages_of_profiles(db)
    logged = dict(
        db.execute(
            "select profile_id, median(value) from metric where name = $name group by profile_id",
            {"name": MICRO_BATCH_METRIC},
        ).fetchall()
    )
    calls: dict[int, list[tuple[Any, ...]]] = {}
    for profile_id, *call in db.execute(
        """
        select profile_id, op, ts_ns, ts_ns + dur_ns, transit_ns
        from collective
        where op in (select unnest($receives))
        order by profile_id, ts_ns, collective_id
        """,
        {"receives": list(RECEIVES)},
    ).fetchall():
        calls.setdefault(profile_id, []).append(tuple(call))
    rows = [
        _waits(activity, calls[activity.profile_id], stages.get(activity.profile_id), logged.get(activity.profile_id))
        for activity in activities(db)
        if activity.profile_id in calls
    ]
    return listed(db, rows, _TYPES)


def combined_bubble(db: DuckDBPyConnection, parts: Result) -> Result:
    """Set the measured bubble against the ideal one: (p - 1) / (m + p - 1) with p stages and m micro-batches.

    The micro-batches of the job are the median of what its stages tell.

    Returns:
        The rows of `pipeline_bubble` with micro_batches completed (source `other stages`), ideal_ratio (null while
        stages or micro-batches are not known; for a schedule without interleaving) and excess_ratio = bubble_ratio -
        ideal_ratio; by stage and profile.
    """
    rows = sorted(parts.dicts(), key=lambda row: int(row["profile_id"]))
    told = [row["micro_batches"] for row in rows if row["micro_batches"] is not None]
    for row in rows:
        if row["micro_batches"] is None and told:
            row |= {"micro_batches": median(told), "micro_batch_source": "other stages"}
        if row["micro_batches"] and row["stage_count"]:
            row["ideal_ratio"] = (row["stage_count"] - 1) / (row["micro_batches"] + row["stage_count"] - 1)
            row["excess_ratio"] = row["bubble_ratio"] - row["ideal_ratio"]
    rows.sort(key=lambda row: (-1 if row["stage"] is None else row["stage"], row["profile_id"]))
    return listed(db, rows, _TYPES)


def _waits(
    activity: Activity, calls: list[tuple[Any, ...]], stage: tuple[int, int] | None, logged: float | None
) -> dict[str, Any]:
    windows = activity.windows
    outer = outer_windows(windows)
    low, high = windows.start[outer], windows.end[outer]
    start, end = (np.array([call[at] for call in calls], np.int64) for at in (1, 2))
    received = union(start, end)
    exposed = subtract(*received, *union(*activity.of_kind(COMPUTE)))
    moving = np.array([call[3] or 0 for call in calls], np.int64)
    bubble = sum(
        max(int(length) - int(moving[(start >= first) & (start < last)].sum()), 0)
        for length, first, last in zip(lengths_within(*exposed, low, high), low, high, strict=True)
    )
    count = len(outer)
    window_ns = int((high - low).sum())
    plain = _per_window(start[[call[0] == "receive" for call in calls]], low, high) / count
    batched = _per_window(start[[call[0] != "receive" for call in calls]], low, high) / count
    micro_batches, source = logged, "metric" if logged is not None else None
    if logged is None and stage is not None and plain and not batched and windows.scope[outer[0]] == "step":
        micro_batches, source = plain / (1 if stage[0] in (0, stage[1] - 1) else 2), "receives"
    return {
        "profile_id": activity.profile_id,
        "rank": activity.rank,
        "stage": None if stage is None else stage[0],
        "stage_count": None if stage is None else stage[1],
        "steps": sum(windows.scope[at] == "step" for at in outer),
        "window_ns": window_ns / count,
        "receive_ns": int(lengths_within(*received, low, high).sum()) / count,
        "bubble_ns": bubble / count,
        "bubble_ratio": bubble / window_ns if window_ns else None,
        "receives_per_step": plain,
        "batched_per_step": batched,
        "micro_batches": micro_batches,
        "micro_batch_source": source,
        "ideal_ratio": None,
        "excess_ratio": None,
    }


def _per_window(start: Int64, low: Int64, high: Int64) -> int:
    return sum(int(((start >= first) & (start < last)).sum()) for first, last in zip(low, high, strict=True))


ANALYSIS = Analysis(
    code="A18",
    name="pipeline_bubble",
    title="Pipeline bubble",
    per_profile=pipeline_bubble,
    combine=combined_bubble,
    needs=(Need("kernel"), Need("collective")),
)
