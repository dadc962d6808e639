"""A15: traffic between pairs of ranks, and which pair, sender or receiver stands out."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "link_matrix"]

OUTLIER_Z = 3.5
"""Modified z score beyond which a bandwidth stands out (Iglewicz and Hoaglin)."""

PEERS_AT_LEAST = 4
"""Links of one transport that must exist before one of them can stand out."""

SPREAD_FLOOR_RATIO = 0.02
"""Smallest deviation, as a share of the median bandwidth, that counts as one unit of spread: with links
that agree within 1 % the median absolute deviation would make noise look like an outlier."""


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
    """Compare each pair's bandwidth with the other pairs of the same transport.

    Returns:
        The rows of `link_matrix` with bandwidth_bytes_per_s (of one stream), robust_z (modified z score among
        pairs of the same group and transport, null with fewer than four), and pattern: `sender`, `receiver`
        or `link` where the pair is slow (z below -3.5), else null. A slow pair is laid to its sender when all
        pairs of that sender (two at least) are slow, to its receiver likewise.
    """
    parts.keep(COMBINED_VIEW)
    return selected(
        db,
        f"""
        with rated as (
            select *, size_bytes * 1e9 / nullif(dur_ns, 0) as bandwidth_bytes_per_s
            from {COMBINED_VIEW}
        ),
        middle as (
            select group_id, transport,
                   median(bandwidth_bytes_per_s) as median_bandwidth, count(bandwidth_bytes_per_s) as peers
            from rated
            group by group_id, transport
        ),
        spread as (
            select rated.group_id, rated.transport,
                   median(abs(bandwidth_bytes_per_s - median_bandwidth)) as deviation
            from rated
            join middle on middle.group_id is not distinct from rated.group_id
                       and middle.transport is not distinct from rated.transport
            group by rated.group_id, rated.transport
        ),
        scored as (
            select rated.*,
                   case when peers >= {PEERS_AT_LEAST} then
                       0.6745 * (bandwidth_bytes_per_s - median_bandwidth)
                       / greatest(deviation, {SPREAD_FLOOR_RATIO} * median_bandwidth)
                   end as robust_z
            from rated
            join middle on middle.group_id is not distinct from rated.group_id
                       and middle.transport is not distinct from rated.transport
            join spread on spread.group_id is not distinct from rated.group_id
                       and spread.transport is not distinct from rated.transport
        ),
        judged as (
            select *, coalesce(robust_z < -{OUTLIER_Z}, false) as slow
            from scored
        )
        select * exclude (slow),
               case
                   when not slow then null
                   when bool_and(slow) over sender and count(*) over sender > 1 then 'sender'
                   when bool_and(slow) over receiver and count(*) over receiver > 1 then 'receiver'
                   else 'link'
               end as pattern
        from judged
        window sender as (partition by group_id, transport, src_rank),
               receiver as (partition by group_id, transport, dst_rank)
        order by profile_id, group_id, src_rank, dst_rank, transport
    """,
    )


ANALYSIS = Analysis(
    code="A15",
    name="link_matrix",
    title="Links between ranks",
    per_profile=link_matrix,
    combine=combined_matrix,
    needs=(Need("link"),),
)
