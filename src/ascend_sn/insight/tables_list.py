"""The tables of the page, by page."""

from __future__ import annotations

from typing import Final

from ascend_sn.analysis.registry import Need
from ascend_sn.insight.memory_tables import GRAPHS, MEMORY
from ascend_sn.insight.tables import Filter, PageTable, Slices
from ascend_sn.model.requests import REQUEST_DOMAIN

__all__ = ["BY_NAME", "PAGE_TABLES"]

_STEP: Final = Filter("step_id", "integer", "step_id = $step_id")
_KERNELS_LIKE: Final = (
    Filter("op_type", "text", "coalesce(op_type, name, '(unnamed)') = $op_type"),
    Filter("kind", "text", "kind = $kind"),
    Filter("core_type", "text", "core_type = $core_type"),
    Filter("input_shapes", "text", "input_shapes = $input_shapes"),
    Filter("from_ns", "integer", "ts_ns + dur_ns > $from_ns + origin_ns"),
    Filter("to_ns", "integer", "ts_ns < $to_ns + origin_ns"),
    _STEP,
)
_KERNEL_NEEDS: Final = (Need("kernel"),)

OVERVIEW: Final = (
    PageTable(
        name="steps",
        analysis="step_breakdown",
        columns=(
            "profile_id", "rank", "step_id", "step", "scope", "origin", "ts_ns", "window_ns", "compute_ns",
            "overlapped_ns", "exposed_comm_ns", "exposed_copy_ns", "free_ns", "bubble_ns",
        ),
        order="profile_id, ts_ns",
        slices=Slices("step", "step_id"),
    ),
    PageTable(
        name="free_time_causes",
        analysis="free_time_causes",
        columns=("profile_id", "rank", "step", "scope", "cause", "cause_ns", "free_ns"),
        order="cause_ns desc, profile_id",
        search=("cause",),
    ),
    PageTable(
        name="mfu",
        sql="select * from {mfu} where coalesce(counted_flops, model_flops, hfu_ratio, mfu_ratio) is not null",
        uses=("mfu",),
        needs=(Need("kernel", "input_shapes", alternatives=("operator.input_shapes",)),),
        columns=(
            "profile_id", "rank", "chip", "dtype", "steps", "window_ns", "peak_flops_per_s", "counted_flops",
            "hfu_ratio", "model_flops", "mfu_ratio",
        ),
        order="profile_id nulls last",
    ),
    PageTable(
        name="parallel_groups",
        is_summed=True,
        sql="""
            select group_id, any_value(kind) as kind, max(group_size) as group_size,
                   bool_and(size_is_exact) as size_is_exact,
                   string_agg(distinct member_rank::varchar, ', ' order by member_rank::varchar) as member_ranks
            from comm_group_member
            group by group_id
        """,
        needs=(Need("comm_group_member"),),
        columns=("group_id", "kind", "group_size", "size_is_exact", "member_ranks"),
        order="kind nulls last, group_id",
        search=("group_id", "kind", "member_ranks"),
    ),
    PageTable(
        name="rank_map",
        is_summed=True,
        uses=("step_breakdown",),
        sql="""
            with spent as (
                select profile_id, any_value(rank) as rank, count(step_id) as step_count,
                       arg_max(step_id, window_ns) as step_id, round(avg(window_ns))::bigint as window_ns,
                       round(avg(compute_ns))::bigint as compute_ns,
                       round(avg(exposed_comm_ns))::bigint as exposed_comm_ns,
                       round(avg(free_ns))::bigint as free_ns
                from {step_breakdown}
                group by profile_id
            ),
            place as (
                select member.profile_id, kind, arg_max(group_id, (group_size, group_id)) as group_id,
                       arg_max(group_rank, (group_size, group_id)) as group_rank
                from comm_group_member member
                join profile using (profile_id)
                where member_rank = profile.rank and group_rank is not null and group_size > 1
                group by member.profile_id, kind
            )
            select spent.*, tp.group_rank as tp_place, pp.group_rank as pp_place, dp.group_rank as dp_place,
                   cp.group_rank as cp_place, ep.group_rank as ep_place, tp.group_id as tp_group,
                   pp.group_id as pp_group, dp.group_id as dp_group, cp.group_id as cp_group, ep.group_id as ep_group
            from spent
            left join (from place where kind = 'tp') tp using (profile_id)
            left join (from place where kind = 'pp') pp using (profile_id)
            left join (from place where kind = 'dp') dp using (profile_id)
            left join (from place where kind = 'cp') cp using (profile_id)
            left join (from place where kind = 'ep') ep using (profile_id)
        """,
        columns=(
            "profile_id", "rank", "step_id", "pp_place", "dp_place", "cp_place", "tp_place", "ep_place", "step_count",
            "window_ns", "compute_ns", "exposed_comm_ns", "free_ns", "pp_group", "dp_group", "cp_group", "tp_group",
            "ep_group",
        ),
        order="rank nulls last, profile_id",
        search=("pp_group", "dp_group", "cp_group", "tp_group", "ep_group"),
        slices=Slices("step", "step_id"),
    ),
)  # fmt: skip

