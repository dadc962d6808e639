"""A17 by pair of ranks: who waits for whom in the collectives, from the members that are present."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.communication.arrivals import ABSENT_RATIO, ARRIVAL_SPREAD_NS
from ascend_sn.analysis.communication.collective_parts import collective_parts, combined_parts
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.model.kinds import UNMATCHED

__all__ = ["ANALYSIS", "combined_waits"]

_PARTS: Final = "waiting_parts"


def combined_waits(db: DuckDBPyConnection, parts: Result) -> Result:
    """Lay the waiting of every member of a collective to the member that came last.

    As in `stragglers`, only calls in which two ranks or more are present and the last one is among them: its own wait
    is at most a tenth of the longest, and the members arrive 10 us apart or more.

    Returns:
        src_rank (who waits), dst_rank (for whom), last_calls (collectives of both in which dst_rank came last), calls
        (collectives of the groups of both), wait_ns (sum over last_calls of what src_rank waits longer than dst_rank),
        mean_wait_ns = wait_ns / calls; by source and destination.
    """
    combined_parts(db, parts).keep(_PARTS)
    return selected(
        db,
        f"""
        with call as (
            select rank, group_id, op, sequence, coalesce(sync_ns, wait_ns) as wait_ns
            from {_PARTS}
            where sequence is not null and rank is not null and op not in {UNMATCHED}
              and coalesce(sync_ns, wait_ns) is not null
        ),
        meeting as (
            select group_id, op, sequence, arg_min(rank, (wait_ns, rank)) as last_rank, min(wait_ns) as shortest_ns
            from call
            group by group_id, op, sequence
            having count(*) > 1 and count(*) = count(distinct rank)
               and max(wait_ns) - min(wait_ns) >= {ARRIVAL_SPREAD_NS}
               and min(wait_ns) <= {ABSENT_RATIO} * max(wait_ns)
        ),
        waited as (
            select call.rank as src_rank, last_rank as dst_rank, count(*) as last_calls,
                   sum(wait_ns - shortest_ns) as wait_ns
            from call
            join meeting using (group_id, op, sequence)
            where call.rank <> last_rank
            group by call.rank, last_rank
        ),
        taken as (
            select rank, group_id, count(*) as calls
            from call
            group by rank, group_id
        ),
        met as (
            select src_rank, dst_rank, sum(least(own.calls, other.calls))::bigint as calls
            from waited
            join taken own on own.rank = src_rank
            join taken other on other.rank = dst_rank and other.group_id is not distinct from own.group_id
            group by src_rank, dst_rank
        )
        select src_rank, dst_rank, last_calls, calls, wait_ns::bigint as wait_ns,
               round(wait_ns / calls)::bigint as mean_wait_ns
        from waited
        join met using (src_rank, dst_rank)
        order by src_rank, dst_rank
    """,
    )


ANALYSIS = Analysis(
    code="A17",
    name="rank_waits",
    title="Who waits for whom",
    per_profile=collective_parts,
    combine=combined_waits,
    needs=(Need("collective"),),
)
