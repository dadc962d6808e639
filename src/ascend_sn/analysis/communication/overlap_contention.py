"""A19: how much communication runs beside compute, and what that costs both."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import union
from ascend_sn.analysis.activity import COMMUNICATION, COMPUTE, activities, grouped
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, keep_columns, listed, selected
from ascend_sn.analysis.steps.step_breakdown import step_breakdown
from ascend_sn.analysis.window_rows import lengths_within
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.rows import Int64

__all__ = ["CONTENTION", "OVERLAP", "communication_overlap", "contention"]

OVERLAPPED_RATIO: Final = 0.5
"""A kernel or call counts as overlapped from this share of its time on; it is alone only without any overlap."""

_OVERLAP_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "step_id": "integer",
    "step": "bigint",
    "scope": "varchar",
    "window_ns": "bigint",
    "communication_ns": "bigint",
    "overlapped_ns": "bigint",
    "exposed_comm_ns": "bigint",
    "overlap_ratio": "double",
}

_TIMED: Final = "timed_work"
_TIMED_TYPES: Final = {
    "profile_id": "integer",
    "is_compute": "boolean",
    "row_id": "bigint",
    "overlapped_ratio": "double",
}


def communication_overlap(db: DuckDBPyConnection) -> Result:
    """Say how much of the communication of each window has compute beside it.

    Args:
        db: A connection with the tables `kernel`, `operator`, `step`, `collective`.

    Returns:
        One row per window with communication, as in `step_breakdown`: profile_id, rank, step_id, step, scope,
        window_ns, communication_ns (union), overlapped_ns, exposed_comm_ns, overlap_ratio = overlapped_ns /
        communication_ns.
    """
    rows = [
        {**window, "overlap_ratio": window["overlapped_ns"] / window["communication_ns"]}
        for window in step_breakdown(db).dicts()
        if window["communication_ns"] > 0
    ]
    return listed(db, rows, _OVERLAP_TYPES)


def contention(db: DuckDBPyConnection) -> Result:
    """Compare equal work with and without the other kind of work beside it.

    Compute kernels of one type, core and shapes: those that run for at least half of their time under a collective
    against those that run without any. Collectives of one operation, group and size with a recorded transit: the
    transit of those with compute beside them for at least half of their time against the transit of those without.

    Args:
        db: A connection with the tables `kernel`, `operator`, `step`, `collective`.

    Returns:
        One row per work that occurs both ways: profile_id, rank, kind (compute or communication), op_type, what
        (shapes; group and size), alone_count (instances without the other kind beside them), overlapped_count
        (instances with it), alone_ns and overlapped_ns (each: median duration of those), slowdown_ratio =
        overlapped_ns / alone_ns, excess_ns (of all overlapped ones over the alone median); sorted by profile,
        kind and excess.
    """
    _keep_timed(db)
    return selected(
        db,
        f"""
        with timed as (
            select timed.profile_id, kernel.rank, 'compute' as kind, coalesce(op_type, name) as op_type,
                   concat_ws(' ', core_type, input_shapes, '->', output_shapes) as what, dur_ns, overlapped_ratio
            from {_TIMED} timed
            join kernel on kernel.profile_id = timed.profile_id and kernel_id = row_id
            where is_compute
            union all
            select timed.profile_id, collective.rank, 'communication', op, concat_ws(' ', group_id, size_bytes),
                   transit_ns, overlapped_ratio
            from {_TIMED} timed
            join collective on collective.profile_id = timed.profile_id and collective_id = row_id
            where not is_compute
        ),
        compared as (
            select profile_id, any_value(rank) as rank, kind, op_type, what,
                   count(*) filter (where overlapped_ratio = 0)                       as alone_count,
                   count(*) filter (where overlapped_ratio >= {OVERLAPPED_RATIO})     as overlapped_count,
                   median(dur_ns) filter (where overlapped_ratio = 0)                 as alone_ns,
                   median(dur_ns) filter (where overlapped_ratio >= {OVERLAPPED_RATIO}) as overlapped_ns,
                   sum(dur_ns) filter (where overlapped_ratio >= {OVERLAPPED_RATIO})  as overlapped_sum_ns
            from timed
            group by profile_id, kind, op_type, what
        )
        select * exclude (overlapped_sum_ns),
               overlapped_ns / nullif(alone_ns, 0)           as slowdown_ratio,
               overlapped_sum_ns - overlapped_count * alone_ns as excess_ns
        from compared
        where alone_count > 0 and overlapped_count > 0
        order by profile_id, kind desc, excess_ns desc, op_type, what
    """,
    )


def _keep_timed(db: DuckDBPyConnection) -> None:
    found = db.execute(f"""
        select profile_id, true as is_compute, kernel_id as row_id, ts_ns, ts_ns + dur_ns as end_ns
        from kernel
        where kind in {COMPUTE_KINDS} and dur_ns > 0
        union all
        select profile_id, false, collective_id, ts_ns, ts_ns + dur_ns
        from collective
        where transit_ns > 0 and dur_ns > 0
        order by profile_id
    """).fetchnumpy()
    beside: dict[int, dict[int, tuple[Int64, Int64]]] = {}
    for activity in activities(db):
        beside[activity.profile_id] = {kind: union(*activity.of_kind(kind)) for kind in (COMPUTE, COMMUNICATION)}
    ratio = np.zeros(len(found["ts_ns"]), np.float64)
    start, end = np.asarray(found["ts_ns"], np.int64), np.asarray(found["end_ns"], np.int64)
    is_compute = np.asarray(found["is_compute"], np.bool_)
    for profile_id, part in grouped(found["profile_id"]).items():
        for other, mine in ((COMMUNICATION, is_compute[part]), (COMPUTE, ~is_compute[part])):
            sets = beside.get(profile_id)
            if sets is None or not bool(mine.any()):
                continue
            at = np.arange(part.start, part.stop)[mine]
            ratio[at] = lengths_within(*sets[other], start[at], end[at]) / (end[at] - start[at])
    columns: dict[str, Any] = {name: found[name] for name in _TIMED_TYPES if name in found}
    keep_columns(db, _TIMED, {**columns, "overlapped_ratio": ratio}, _TIMED_TYPES)


OVERLAP = Analysis(
    code="A19",
    name="communication_overlap",
    title="Communication beside compute",
    per_profile=communication_overlap,
    needs=(Need("kernel"), Need("collective")),
)
CONTENTION = Analysis(
    code="A19",
    name="contention",
    title="Cost of overlap",
    per_profile=contention,
    needs=(Need("kernel"), Need("collective")),
)