OPERATORS: Final = (
    PageTable(
        name="kernel_types",
        analysis="kernel_statistics",
        columns=(
            "profile_id", "rank", "op_type", "kind", "core_type", "calls", "total_ns", "share_ratio", "mean_ns",
            "p50_ns", "p95_ns", "min_ns", "max_ns",
        ),
        order="total_ns desc, op_type, core_type",
        search=("op_type", "core_type"),
        keys=("op_type", "kind", "core_type"),
        share_of="total_ns",
    ),
    PageTable(
        name="shapes",
        analysis="kernel_shapes",
        columns=(
            "profile_id", "rank", "op_type", "kind", "core_type", "input_shapes", "input_dtypes", "calls", "total_ns",
            "share_ratio", "mean_ns", "min_ns", "max_ns",
        ),
        order="total_ns desc, op_type, input_shapes",
        search=("op_type", "core_type", "input_shapes", "input_dtypes"),
        keys=("op_type", "kind", "core_type", "input_shapes", "input_dtypes"),
        share_of="total_ns",
    ),
    PageTable(
        name="operators",
        analysis="operator_statistics",
        columns=(
            "profile_id", "rank", "name", "calls", "device_ns", "share_ratio", "host_ns", "mean_device_ns",
            "kernel_count", "input_bytes", "output_bytes",
        ),
        order="device_ns desc nulls last, host_ns desc, name",
        search=("name",),
        keys=("name",),
        share_of="device_ns",
    ),
    PageTable(
        name="kernels",
        sql="""
            select kernel.*, block_count as core_count, step.step
            from kernel
            left join (select profile_id, step_id, step from step) step using (profile_id, step_id)
        """,
        is_kept=False,
        needs=_KERNEL_NEEDS,
        columns=(
            "profile_id", "kernel_id", "rank", "name", "op_type", "kind", "core_type", "stream", "step", "ts_ns",
            "dur_ns", "wait_ns", "core_count", "input_shapes", "input_dtypes", "output_shapes", "size_bytes",
        ),
        order="dur_ns desc, profile_id, kernel_id",
        search=("name", "op_type", "core_type", "input_shapes"),
        filters=_KERNELS_LIKE,
        slices=Slices("kernel", "kernel_id"),
    ),
    PageTable(
        name="slow_instances",
        analysis="slow_instances",
        columns=(
            "profile_id", "kernel_id", "rank", "op_type", "step", "ts_ns", "dur_ns", "median_ns", "excess_ns",
            "robust_z", "cohort_count", "input_shapes",
        ),
        order="excess_ns desc, profile_id, kernel_id",
        search=("op_type", "input_shapes"),
        slices=Slices("kernel", "kernel_id"),
    ),
    PageTable(
        name="fusion",
        sql="select *, pattern as stands_for from {fusion_candidates}",
        uses=("fusion_candidates",),
        columns=(
            "profile_id", "example_kernel_id", "rank", "state", "op_types", "stands_for", "length", "instances",
            "before_ns", "after_ns", "saving_ns", "saving_ratio", "share_ratio", "is_estimate", "fusion_ratio",
        ),
        order="saving_ns desc nulls last, before_ns desc nulls last, profile_id, op_types",
        search=("stands_for", "op_types"),
        slices=Slices("kernel", "example_kernel_id"),
    ),
    PageTable(
        name="roofline",
        analysis="roofline",
        columns=(
            "profile_id", "rank", "op_type", "family", "core_type", "bound", "utilisation_ratio", "efficiency_ratio",
            "calls", "total_ns", "share_ratio", "mean_ns", "roof_ns", "flops_per_byte", "flops_per_s", "bytes_per_s",
            "mac_ratio", "vec_ratio", "mte2_ratio", "input_shapes", "input_dtypes", "chip", "ridge_flops_per_byte",
            "peak_flops_per_s",
        ),
        order="total_ns desc, op_type, input_shapes",
        search=("op_type", "family", "bound", "input_shapes"),
    ),
    PageTable(
        name="copies",
        analysis="copies",
        columns=(
            "profile_id", "rank", "direction", "host_memory", "calls", "total_ns", "mean_ns", "exposed_ns",
            "overlapped_ns", "size_bytes", "bandwidth_bytes_per_s",
        ),
        order="total_ns desc, direction",
        search=("direction", "host_memory"),
    ),
    PageTable(
        name="host_calls",
        sql="""
            select profile_id, any_value(rank) as rank, level, name, count(*) as calls,
                   sum(dur_ns)::bigint as total_ns, round(avg(dur_ns))::bigint as mean_ns,
                   min(dur_ns) as min_ns, max(dur_ns) as max_ns
            from host_call
            group by profile_id, level, name
        """,
        needs=(Need("host_call"),),
        columns=("profile_id", "rank", "level", "name", "calls", "total_ns", "mean_ns", "min_ns", "max_ns"),
        order="total_ns desc, name",
        search=("level", "name"),
        keys=("level", "name"),
        share_of="total_ns",
    ),
    PageTable(
        name="launches",
        analysis="launch_statistics",
        columns=(
            "profile_id", "rank", "op_type", "calls", "launch_p50_ns", "launch_max_ns", "kernel_p50_ns", "delay_p50_ns",
            "delay_p90_ns", "delay_max_ns", "total_delay_ns", "short_count", "long_count", "early_count",
        ),
        order="total_delay_ns desc, op_type",
        search=("op_type",),
    ),
    PageTable(
        name="requests",
        sql=f"""
            select profile_id, span_id, profile.rank as rank, span.name as name, span.kind as kind, thread, ts_ns,
                   dur_ns
            from span
            left join (select profile_id, rank from profile) profile using (profile_id)
            where span.domain = '{REQUEST_DOMAIN}'
        """,
        needs=(Need("span"),),
        columns=("profile_id", "span_id", "rank", "name", "kind", "thread", "ts_ns", "dur_ns"),
        order="profile_id, ts_ns, span_id",
        search=("name", "kind"),
        slices=Slices("span", "span_id"),
    ),
    PageTable(
        name="request_stages",
        analysis="inference_latency",
        columns=(
            "profile_id", "rank", "stage", "source", "requests", "mean_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns",
            "max_ns", "share_ratio", "first_ns", "steady_mean_ns",
        ),
        order="profile_id, mean_ns desc, stage",
    ),
    PageTable(
        name="modules",
        analysis="module_tree",
        columns=(
            "profile_id", "rank", "phase", "path", "depth", "operators", "host_ns", "host_self_ns", "device_ns",
            "device_self_ns", "share_ratio", "kernels", "flops", "allocated_bytes",
        ),
        order="device_ns desc nulls last, host_ns desc, phase, path",
        search=("phase", "path"),
    ),
)  # fmt: skip

