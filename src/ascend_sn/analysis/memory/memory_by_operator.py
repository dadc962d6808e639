"""A20 by operator: what it still holds at the end, the most it held at once, how often it allocated."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "memory_by_operator"]


def memory_by_operator(db: DuckDBPyConnection) -> Result:
    """Follow every block from its allocation to its free and sum by the operator that allocated it.

    Where a profile has events of an accelerator, those of the host's memory are left out. A free belongs to the latest
    allocation of its address before it. The total of all operators is the curve of `memory_peak`, not the sum of these
    rows: they peak at different moments.

    Args:
        db: A connection with the tables `memory_event` and `operator`.

    Returns:
        profile_id, rank, operator_name, retained_bytes (still allocated at the end of the capture), peak_bytes
        (its largest sum held at once), allocation_count (allocations, freed or not); by profile and peak.
    """
    return selected(
        db,
        """
        with events as (
            select memory_event.profile_id, memory_event.rank, ts_ns, kind, size_bytes, device, address,
                   coalesce(operator_name, operator.name, 'unknown') as operator_name
            from memory_event
            left join (select profile_id, operator_id, name from operator) operator
                using (profile_id, operator_id)
            where kind in ('alloc', 'free')
              and (device is distinct from 'cpu'
                   or profile_id not in (select profile_id from memory_event where device <> 'cpu'))
        ),
        owned as (
            select *, last_value(case when kind = 'alloc' then operator_name end ignore nulls) over (
                          partition by profile_id, device, address order by ts_ns, kind
                          rows between unbounded preceding and current row) as owner
            from events
        ),
        held as (
            select profile_id, rank, ts_ns, kind, owner,
                   case kind when 'alloc' then size_bytes else -size_bytes end as change_bytes
            from owned
            where owner is not null
        ),
        curve as (
            select *, sum(change_bytes) over (
                          partition by profile_id, owner order by ts_ns, kind desc
                          rows between unbounded preceding and current row) as held_bytes
            from held
        )
        select profile_id, any_value(rank) as rank, owner as operator_name,
               sum(change_bytes)::bigint                  as retained_bytes,
               max(held_bytes)::bigint                    as peak_bytes,
               count(*) filter (where kind = 'alloc')     as allocation_count
        from curve
        group by profile_id, owner
        order by profile_id, peak_bytes desc, operator_name
    """,
    )


ANALYSIS = Analysis(
    code="A20",
    name="memory_by_operator",
    title="Memory by operator",
    per_profile=memory_by_operator,
    needs=(Need("memory_event"),),
)
