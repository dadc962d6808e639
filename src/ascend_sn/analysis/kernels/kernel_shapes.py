"""A09 by shape: which shapes of an operator type take the device's time."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.model.kinds import COMPUTE_KINDS

__all__ = ["ANALYSIS", "kernel_shapes"]


def kernel_shapes(db: DuckDBPyConnection) -> Result:
    """Count and sum kernels by operator type, core type and the shapes and types of their inputs.

    Args:
        db: A connection with the table `kernel`.

    Returns:
        profile_id, rank, kind (compute or fused), op_type (the kernel's name where the type was not
        collected), core_type, input_shapes, input_dtypes, calls, total_ns, mean_ns, min_ns, max_ns,
        share_ratio (of the profile's summed compute time, kernels without shapes included), sorted by profile
        and total; kernels without shapes have no row.
    """
    return selected(
        db,
        f"""
        with busy as (
            select profile_id, rank, kind, coalesce(op_type, name, '(unnamed)') as op_type, core_type, input_shapes,
                   input_dtypes, dur_ns
            from kernel
            where kind in {COMPUTE_KINDS}
        ),
        whole as (
            select profile_id, sum(dur_ns)::double as compute_ns
            from busy
            group by profile_id
        ),
        summed as (
            select profile_id, any_value(rank) as rank, kind, op_type, core_type, input_shapes, input_dtypes,
                   count(*)                   as calls,
                   sum(dur_ns)::bigint        as total_ns,
                   round(avg(dur_ns))::bigint as mean_ns,
                   min(dur_ns)                as min_ns,
                   max(dur_ns)                as max_ns
            from busy
            where input_shapes is not null
            group by profile_id, kind, op_type, core_type, input_shapes, input_dtypes
        )
        select summed.*, total_ns / nullif(compute_ns, 0) as share_ratio
        from summed
        join whole using (profile_id)
        order by profile_id, total_ns desc, op_type, core_type, input_shapes, input_dtypes
    """,
    )


ANALYSIS = Analysis(
    code="A09",
    name="kernel_shapes",
    title="Kernels by shape",
    per_profile=kernel_shapes,
    needs=(Need("kernel", "input_shapes"),),
)