_PLACED: Final = """
    with placed as (
        select parts.*, parts.ts_ns - clock.offset_ns as placed_ns, clock.offset_ns is not null as is_placed,
               clock.error_ns, clock.reason
        from {collective_parts} parts
        left join (select profile_id, offset_ns, error_ns, reason from {clock_offsets}) clock using (profile_id)
        where sequence is not null
    )
"""
"""Numbered calls with their starts on the clock of the reference."""

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
            _STEP,
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
            group by group_id, op, sequence
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
            select *, case when is_placed then placed_ns - min(placed_ns) over of_call end as lag_ns,
                   is_placed and count(*) over of_call > 1
                       and placed_ns = max(placed_ns) over of_call
                       and placed_ns > min(placed_ns) over of_call as is_last
            from placed
            window of_call as (partition by group_id, op, sequence)
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
                   sum(size_bytes) * 1e9 / nullif(sum(dur_ns) filter (where size_bytes is not null), 0)
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

HEALTH: Final = (
    PageTable(
        name="damage",
        is_summed=True,
        sql="select * from damage",
        columns=("profile_id", "rank", "file", "place", "kind", "severity", "count", "example"),
        order="severity, profile_id, file, kind",
        search=("file", "kind", "example"),
        filters=(Filter("severity", "text", "severity = $severity"),),
    ),
    PageTable(
        name="coverage",
        is_summed=True,
        sql="select * from coverage",
        columns=("profile_id", "rank", "table_name", "column_name", "state", "reason", "turn_on"),
        order="state = 'collected', state, table_name, column_name nulls first, profile_id",
        search=("table_name", "column_name", "state", "reason", "turn_on"),
        filters=(Filter("state", "text", "state = $state"),),
    ),
    PageTable(
        name="profiles",
        is_summed=True,
        sql="""
            select profile.*, coalesce(steps.row_count, 0) as step_count, coalesce(kernels.row_count, 0) as task_count
            from profile
            left join (from page_row_count where table_name = 'step') steps using (profile_id)
            left join (from page_row_count where table_name = 'kernel') kernels using (profile_id)
        """,
        columns=(
            "profile_id", "rank", "host", "pid", "device_kind", "device_id", "device_name", "format", "source",
            "world_size", "step_count", "task_count",
        ),
        order="profile_id",
        search=("host", "device_name", "format", "source"),
    ),
    PageTable(
        name="clocks",
        analysis="clock_offsets",
        columns=("profile_id", "rank", "offset_ns", "error_ns", "calls", "method", "reason"),
        order="profile_id",
    ),
    PageTable(
        name="checks",
        analysis="data_quality",
        columns=("profile_id", "rank", "check", "violations", "checked", "ratio"),
        order="violations desc, profile_id",
        search=("check",),
    ),
)  # fmt: skip

PAGE_TABLES: Final = (*OVERVIEW, *OPERATORS, *COMMUNICATION, *MEMORY, *GRAPHS, *HEALTH)
BY_NAME: Final = {table.name: table for table in PAGE_TABLES}
