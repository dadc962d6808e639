"""A03: where each step goes: compute, exposed communication, exposed copies, free."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import sweep_windows, union_length
from ascend_sn.analysis.activity import COMMUNICATION, COMPUTE, COPY, NO_STEP, Activity, activities
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, worked_out_once
from ascend_sn.analysis.window_rows import WINDOW_TYPES, window_identity
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "step_breakdown"]

_TYPES: Final = {
    **WINDOW_TYPES,
    "origin": "varchar",
    "ts_ns": "bigint",
    "window_ns": "bigint",
    "compute_ns": "bigint",
    "overlapped_ns": "bigint",
    "communication_ns": "bigint",
    "exposed_comm_ns": "bigint",
    "exposed_copy_ns": "bigint",
    "free_ns": "bigint",
    "fused_ns": "bigint",
    "preparing_ns": "bigint",
    "stage_ns": "bigint",
    "tail_ns": "bigint",
    "bubble_ns": "bigint",
    "stage_compute_ns": "bigint",
    "stage_overlapped_ns": "bigint",
    "stage_communication_ns": "bigint",
    "stage_exposed_comm_ns": "bigint",
    "stage_free_ns": "bigint",
}


def step_breakdown(db: DuckDBPyConnection) -> Result:
    """Divide every step of every profile by a sweep over its device intervals.

    Args:
        db: A connection with the tables `kernel`, `operator`, `step`, `collective`.

    Returns:
        One row per step (or for the whole capture, where nothing marks steps): profile_id, rank, step_id,
        step, scope ('step' or 'whole capture'), origin, ts_ns, window_ns (wall time between the marks), and
        of it compute_ns (its overlapped part included), exposed_comm_ns, exposed_copy_ns, free_ns, which sum
        to window_ns exactly; overlapped_ns (communication under compute), communication_ns = exposed +
        overlapped, fused_ns (compute done by fused compute-and-communication kernels).

        For parity with the profiler's own step trace: preparing_ns (step start to the first kernel it
        launched), stage_ns (first kernel start to last kernel end of the step, without bubble_ns), bubble_ns
        (receives), tail_ns (last kernel end to step end, 0 when the device ends later), and the same classes
        inside the stage: stage_compute_ns, stage_communication_ns, stage_overlapped_ns, stage_exposed_comm_ns
        (each: as without `stage_`, from first kernel start to last kernel end), stage_free_ns (the rest of the
        stage; copies count as free there, as the exporters do it). Null where the step launched no kernel.
        Sorted by profile and time.
    """
    return listed(db, _rows(db), _TYPES)


@worked_out_once
def _rows(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    bubbles = _receives(db)
    return [row for activity in activities(db) for row in _breakdown(activity, bubbles)]


def _breakdown(activity: Activity, bubbles: dict[tuple[int, int], int]) -> list[dict[str, Any]]:
    windows = activity.windows
    swept = sweep_windows(activity.start, activity.end, activity.kind, 3, windows.start, windows.end)
    masks = np.arange(8)
    compute = swept[:, (masks & 1 << COMPUTE) > 0].sum(axis=1)
    both = swept[:, (masks & 3) == 3].sum(axis=1)
    exposed = swept[:, (masks & 3) == 1 << COMMUNICATION].sum(axis=1)
    copies = swept[:, 1 << COPY]
    launched = _launched(activity)
    rows = []
    for at in range(len(windows)):
        start, end = int(windows.start[at]), int(windows.end[at])
        step_id = int(windows.step_id[at])
        rows.append(
            {
                **window_identity(activity, at),
                "origin": windows.origin[at],
                "ts_ns": start,
                "window_ns": end - start,
                "compute_ns": int(compute[at]),
                "overlapped_ns": int(both[at]),
                "communication_ns": int(exposed[at] + both[at]),
                "exposed_comm_ns": int(exposed[at]),
                "exposed_copy_ns": int(copies[at]),
                "free_ns": int(swept[at, 0]),
                "fused_ns": _fused(activity, start, end),
                **_stage(activity, launched.get(step_id), step_id, start, end, bubbles),
            }
        )
    return rows


def _fused(activity: Activity, start: int, end: int) -> int:
    fused = activity.fused
    if not bool(fused.any()):
        return 0
    return union_length(activity.start[fused].clip(start, end), activity.end[fused].clip(start, end))


def _launched(activity: Activity) -> dict[int, Int64]:
    """Positions of what each step launched, copies left out; those of the whole capture under NO_STEP."""
    work = np.flatnonzero(activity.kind != COPY)
    by_step = work[np.argsort(activity.step_id[work], kind="stable")]
    steps, first = np.unique(activity.step_id[by_step], return_index=True)
    launched = dict(zip(steps.tolist(), np.split(by_step, first[1:]), strict=True)) if len(steps) else {}
    return {**launched, NO_STEP: work} if len(work) else launched


def _stage(
    activity: Activity, chosen: Int64 | None, step_id: int, start: int, end: int, bubbles: dict[tuple[int, int], int]
) -> dict[str, int | None]:
    """The profiler's own view: only what the step launched, from its first kernel to its last."""
    if chosen is None:
        return dict.fromkeys(name for name in _TYPES if name.startswith(("preparing", "stage", "tail", "bubble")))
    first, last = int(activity.start[chosen].min()), int(activity.end[chosen].max())
    (swept,) = sweep_windows(
        activity.start[chosen],
        activity.end[chosen],
        activity.kind[chosen],
        2,
        np.array([first]),
        np.array([last]),
    )
    bubble = bubbles.get((activity.profile_id, step_id), 0)
    return {
        "preparing_ns": None if step_id == NO_STEP else max(0, first - start),
        "stage_ns": last - first - bubble,
        "tail_ns": None if step_id == NO_STEP else max(0, end - last),
        "bubble_ns": bubble,
        "stage_compute_ns": int(swept[1] + swept[3]),
        "stage_overlapped_ns": int(swept[3]),
        "stage_communication_ns": int(swept[2] + swept[3]),
        "stage_exposed_comm_ns": int(swept[2]),
        "stage_free_ns": int(swept[0]),
    }


def _receives(db: DuckDBPyConnection) -> dict[tuple[int, int], int]:
    """Sum of the receives of each step, and of the whole capture under NO_STEP: the exporters' bubble."""
    found = db.execute("""
        select collective.profile_id, coalesce(kernel.step_id, -1) as step_id, sum(collective.dur_ns)::bigint
        from collective
        left join kernel using (profile_id, kernel_id)
        where collective.op = 'receive'
        group by grouping sets ((collective.profile_id, coalesce(kernel.step_id, -1)), (collective.profile_id))
    """).fetchall()
    bubbles: dict[tuple[int, int], int] = {}
    for profile_id, step_id, total in found:
        key = (profile_id, NO_STEP if step_id is None else step_id)
        bubbles[key] = max(bubbles.get(key, 0), total)
    return bubbles


ANALYSIS = Analysis(
    code="A03",
    name="step_breakdown",
    title="Step breakdown",
    per_profile=step_breakdown,
    needs=(Need("kernel"),),
)
