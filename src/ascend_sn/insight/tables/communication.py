"""The tables of the communication page: primitives, calls and their members, links, pairs and waits of ranks."""

from __future__ import annotations

from typing import Final

from ascend_sn.analysis.registry import Need
from ascend_sn.insight.tables.definition import OF_STEP, Filter, PageTable, Slices
from ascend_sn.model.kinds import UNMATCHED

__all__ = ["COMMUNICATION"]

_PLACED: Final = f"""
    with placed as (
        select parts.*, parts.ts_ns - clock.offset_ns as placed_ns, clock.offset_ns is not null as is_placed,
               clock.error_ns, clock.reason, case when op in {UNMATCHED} then parts.profile_id end as alone
        from {{collective_parts}} parts
        left join (select profile_id, offset_ns, error_ns, reason from {{clock_offsets}}) clock using (profile_id)
        where sequence is not null
    )
"""
"""Numbered calls with their starts on the clock of the reference; those that numbers do not match stand alone."""

COMMUNICATION: Final = (
    PageTable(
        name="primitives",
        analysis="communication_summary",
        columns=(
            "profile_id", "rank", "op", "calls", "total_ns", "mean_ns", "transit_ns", "wait_ns", "idle_ns",
            "unknown_ns", "exposed_ns", "exposed_share_ratio", "share_ratio", "size_bytes",
        ),
        order="total_ns desc, op",
        search=("op",),
        keys=("op",),
        share_of="total_ns",
    ),
    PageTable(
        name="collectives",
        analysis="collective_parts",
        columns=(
            "profile_id", "collective_id", "rank", "op", "name", "group_id", "sequence", "step", "ts_ns", "dur_ns",
            "transit_ns", "wait_ns", "sync_ns", "idle_ns", "size_bytes", "algbw_bytes_per_s", "busbw_bytes_per_s",
            "method",
        ),
        order="dur_ns desc, profile_id, collective_id",
        search=("op", "name", "group_id"),
        filters=(
            Filter("op", "text", "op = $op"),
            Filter("group_id", "text", "group_id = $group_id"),
            Filter("sequence", "integer", "sequence = $sequence"),
            OF_STEP,
        ),
        slices=Slices("collective", "collective_id"),
    ),
    PageTable(
        name="calls",
        is_summed=True,
        uses=("collective_parts", "clock_offsets"),
        sql=f"""
            {_PLACED}
            select group_id, op, sequence, any_value(step) as step, count(*) as members,
                   any_value(members_expected) as members_expected, max(size_bytes) as size_bytes,
                   max(dur_ns) as dur_ns, max(wait_ns) as wait_ns, min(transit_ns) as transit_ns,
                   case when count(*) > 1 and bool_and(is_placed) then arg_max(rank, placed_ns) end as last_rank,
                   case when count(*) > 1 and bool_and(is_placed) then max(placed_ns) - min(placed_ns) end as spread_ns,
                   arg_max(profile_id, dur_ns) as profile_id, arg_max(collective_id, dur_ns) as collective_id
            from placed
            group by group_id, op, sequence, alone
        """,
        needs=(Need("collective", "sequence"),),
        columns=(
            "profile_id", "collective_id", "op", "group_id", "sequence", "step", "members", "members_expected",
            "dur_ns", "spread_ns", "last_rank", "wait_ns", "transit_ns", "size_bytes",
        ),
        order="dur_ns desc, group_id, op, sequence",
        search=("op", "group_id"),
        filters=(Filter("group_id", "text", "group_id = $group_id"),),
        slices=Slices("collective", "collective_id"),
    ),
    PageTable(
        name="call_members",
        is_summed=True,
        uses=("collective_parts", "clock_offsets"),
        sql=f"""
            {_PLACED}
            select *, case when is_placed and alone is null then placed_ns - min(placed_ns) over of_call end as lag_ns,
                   is_placed and count(*) over of_call > 1
                       and placed_ns = max(placed_ns) over of_call
                       and placed_ns > min(placed_ns) over of_call as is_last
            from placed
            window of_call as (partition by group_id, op, sequence, alone)
        """,
        needs=(Need("collective", "sequence"),),
        columns=(
            "profile_id", "collective_id", "rank", "op", "group_id", "sequence", "lag_ns", "error_ns", "dur_ns",
            "wait_ns", "transit_ns", "idle_ns", "is_last", "method", "reason",
        ),
        order="rank nulls last, profile_id",
        filters=(
            Filter("op", "text", "op = $op"),
            Filter("group_id", "text", "group_id = $group_id"),
            Filter("sequence", "integer", "sequence = $sequence"),
        ),
        slices=Slices("collective", "collective_id"),
    ),
    PageTable(
        name="links",
        analysis="link_matrix",
        columns=(
            "rank", "group_id", "src_rank", "dst_rank", "rank_scope", "transport", "size_bytes", "dur_ns",
            "bandwidth_bytes_per_s", "robust_z", "pattern",
        ),
        order="dur_ns desc, src_rank, dst_rank, transport",
        search=("transport", "pattern", "group_id"),
        filters=(
            Filter("src_rank", "integer", "src_rank = $src_rank"),
            Filter("dst_rank", "integer", "dst_rank = $dst_rank"),
            Filter("transport", "text", "transport = $transport"),
        ),
    ),
    PageTable(
        name="rank_pairs",
        analysis="rank_pairs",
        columns=(
            "group_id", "src_rank", "dst_rank", "transports", "size_bytes", "dur_ns", "bandwidth_bytes_per_s",
            "bandwidth_ratio", "bandwidth_reason", "mean_wait_ns", "wait_calls",
        ),
        order="mean_wait_ns desc nulls last, bandwidth_ratio nulls last, src_rank, dst_rank",
        search=("transports", "group_id"),
        filters=(
            Filter("from_rank", "integer", "src_rank >= $from_rank"),
            Filter("to_rank", "integer", "src_rank <= $to_rank"),
        ),
    ),
    PageTable(
        name="stragglers",
        analysis="stragglers",
        columns=(
            "profile_id", "rank", "stage", "own_ns", "peer_own_ns", "robust_z", "slowest_ratio", "last_calls", "calls",
            "last_ratio", "caused_wait_ns", "is_straggler", "cause", "compute_excess_ns", "data_excess_ns",
            "host_excess_ns", "copy_excess_ns",
        ),
        order="is_straggler desc, caused_wait_ns desc nulls last, profile_id",
        search=("cause",),
    ),
    PageTable(
        name="rank_waits",
        analysis="rank_waits",
        columns=("src_rank", "dst_rank", "last_calls", "calls", "wait_ns", "mean_wait_ns"),
        order="wait_ns desc, src_rank, dst_rank",
    ),
    PageTable(
        name="transfers",
        sql="""
            select profile_id, any_value(rank) as rank, name, transport, src_rank, dst_rank, count(*) as calls,
                   sum(dur_ns)::bigint as total_ns, round(avg(dur_ns))::bigint as mean_ns,
                   sum(size_bytes)::bigint as size_bytes, round(avg(size_bytes))::bigint as mean_bytes,
                   nullif(sum(size_bytes), 0) * 1e9 / nullif(sum(dur_ns) filter (where size_bytes is not null), 0)
                       as bandwidth_bytes_per_s
            from comm_task
            group by profile_id, name, transport, src_rank, dst_rank
        """,
        needs=(Need("comm_task"),),
        columns=(
            "profile_id", "rank", "name", "transport", "src_rank", "dst_rank", "calls", "total_ns", "mean_ns",
            "size_bytes", "mean_bytes", "bandwidth_bytes_per_s",
        ),
        order="total_ns desc, name, transport",
        search=("name", "transport"),
    ),
)  # fmt: skip
