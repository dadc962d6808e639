"""The tables of what runs: kernels, operators, modules, copies, launches, requests; and what could be fused."""

from __future__ import annotations

from typing import Final

from ascend_sn.analysis.registry import Need
from ascend_sn.insight.tables.definition import OF_STEP, Filter, PageTable, Slices
from ascend_sn.model.requests import REQUEST_DOMAIN

__all__ = ["OPERATORS"]

_KERNELS_LIKE: Final = (
    Filter("op_type", "text", "coalesce(op_type, name, '(unnamed)') = $op_type"),
    Filter("kind", "text", "kind = $kind"),
    Filter("core_type", "text", "core_type = $core_type"),
    Filter("input_shapes", "text", "input_shapes = $input_shapes"),
    Filter("from_ns", "integer", "ts_ns + dur_ns > $from_ns + origin_ns"),
    Filter("to_ns", "integer", "ts_ns < $to_ns + origin_ns"),
    OF_STEP,
)
_KERNEL_NEEDS: Final = (Need("kernel"),)

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
            "profile_id", "rank", "op_type", "input_shapes", "calls", "total_ns", "share_ratio", "mean_ns", "min_ns",
            "max_ns", "input_dtypes", "kind", "core_type",
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
            "profile_id", "rank", "op_type", "input_shapes", "bound", "utilisation_ratio", "efficiency_ratio",
            "calls", "total_ns", "share_ratio", "mean_ns", "roof_ns", "flops_per_byte", "flops_per_s", "bytes_per_s",
            "mac_ratio", "vec_ratio", "mte2_ratio", "family", "core_type", "input_dtypes", "chip",
            "ridge_flops_per_byte", "peak_flops_per_s",
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
