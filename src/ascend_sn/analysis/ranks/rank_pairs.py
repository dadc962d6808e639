"""A15 by pair of ranks: how well the links between them are used, and how long one waits for the other."""

from __future__ import annotations

from typing import Any, Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.kernels.chips import chip_of
from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected

__all__ = ["ANALYSIS", "combined_pairs", "rank_pairs"]

_WAITS: Final = "notify_wait"
"""Name of the tasks in which a rank waits for another, in lower case."""

_SPEEDS: Final = "speed_of_link"
_SPEED_TYPES: Final = {"profile_id": "integer", "transport": "varchar", "peak_bytes_per_s": "double"}


def rank_pairs(db: DuckDBPyConnection) -> Result:
    """List what each profile recorded of its pairs: traffic by transport, and waiting tasks.

    Args:
        db: A connection with the tables `link`, `comm_task`, `collective`, `profile`.

    Returns:
        profile_id, rank, group_id, src_rank, dst_rank, rank_scope, transport (null for waiting), size_bytes, dur_ns,
        peak_bytes_per_s (of one stream and direction, from the table of chips; null where the chip or the transport is
        not in it), chip_is_known, wait_ns and wait_calls (collectives with such tasks; both null for traffic); pairs of
        two different ranks only.
    """
    listed(db, _speeds(db), _SPEED_TYPES).keep(_SPEEDS)
    return selected(
        db,
        f"""
        with traffic as (
            select profile_id, any_value(rank) as rank, group_id, src_rank, dst_rank, rank_scope, transport,
                   sum(size_bytes)::bigint as size_bytes, sum(dur_ns)::bigint as dur_ns
            from link
            where src_rank <> dst_rank
            group by profile_id, group_id, src_rank, dst_rank, rank_scope, transport
        ),
        waiting as (
            select comm_task.profile_id, any_value(comm_task.rank) as rank, group_id, src_rank, dst_rank,
                   sum(comm_task.dur_ns)::bigint as wait_ns, count(distinct collective_id) as wait_calls
            from comm_task
            join collective using (profile_id, collective_id)
            where lower(replace(comm_task.name, ' ', '_')) = '{_WAITS}' and src_rank <> dst_rank
            group by comm_task.profile_id, group_id, src_rank, dst_rank
        )
        select profile_id, rank, group_id, src_rank, dst_rank, rank_scope, transport, size_bytes, dur_ns,
               peak_bytes_per_s, profile_id in (select profile_id from {_SPEEDS}) as chip_is_known,
               null::bigint as wait_ns, null::bigint as wait_calls
        from traffic
        left join {_SPEEDS} using (profile_id, transport)
        union all
        select profile_id, rank, group_id, src_rank, dst_rank, 'group', null, null, null, null, null, wait_ns,
               wait_calls
        from waiting
        order by profile_id, group_id, src_rank, dst_rank, transport nulls last, rank_scope
    """,
    )


def combined_pairs(db: DuckDBPyConnection, parts: Result) -> Result:
    """Sum the pairs over groups, transports and the profiles that saw them.

    Places inside a group become ranks of the job where all members of the group are known. A link that is used all of
    the time at its peak has the ratio 1: bandwidth_ratio = (sum of bytes / peak of their transport) / sum of the
    transfer times.

    Returns:
        group_id (null where src_rank and dst_rank are ranks of the job), src_rank, dst_rank, size_bytes and dur_ns
        (transfers; null where none was recorded), transports (their names, the one with most bytes first),
        bandwidth_bytes_per_s (of one stream), bandwidth_ratio (null where a peak is not known), bandwidth_reason
        (`no-transfers`, `chip-unknown` or `link-unknown`; null where there is a ratio), mean_wait_ns (waiting of the
        source for the destination, per collective; null where no such task was recorded), wait_calls (collectives with
        such tasks); by group, source and destination.
    """
    parts.keep(COMBINED_VIEW)
    return selected(
        db,
        f"""
        with member as (
            select group_id, group_rank, max(member_rank) as member_rank
            from comm_group_member
            group by group_id, group_rank
        ),
        known as (
            select group_id
            from member
            group by group_id
            having count(*) = count(member_rank) and count(*) = max(group_rank) + 1
        ),
        named as (
            select pair.* replace (
                       case when pair.rank_scope = 'global' or known.group_id is not null then null
                            else pair.group_id end as group_id,
                       case when pair.rank_scope = 'global' or known.group_id is null then pair.src_rank
                            else source.member_rank end as src_rank,
                       case when pair.rank_scope = 'global' or known.group_id is null then pair.dst_rank
                            else target.member_rank end as dst_rank
                   )
            from {COMBINED_VIEW} pair
            left join known on known.group_id = pair.group_id
            left join member source on source.group_id = pair.group_id and source.group_rank = pair.src_rank
            left join member target on target.group_id = pair.group_id and target.group_rank = pair.dst_rank
        ),
        by_transport as (
            select group_id, src_rank, dst_rank, transport, sum(size_bytes) as size_bytes, sum(dur_ns) as dur_ns,
                   sum(case when dur_ns > 0 then size_bytes * 1e9 / peak_bytes_per_s end) as ideal_ns,
                   bool_or(dur_ns > 0 and peak_bytes_per_s is null) as lacks_peak,
                   bool_and(chip_is_known) as chip_is_known,
                   sum(wait_ns) as wait_ns, sum(wait_calls) as wait_calls
            from named
            group by group_id, src_rank, dst_rank, transport
        ),
        summed as (
            select group_id, src_rank, dst_rank,
                   sum(size_bytes)::bigint as size_bytes, sum(dur_ns)::bigint as dur_ns,
                   string_agg(transport, ',' order by size_bytes desc nulls last, transport) as transports,
                   sum(ideal_ns) as ideal_ns, coalesce(bool_or(lacks_peak), false) as lacks_peak,
                   coalesce(bool_and(chip_is_known), false) as chip_is_known,
                   sum(wait_ns) as wait_ns, sum(wait_calls)::bigint as wait_calls
            from by_transport
            group by group_id, src_rank, dst_rank
        )
        select group_id, src_rank, dst_rank, size_bytes, dur_ns, transports,
               size_bytes * 1e9 / nullif(dur_ns, 0) as bandwidth_bytes_per_s,
               case when not lacks_peak then ideal_ns / nullif(dur_ns, 0) end as bandwidth_ratio,
               case
                   when coalesce(dur_ns, 0) = 0 then 'no-transfers'
                   when not lacks_peak then null
                   when chip_is_known then 'link-unknown'
                   else 'chip-unknown'
               end as bandwidth_reason,
               round(wait_ns / nullif(wait_calls, 0))::bigint as mean_wait_ns,
               wait_calls
        from summed
        order by group_id nulls first, src_rank, dst_rank
    """,
    )


def _speeds(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    """Peak of every transport of every profile's chip."""
    rows = []
    profiles = db.execute("select profile_id, device_name from profile order by profile_id").fetchall()
    for profile_id, device_name in profiles:
        chip = chip_of(device_name)
        for transport, peak in (chip.links if chip is not None else {}).items():
            rows.append({"profile_id": profile_id, "transport": transport, "peak_bytes_per_s": peak})
    return rows


ANALYSIS = Analysis(
    code="A15",
    name="rank_pairs",
    title="Pairs of ranks",
    per_profile=rank_pairs,
    combine=combined_pairs,
    needs=(Need("link", "src_rank", alternatives=("comm_task.dst_rank",)),),
)
