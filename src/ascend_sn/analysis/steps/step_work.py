"""A35, first half: the kernels of each step by operator, shape and module, which comparisons match and sum."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import union
from ascend_sn.analysis.activity import COMMUNICATION, COMPUTE, Activity, activities, grouped
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "WORK_OF_STEPS", "step_work", "work_of_steps"]

WORK_OF_STEPS: Final = "work_of_steps"
"""Name of the summary that holds the rows of `step_work` after summing them over the profiles of a batch."""

_EXPOSED: Final = "exposed_work"

_TYPES: Final = {
    "profile_id": "integer",
    "step_id": "integer",
    "kind": "varchar",
    "op": "varchar",
    "calls": "bigint",
    "total_ns": "bigint",
}


def step_work(db: DuckDBPyConnection) -> Result:
    """Sum the kernels that each step launched.

    Args:
        db: A connection with the tables `kernel`, `operator`, `step`, `collective`.

    Returns:
        profile_id, step_id (null for kernels of no step), kind (compute, fused kernels included; communication; copy),
        op (operator type; primitive of a collective; direction of a copy), shapes (of the inputs), module, operator
        (framework operator that launched it; these three for compute only), calls, total_ns (of communication and
        copies only what no compute, of copies nor communication, ran beside); by all of them.
    """
    listed(db, _exposed(db), _TYPES).keep(_EXPOSED)
    return selected(
        db,
        f"""
        select kernel.profile_id, kernel.step_id, 'compute' as kind,
               coalesce(kernel.op_type, kernel.name, '(unnamed)') as op, kernel.input_shapes as shapes,
               operator.module, operator.name as operator, count(*) as calls, sum(kernel.dur_ns)::bigint as total_ns
        from kernel
        left join operator on operator.profile_id = kernel.profile_id
                          and operator.operator_id = kernel.operator_id
        where kernel.kind in {COMPUTE_KINDS}
        group by all
        union all
        select profile_id, step_id, kind, op, null, null, null, calls, total_ns
        from {_EXPOSED}
        order by all
        """,
    )


def work_of_steps(work: str) -> str:
    """Return the query that sums rows of `step_work` over the profiles: session, number, then as there.

    A step of the job has the same session and number on every rank.

    Args:
        work: The table that holds the rows, on a connection with the table `step`.
    """
    return f"""
        select coalesce(step.session, 0) as session, coalesce(step.step, step.step_id) as number,
               kind, op, shapes, module, operator, sum(calls)::bigint as calls, sum(total_ns)::bigint as total_ns
        from {work} work
        join step using (profile_id, step_id)
        group by all
    """


def _exposed(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    """Communication and copies by what they are; of each only the time that nothing hides."""
    hiding = {activity.profile_id: (_Covered(activity, False), _Covered(activity, True)) for activity in activities(db)}
    rows = db.execute("""
        select kernel.profile_id, coalesce(kernel.step_id, -1) as step_id, kernel.kind,
               case kernel.kind when 'copy' then coalesce(kernel.copy_direction, 'copy')
                                else coalesce(collective.op, kernel.op_type, kernel.name, '(unnamed)') end as op,
               kernel.ts_ns as start_ns, kernel.ts_ns + kernel.dur_ns as end_ns
        from kernel
        left join collective on collective.profile_id = kernel.profile_id
                            and collective.kernel_id = kernel.kernel_id
        where kernel.kind in ('communication', 'copy')
        order by kernel.profile_id
    """).fetchnumpy()
    totals: dict[tuple[int, int, str, str], list[int]] = {}
    kinds, ops, steps = (np.asarray(rows[name], object) for name in ("kind", "op", "step_id"))
    start, end = np.asarray(rows["start_ns"]), np.asarray(rows["end_ns"])
    for profile_id, part in grouped(rows["profile_id"]).items():
        for kind, covered in zip(("communication", "copy"), hiding[profile_id], strict=True):
            of_kind = np.flatnonzero(kinds[part] == kind) + part.start
            exposed = (end - start)[of_kind] - covered.within(start[of_kind], end[of_kind])
            for step, op, time in zip(steps[of_kind].tolist(), ops[of_kind].tolist(), exposed.tolist(), strict=True):
                total = totals.setdefault((profile_id, step, kind, op), [0, 0])
                total[0] += 1
                total[1] += time
    return [
        {
            "profile_id": profile_id,
            "step_id": None if step == -1 else step,
            "kind": kind,
            "op": op,
            "calls": calls,
            "total_ns": total,
        }
        for (profile_id, step, kind, op), (calls, total) in totals.items()
    ]


class _Covered:
    """How much of an interval compute covers, or (with `communication`) compute and communication."""

    def __init__(self, activity: Activity, communication: bool) -> None:
        chosen = activity.kind == COMPUTE
        if communication:
            chosen |= activity.kind == COMMUNICATION
        self._start, self._end = union(activity.start[chosen], activity.end[chosen])
        self._before: Int64 = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._end - self._start)])

    def within(self, start: Int64, end: Int64) -> Int64:
        """Return how much of each interval is covered, ns."""
        covered: Int64 = self._until(end) - self._until(start)
        return covered

    def _until(self, moment: Int64) -> Int64:
        """Covered time up to each moment."""
        if not len(self._start):
            return np.zeros(len(moment), np.int64)
        at = np.searchsorted(self._start, moment, side="right") - 1
        inside = np.minimum(moment, self._end[np.maximum(at, 0)]) - self._start[np.maximum(at, 0)]
        covered: Int64 = np.where(at < 0, 0, self._before[np.maximum(at, 0)] + np.maximum(inside, 0))
        return covered


ANALYSIS = Analysis(
    code="A35",
    name="step_work",
    title="Kernels of each step by operator, shape and module",
    per_profile=step_work,
    needs=(Need("kernel"),),
)
