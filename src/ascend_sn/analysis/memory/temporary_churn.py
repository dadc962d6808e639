"""A24: blocks that are freed almost at once, by operator."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "temporary_churn"]

OTHERS_AT_MOST: Final = 1
"""Other allocations on the device between a block's allocation and its free, up to which it is temporary."""


def temporary_churn(db: DuckDBPyConnection) -> Result:
    """Sum the blocks that live for at most one other allocation, by the operator that asked for them.

    A free belongs to the latest allocation of its address.

    Args:
        db: A connection with the tables `memory_event` and `operator`.

    Returns:
        profile_id, rank, operator_name, allocation_count (all blocks), churn_count (temporary blocks),
        churn_bytes (their sum), churn_ratio = churn_count / allocation_count, mean_life_ns (of the temporary
        ones); for operators with temporary blocks, by profile and churn_bytes.
    """
    return selected(
        db,
        f"""
        with events as (
            select profile_id, rank, kind, size_bytes, device, address, ts_ns, operator_id, operator_name,
                   sum((kind = 'alloc')::integer) over (
                       partition by profile_id, device order by ts_ns, kind desc, address
                       rows between unbounded preceding and current row) as allocations_before
            from memory_event
            where kind in ('alloc', 'free')
        ),
        blocks as (
            select events.*, lead(kind) over block as next_kind, lead(ts_ns) over block as next_ns,
                   lead(allocations_before) over block as allocations_then
            from events
            window block as (partition by profile_id, device, address order by ts_ns, kind desc)
        ),
        named as (
            select blocks.profile_id, blocks.rank, size_bytes, next_ns - blocks.ts_ns as life_ns,
                   coalesce(operator_name, operator.name, 'unknown') as operator_name,
                   coalesce(next_kind = 'free' and address is not null
                            and allocations_then - allocations_before <= {OTHERS_AT_MOST}, false) as temporary
            from blocks
            left join (select profile_id, operator_id, name from operator) operator using (profile_id, operator_id)
            where kind = 'alloc'
        )
        select profile_id, any_value(rank) as rank, operator_name,
               count(*)                                         as allocation_count,
               count(*) filter (where temporary)                as churn_count,
               (sum(size_bytes) filter (where temporary))::bigint as churn_bytes,
               churn_count / allocation_count::double           as churn_ratio,
               round(avg(life_ns) filter (where temporary))::bigint as mean_life_ns
        from named
        group by profile_id, operator_name
        having churn_count > 0
        order by profile_id, churn_bytes desc, operator_name
    """,
    )


ANALYSIS = Analysis(
    code="A24",
    name="temporary_churn",
    title="Short-lived memory blocks",
    per_profile=temporary_churn,
    needs=(Need("memory_event", "address"),),
)
