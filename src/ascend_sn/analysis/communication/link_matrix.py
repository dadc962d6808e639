"""A15: traffic between pairs of ranks, and which pair, sender or receiver stands out."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.outliers import OUTLIER_Z, modified_z_in_sql
from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "link_matrix", "shared_rank"]

LINKS_AT_LEAST = 4
"""Links of one transport that must exist before one of them can stand out."""


def link_matrix(db: DuckDBPyConnection) -> Result:
    """Sum the traffic of every pair of ranks; rows that name no pair (sums of a whole collective) are left out.

    Args:
        db: A connection with the table `link`.

    Returns:
        profile_id, rank, group_id, src_rank, dst_rank, rank_scope, transport, size_bytes, dur_ns (sum over
        parallel streams).
    """
    return selected(
        db,
        """
        select profile_id, any_value(rank) as rank, group_id, src_rank, dst_rank, rank_scope, transport,
               sum(size_bytes)::bigint as size_bytes, sum(dur_ns)::bigint as dur_ns
        from link
        where src_rank is not null and dst_rank is not null
        group by profile_id, group_id, src_rank, dst_rank, rank_scope, transport
        order by profile_id, group_id, src_rank, dst_rank, transport
    """,
    )


def combined_matrix(db: DuckDBPyConnection, parts: Result) -> Result:
    """Compare each pair's bandwidth with the other pairs of the same transport that carry the same kind of traffic.

    Those are the pairs of all communicators of the same kind (data-parallel, tensor-parallel, ...), since groups of few
    ranks have too few pairs to tell which one is slow; of one whose kind is not known, the pairs of that communicator.

    Returns:
        The rows of `link_matrix` with bandwidth_bytes_per_s (of one stream), usual_bytes_per_s (median of the pairs
        that it is compared with), robust_z (modified z score among them, null with fewer than four), and pattern:
        `sender`, `receiver` or `link` where the pair is slow (z below -3.5), else null. A slow pair is laid to its
        sender when all pairs of that sender (two at least) are slow, to its receiver likewise.
    """
    parts.keep(COMBINED_VIEW)
    return selected(
        db,
        f"""
        with kinds as (
            select group_id, any_value(kind) as kind
            from comm_group_member
            group by group_id
        ),
        rated as (
            select part.*, size_bytes * 1e9 / nullif(dur_ns, 0) as bandwidth_bytes_per_s,
                   coalesce('kind ' || kinds.kind, 'group ' || part.group_id, '') as traffic,
                   case when rank_scope = 'global' then '' else coalesce(part.group_id, '') end as place
            from {COMBINED_VIEW} part
            left join kinds using (group_id)
        ),
        middle as (
            select traffic, transport,
                   median(bandwidth_bytes_per_s) as usual_bytes_per_s, count(bandwidth_bytes_per_s) as peers
            from rated
            group by traffic, transport
        ),
        compared as (
            select rated.*, usual_bytes_per_s, peers
            from rated
            join middle on middle.traffic = rated.traffic and middle.transport is not distinct from rated.transport
        ),
        spread as (
            select traffic, transport, median(abs(bandwidth_bytes_per_s - usual_bytes_per_s)) as deviation
            from compared
            group by traffic, transport
        ),
        scored as (
            select compared.*,
                   case when peers >= {LINKS_AT_LEAST} then
                       {modified_z_in_sql("bandwidth_bytes_per_s", "usual_bytes_per_s", "deviation")}
                   end as robust_z
            from compared
            join spread on spread.traffic = compared.traffic
                       and spread.transport is not distinct from compared.transport
        ),
        judged as (
            select *, coalesce(robust_z < -{OUTLIER_Z}, false) as slow
            from scored
        )
        select * exclude (slow, traffic, place, peers),
               case
                   when not slow then null
                   when bool_and(slow) over sender and count(*) over sender > 1 then 'sender'
                   when bool_and(slow) over receiver and count(*) over receiver > 1 then 'receiver'
                   else 'link'
               end as pattern
        from judged
        window sender as (partition by traffic, place, transport, src_rank),
               receiver as (partition by traffic, place, transport, dst_rank)
        order by profile_id, group_id, src_rank, dst_rank, transport
    """,
    )


def shared_rank(ends: Iterable[Collection[int]]) -> int | None:
    """Return the one rank of the job that takes part in all links; None where none or several do, as with one alone.

    Args:
        ends: The ranks of each link: both, or the one that it is laid to.
    """
    each = [frozenset(ranks) for ranks in ends]
    shared: frozenset[int] = frozenset.intersection(*each) if each else frozenset()
    return next(iter(shared)) if len(shared) == 1 else None


ANALYSIS = Analysis(
    code="A15",
    name="link_matrix",
    title="Links between ranks",
    per_profile=link_matrix,
    combine=combined_matrix,
    needs=(Need("link"),),
)
