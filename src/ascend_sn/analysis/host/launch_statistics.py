"""A08: what launching costs: kernels shorter than their launch, long launches, delays."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.model.kinds import BUSY_KINDS

__all__ = ["ANALYSIS", "launch_statistics"]

LONG_LAUNCH_NS: Final = 50_000
"""A launch call beyond this length is long."""


def launch_statistics(db: DuckDBPyConnection) -> Result:
    """Compare kernels with the host calls that launched them, by operator type.

    Args:
        db: A connection with the tables `kernel` and `host_call`.

    Returns:
        profile_id, rank, op_type (the kernel's name where the type was not collected), calls (kernels whose
        launching call is known), short_count (kernels shorter than their launch call), long_count (launch calls
        beyond 50 us), launch_p50_ns, launch_max_ns (each: duration of the launching call), kernel_p50_ns
        (median duration of the kernels), delay_p50_ns, delay_p90_ns, delay_p99_ns, delay_max_ns (each: from the
        start of the call to the start of the kernel; 0 where the kernel is recorded to start earlier),
        early_count (such kernels), total_delay_ns (sum of the delays); sorted by profile and short_count.
    """
    return selected(
        db,
        f"""
        with launched as (
            select kernel.profile_id, kernel.rank, coalesce(op_type, kernel.name) as op_type, kernel.dur_ns,
                   call.dur_ns                             as launch_ns,
                   greatest(kernel.ts_ns - call.ts_ns, 0)  as delay_ns,
                   kernel.ts_ns < call.ts_ns               as early
            from kernel
            join (select profile_id, host_call_id, ts_ns, dur_ns from host_call) call using (profile_id, host_call_id)
            where kernel.kind in {BUSY_KINDS}
        )
        select profile_id, any_value(rank) as rank, op_type,
               count(*)                                             as calls,
               count(*) filter (where dur_ns < launch_ns)           as short_count,
               count(*) filter (where launch_ns > {LONG_LAUNCH_NS}) as long_count,
               round(median(launch_ns))::bigint                     as launch_p50_ns,
               max(launch_ns)                                       as launch_max_ns,
               round(median(dur_ns))::bigint                        as kernel_p50_ns,
               round(quantile_cont(delay_ns, 0.5))::bigint          as delay_p50_ns,
               round(quantile_cont(delay_ns, 0.9))::bigint          as delay_p90_ns,
               round(quantile_cont(delay_ns, 0.99))::bigint         as delay_p99_ns,
               max(delay_ns)                                        as delay_max_ns,
               count(*) filter (where early)                        as early_count,
               sum(delay_ns)::bigint                                as total_delay_ns
        from launched
        group by profile_id, op_type
        order by profile_id, short_count desc, total_delay_ns desc, op_type
    """,
    )


ANALYSIS = Analysis(
    code="A08",
    name="launch_statistics",
    title="Launches",
    per_profile=launch_statistics,
    needs=(Need("kernel"), Need("host_call")),
)
