"""A17 by pair of ranks: who waits for whom in the collectives, from the members that are present."""

from __future__ import annotations

from duckdb import DuckDBPyConnection, DuckDBPyRelation

from ascend_sn.analysis.collective_parts import collective_parts, completed_parts
from ascend_sn.analysis.registry import Analysis, Need

__all__ = ["ANALYSIS", "combined_waits"]


def combined_waits(db: DuckDBPyConnection) -> DuckDBPyRelation:
    """Lay the waiting of every member of a collective to the member that came last.

    Only collectives of two ranks or more in which every member is present, so that the last one is known (method
    `members` of `collective_parts`, or recorded parts of all).

    Returns:
        src_rank (who waits), dst_rank (for whom), last_calls (collectives of both in which dst_rank came last), calls
        (collectives of both), wait_ns (sum over last_calls), mean_wait_ns (wait_ns / calls); by source and destination.
    """
    parts = completed_parts(db)  # noqa: F841 - DuckDB finds it by the variable's name
    return db.sql("""
        with call as (
            select rank, group_id, op, sequence, coalesce(sync_ns, wait_ns) as wait_ns
            from parts
            where sequence is not null and rank is not null and op not in ('send', 'receive')
              and coalesce(sync_ns, wait_ns) is not null
              and members_exact and members_present = members_expected
            window meeting as (partition by group_id, op, sequence)
            qualify count(*) over meeting = members_expected and members_expected > 1
                and count(distinct rank) over meeting = members_expected
        ),
        last_of as (
            select group_id, op, sequence, arg_min(rank, (wait_ns, rank)) as last_rank
            from call
            group by group_id, op, sequence
        ),
        waited as (
            select call.rank as src_rank, last_rank as dst_rank, count(*) as last_calls, sum(wait_ns) as wait_ns
            from call
            join last_of using (group_id, op, sequence)
            where call.rank <> last_rank
            group by call.rank, last_rank
        ),
        met as (
            select one.rank as src_rank, other.rank as dst_rank, count(*) as calls
            from call one
            join call other using (group_id, op, sequence)
            where one.rank <> other.rank
            group by one.rank, other.rank
        )
        select src_rank, dst_rank, last_calls, calls, wait_ns::bigint as wait_ns,
               round(wait_ns / calls)::bigint as mean_wait_ns
        from waited
        join met using (src_rank, dst_rank)
        order by src_rank, dst_rank
    """)


ANALYSIS = Analysis(
    code="A17",
    name="rank_waits",
    title="Who waits for whom",
    per_profile=collective_parts,
    combine=combined_waits,
    needs=(Need("collective"),),
)
