"""The kernels of the compared steps by operator, shape and module."""

from __future__ import annotations

from typing import Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import union
from ascend_sn.analysis.activity import COMMUNICATION, COMPUTE, Activity, activities, grouped
from ascend_sn.compare.figures import Work
from ascend_sn.model.rows import Int64

__all__ = ["MAX_ROWS", "has_links_to", "work_of"]

MAX_ROWS: Final = 5_000
"""Rows of compute kept by total; what is smaller becomes one row."""

OTHER: Final = "(other)"


def work_of(db: DuckDBPyConnection, windows: str) -> list[Work]:
    """Sum the kernels that the windows launched, the largest first.

    Args:
        db: A connection with the tables `kernel`, `operator`, `collective`.
        windows: A table of profile_id and step_id; a step_id of null is the whole capture of a profile.
    """
    return sorted([*_compute(db, windows), *_exposed(db, windows)], key=lambda row: (-row.total_ns, row.op))


def has_links_to(db: DuckDBPyConnection, column: str) -> bool:
    """Whether any kernel has `input_shapes`, or a `module` through its operator."""
    if column == "input_shapes":
        query = "select 1 from kernel where input_shapes is not null limit 1"
    else:
        query = "select 1 from kernel join operator using (profile_id, operator_id) where module is not null limit 1"
    return bool(db.execute(query).fetchall())


_OF_WINDOW: Final = """
    kernel.profile_id = compared.profile_id
    and (compared.step_id is null or compared.step_id = kernel.step_id)
"""


def _compute(db: DuckDBPyConnection, windows: str) -> list[Work]:
    rows = db.execute(f"""
        with grouped as (
            select coalesce(kernel.op_type, kernel.name, '(unnamed)') as op, kernel.input_shapes as shapes,
                   operator.module, operator.name as operator, count(*) as calls, sum(kernel.dur_ns)::bigint as total_ns
            from kernel
            join {windows} compared on {_OF_WINDOW}
            left join operator on operator.profile_id = kernel.profile_id
                              and operator.operator_id = kernel.operator_id
            where kernel.kind in ('compute', 'fused')
            group by all
        ),
        ranked as (
            select *, row_number() over (order by total_ns desc, op, shapes, module, operator) <= {MAX_ROWS} as kept
            from grouped
        )
        select op, shapes, module, operator, calls, total_ns from ranked where kept
        union all
        select '{OTHER}', null, null, null, sum(calls)::bigint, sum(total_ns)::bigint
        from ranked
        where not kept
        having count(*) > 0
    """).fetchall()
    return [
        Work(kind="compute", op=op, shapes=shapes, module=module, operator=operator, calls=calls, total_ns=total)
        for op, shapes, module, operator, calls, total in rows
    ]


def _exposed(db: DuckDBPyConnection, windows: str) -> list[Work]:
    """Communication and copies by what they are; of each only the time that nothing hides."""
    hiding = {activity.profile_id: (_Covered(activity, False), _Covered(activity, True)) for activity in activities(db)}
    rows = db.execute(f"""
        select kernel.profile_id, kernel.kind,
               case kernel.kind when 'copy' then coalesce(kernel.copy_direction, 'copy')
                                else coalesce(collective.op, kernel.op_type, kernel.name, '(unnamed)') end as op,
               kernel.ts_ns as start_ns, kernel.ts_ns + kernel.dur_ns as end_ns
        from kernel
        join {windows} compared on {_OF_WINDOW}
        left join collective on collective.profile_id = kernel.profile_id
                            and collective.kernel_id = kernel.kernel_id
        where kernel.kind in ('communication', 'copy')
        order by kernel.profile_id
    """).fetchnumpy()
    totals: dict[tuple[str, str], list[int]] = {}
    kinds, ops = np.asarray(rows["kind"], object), np.asarray(rows["op"], object)
    start, end = np.asarray(rows["start_ns"]), np.asarray(rows["end_ns"])
    for profile_id, part in grouped(rows["profile_id"]).items():
        for kind, covered in zip(("communication", "copy"), hiding[profile_id], strict=True):
            of_kind = np.flatnonzero(kinds[part] == kind) + part.start
            exposed = (end - start)[of_kind] - covered.within(start[of_kind], end[of_kind])
            for op in sorted(set(ops[of_kind].tolist())):
                mine = ops[of_kind] == op
                total = totals.setdefault((kind, op), [0, 0])
                total[0] += int(mine.sum())
                total[1] += int(exposed[mine].sum())
    return [
        Work(
            kind="copy" if kind == "copy" else "communication",
            op=op,
            shapes=None,
            module=None,
            operator=None,
            calls=calls,
            total_ns=total,
        )
        for (kind, op), (calls, total) in totals.items()
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
