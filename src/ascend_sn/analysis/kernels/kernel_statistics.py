"""A09: which kernels take the device's time, by operator type and core."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.model.kinds import COMPUTE_KINDS

__all__ = ["ANALYSIS", "kernel_statistics"]


def kernel_statistics(db: DuckDBPyConnection) -> Result:
    """Count and sum kernels by operator type and core type.

    Durations are summed, so kernels that run at the same time on two streams count twice; busy time is in
    `step_breakdown`. Collectives, copies and waits have their own analyses.

    Args:
        db: A connection with the table `kernel`.

    Returns:
        profile_id, rank, kind (compute or fused), op_type (the kernel's name where the type was not
        collected), core_type, calls, total_ns, mean_ns, p50_ns, p95_ns, min_ns, max_ns, share_ratio (of the
        profile's summed compute time), cumulative_ratio (of this row and all larger ones; "operators for
        80 %"), sorted by profile and total.
    """
    return selected(
        db,
        f"""
        with busy as (
            select profile_id, rank, kind, coalesce(op_type, name, '(unnamed)') as op_type, core_type, dur_ns
            from kernel
            where kind in {COMPUTE_KINDS}
        ),
        summed as (
            select profile_id, any_value(rank) as rank, kind, op_type, core_type,
                   count(*)                               as calls,
                   sum(dur_ns)::bigint                    as total_ns,
                   round(avg(dur_ns))::bigint             as mean_ns,
                   round(quantile_cont(dur_ns, 0.5))::bigint  as p50_ns,
                   round(quantile_cont(dur_ns, 0.95))::bigint as p95_ns,
                   min(dur_ns)                            as min_ns,
                   max(dur_ns)                            as max_ns
            from busy
            group by profile_id, kind, op_type, core_type
        )
        select *,
               total_ns / nullif(sum(total_ns) over (partition by profile_id), 0)::double as share_ratio,
               sum(total_ns) over larger / nullif(sum(total_ns) over (partition by profile_id), 0)::double
                   as cumulative_ratio
        from summed
        window larger as (partition by profile_id order by total_ns desc, op_type, core_type, kind
                          rows between unbounded preceding and current row)
        order by profile_id, total_ns desc, op_type, core_type, kind
    """,
    )


ANALYSIS = Analysis(
    code="A09",
    name="kernel_statistics",
    title="Kernels by type",
    per_profile=kernel_statistics,
    needs=(Need("kernel"),),
)
