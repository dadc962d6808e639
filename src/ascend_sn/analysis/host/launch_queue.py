"""A07: do the devices wait for the host? Length of the launch queues, and free time with nothing launched."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import gaps, subtract, union
from ascend_sn.analysis.activity import Activity, activities
from ascend_sn.analysis.host.launches import Launches, launches
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.window_rows import WINDOW_TYPES, lengths_within, window_identity
from ascend_sn.model.rows import Bool, Int64

__all__ = ["HOST_BOUND", "QUEUE", "host_bound", "launch_queue"]

HOST_BOUND_RATIO: Final = 0.4
"""A window is host bound when its device had nothing launched for more than this share of its free time."""

_QUEUE_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "device_id": "integer",
    "stream": "varchar",
    "kernels": "bigint",
    "launched": "bigint",
    "span_ns": "bigint",
    "max_length": "bigint",
    "mean_length": "double",
    "empty_ratio": "double",
}

_BOUND_TYPES: Final = {
    **WINDOW_TYPES,
    "window_ns": "bigint",
    "free_ns": "bigint",
    "starved_ns": "bigint",
    "starved_ratio": "double",
    "launch_known_ratio": "double",
    "host_bound": "boolean",
}


def launch_queue(db: DuckDBPyConnection) -> Result:
    """Follow the queue of each stream: one more when a kernel is asked for, one less when it starts.

    A kernel enters with the start of the host call that launched it (of its operator, where only that is known); one
    that is recorded to start earlier passes through at once. Kernels without a known launch are left out.

    Args:
        db: A connection with the tables `kernel`, `host_call`, `operator`, `step`.

    Returns:
        One row per stream with a known launch: profile_id, rank, device_id, stream, kernels, launched (those
        with a known launch), span_ns (first asking to last start), max_length (most kernels asked for and not
        started at once), mean_length (over the span), empty_ratio (share of the span with nothing queued); by
        profile and stream.
    """
    launched = launches(db)
    rows: list[dict[str, Any]] = []
    for activity in activities(db):
        rows.extend(_queues(activity, launched[activity.profile_id]))
    return listed(db, rows, _QUEUE_TYPES)


def host_bound(db: DuckDBPyConnection) -> Result:
    """Tell how much of each window's free time the device had nothing in any queue.

    Args:
        db: A connection with the tables `kernel`, `host_call`, `operator`, `step`.

    Returns:
        One row per window of a profile with a known launch: profile_id, rank, step_id, step, scope, window_ns, free_ns
        (as in `step_breakdown`), starved_ns (free, and nothing asked for that had not started), starved_ratio =
        starved_ns / free_ns, launch_known_ratio (share of the profile's kernels whose launch is known), host_bound
        (starved_ratio above 40 %).
    """
    launched = launches(db)
    rows: list[dict[str, Any]] = []
    for activity in activities(db):
        rows.extend(_bounds(activity, launched[activity.profile_id]))
    return listed(db, rows, _BOUND_TYPES)


def _asked(activity: Activity, launched: Launches) -> tuple[Int64, Bool]:
    first, _, known = launched.asked()
    first = np.where(launched.has_call, launched.call_start, first)
    return np.minimum(first, activity.start), known


def _queues(activity: Activity, launched: Launches) -> list[dict[str, Any]]:
    asked, known = _asked(activity, launched)
    rows = []
    for lane, (device, stream) in enumerate(launched.lanes):
        of_lane = launched.lane == lane
        chosen = of_lane & known
        if not bool(chosen.any()):
            continue
        rows.append(
            {
                "profile_id": activity.profile_id,
                "rank": activity.rank,
                "device_id": device,
                "stream": stream,
                "kernels": int(of_lane.sum()),
                "launched": int(chosen.sum()),
                **_lengths(asked[chosen], activity.start[chosen]),
            }
        )
    return sorted(rows, key=lambda row: (row["device_id"] is None, row["device_id"], row["stream"] or ""))


def _lengths(asked: Int64, started: Int64) -> dict[str, Any]:
    moment = np.concatenate([asked, started])
    change = np.concatenate([np.ones(len(asked), np.int64), np.full(len(started), -1, np.int64)])
    # At the same moment the one that starts leaves first: the queue is what waits, not what passes through.
    order = np.lexsort((change, moment))
    moment, length = moment[order], np.maximum(np.cumsum(change[order]), 0)
    lasting = np.diff(moment)
    span = int(lasting.sum())
    waited = int((started - asked).sum())
    empty = int(lasting[length[:-1] == 0].sum())
    return {
        "span_ns": span,
        "max_length": int(length.max()) if waited else 0,
        "mean_length": waited / span if span else 0.0,
        "empty_ratio": empty / span if span else 1.0,
    }


def _bounds(activity: Activity, launched: Launches) -> list[dict[str, Any]]:
    asked, known = _asked(activity, launched)
    windows = activity.windows
    if not bool(known.any()) or not len(windows):
        return []
    free = gaps(activity.start, activity.end, int(windows.start.min()), int(windows.end.max()))
    starved = subtract(*free, *union(asked[known], activity.start[known]))
    free_ns = lengths_within(*free, windows.start, windows.end)
    starved_ns = lengths_within(*starved, windows.start, windows.end)
    known_ratio = float(known.mean())
    rows = []
    for at in range(len(windows)):
        share = int(starved_ns[at]) / int(free_ns[at]) if free_ns[at] else 0.0
        rows.append(
            {
                **window_identity(activity, at),
                "window_ns": int(windows.end[at] - windows.start[at]),
                "free_ns": int(free_ns[at]),
                "starved_ns": int(starved_ns[at]),
                "starved_ratio": share,
                "launch_known_ratio": known_ratio,
                "host_bound": share > HOST_BOUND_RATIO,
            }
        )
    return rows


QUEUE = Analysis(
    code="A07", name="launch_queue", title="Launch queues", per_profile=launch_queue, needs=(Need("kernel"),)
)
HOST_BOUND = Analysis(
    code="A07", name="host_bound", title="Free time without a launch", per_profile=host_bound, needs=(Need("kernel"),)
)
