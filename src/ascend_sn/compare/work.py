"""The kernels of the compared steps by operator, shape and module."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.compare.figures import Work

__all__ = ["MAX_ROWS", "work_of"]

MAX_ROWS: Final = 5_000
"""Rows of compute kept by total; what is smaller becomes one row."""

OTHER: Final = "(other)"


def work_of(db: DuckDBPyConnection, work: str) -> list[Work]:
    """Sum kernels by what they are, the largest first.

    Args:
        db: A connection on which the tables of the query are visible.
        work: A query for rows of the analysis `step_work`, or sums of them.
    """
    rows = db.execute(f"""
        with summed as (
            select kind, op, shapes, module, operator, sum(calls)::bigint as calls, sum(total_ns)::bigint as total_ns
            from ({work})
            group by all
        ),
        ranked as (
            select *, kind <> 'compute' or row_number() over (
                partition by kind order by total_ns desc, op, shapes, module, operator
            ) <= {MAX_ROWS} as kept
            from summed
        )
        select kind, op, shapes, module, operator, calls, total_ns from ranked where kept
        union all
        select 'compute', '{OTHER}', null, null, null, sum(calls)::bigint, sum(total_ns)::bigint
        from ranked
        where not kept
        having count(*) > 0
    """).fetchall()
    found = [
        Work(kind=kind, op=op, shapes=shapes, module=module, operator=operator, calls=calls, total_ns=total)
        for kind, op, shapes, module, operator, calls, total in rows
    ]
    return sorted(
        found, key=lambda row: (-row.total_ns, row.op, row.kind, row.shapes or "", row.module or "", row.operator or "")
    )
