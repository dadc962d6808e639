"""A09 on the host: framework operators with the device time they launched (GPUTime, HostTime, Calls, ...)."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.model.kinds import HOST_KINDS, OWN_WORK_KINDS

__all__ = ["ANALYSIS", "operator_statistics"]


def operator_statistics(db: DuckDBPyConnection) -> Result:
    """Sum framework operators by name.

    Args:
        db: A connection with the tables `operator`, `kernel` and `profile`.

    Returns:
        profile_id, rank, name, calls, device_ns (kernels that this operator launched itself, not through an
        operator inside it; collectives and waits left out), host_ns (its own host time, without children; where the
        host itself is the device, without the time that counts as device_ns),
        mean_device_ns (per call), kernel_count, input_bytes, output_bytes (null where not collected),
        share_ratio (of the device time of all operators), sorted by profile, device time and host time.
        device_ns is null where the profile has no kernel with a link to an operator.
    """
    return selected(
        db,
        f"""
        with launched as (
            select profile_id, operator_id, sum(dur_ns)::bigint as device_ns, count(*) as kernel_count
            from kernel
            where operator_id is not null and kind in {OWN_WORK_KINDS}
            group by profile_id, operator_id
        ),
        linked as (
            select distinct profile_id, true as has_links
            from launched
        ),
        summed as (
            select operator.profile_id, any_value(operator.rank) as rank,
                   coalesce(operator.name, '(unnamed)')         as name,
                   count(*)                                     as calls,
                   case when any_value(has_links) then coalesce(sum(device_ns), 0)::bigint end as device_ns,
                   sum(case when device_kind in {HOST_KINDS} then greatest(self_ns - coalesce(device_ns, 0), 0)
                            else self_ns end)::bigint           as host_ns,
                   case when any_value(has_links) then coalesce(sum(kernel_count), 0)::bigint end as kernel_count,
                   sum(operator.input_bytes)::bigint            as input_bytes,
                   sum(operator.output_bytes)::bigint           as output_bytes
            from operator
            left join launched using (profile_id, operator_id)
            left join linked using (profile_id)
            left join (select profile_id, device_kind from profile) profile using (profile_id)
            group by operator.profile_id, coalesce(operator.name, '(unnamed)')
        )
        select profile_id, rank, name, calls, device_ns, host_ns,
               round(device_ns / calls)::bigint as mean_device_ns,
               kernel_count, input_bytes, output_bytes,
               device_ns / nullif(sum(device_ns) over (partition by profile_id), 0)::double as share_ratio
        from summed
        order by profile_id, device_ns desc nulls last, host_ns desc, name
    """,
    )


ANALYSIS = Analysis(
    code="A09",
    name="operator_statistics",
    title="Operators",
    per_profile=operator_statistics,
    needs=(Need("operator"),),
)
