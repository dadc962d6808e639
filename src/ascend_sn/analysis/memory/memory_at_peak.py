"""A20 at the peak: which operators and modules hold the memory at the moment when most is allocated."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "memory_at_peak"]


def memory_at_peak(db: DuckDBPyConnection) -> Result:
    """Follow every block up to the moment when the blocks of its device are largest together.

    Blocks from before the capture are in no row: who allocated them was not seen. A free belongs to the latest
    allocation of its address before it.

    Args:
        db: A connection with the tables `memory_event` and `operator`.

    Returns:
        profile_id, rank, device, operator_name (`unknown` where not recorded), module, peak_ts_ns (that moment),
        held_bytes (allocated by this operator in this module and not freed until then), block_count (blocks of
        held_bytes), device_bytes (held by all rows of the device), share_ratio = held_bytes / device_bytes; by profile,
        device and size.
    """
    return selected(
        db,
        """
        with events as (
            select memory_event.profile_id, memory_event.rank, ts_ns, kind, size_bytes, coalesce(device, 'device')
                       as device, address,
                   coalesce(operator_name, operator.name, 'unknown') as operator_name, operator.module
            from memory_event
            left join (select profile_id, operator_id, name, module from operator) operator
                using (profile_id, operator_id)
            where kind in ('alloc', 'free')
        ),
        owned as (
            select profile_id, rank, device, ts_ns, kind,
                   case kind when 'alloc' then size_bytes else -size_bytes end as change_bytes,
                   case kind when 'alloc' then 1 else -1 end                   as change_count,
                   last_value(case when kind = 'alloc' then {'name': operator_name, 'module': module} end
                              ignore nulls) over of_address                    as owner
            from events
            window of_address as (partition by profile_id, device, address order by ts_ns, kind
                                  rows between unbounded preceding and current row)
        ),
        curve as (
            select *, sum(change_bytes) over (partition by profile_id, device order by ts_ns, kind desc) as level_bytes
            from owned
            where owner is not null
        ),
        until_peak as (
            select *, arg_max(ts_ns, (level_bytes, -ts_ns)) over (partition by profile_id, device) as peak_ts_ns
            from curve
            qualify ts_ns <= peak_ts_ns
        ),
        held as (
            select profile_id, any_value(rank) as rank, device, owner.name as operator_name, owner.module as module,
                   any_value(peak_ts_ns) as peak_ts_ns, sum(change_bytes) as held_bytes,
                   sum(change_count)     as block_count
            from until_peak
            group by profile_id, device, owner
        )
        select profile_id, rank, device, operator_name, module, peak_ts_ns, held_bytes::bigint as held_bytes,
               block_count::bigint as block_count,
               sum(held_bytes) over of_device::bigint as device_bytes,
               held_bytes / nullif(sum(held_bytes) over of_device, 0)::double as share_ratio
        from held
        where held_bytes > 0
        window of_device as (partition by profile_id, device)
        order by profile_id, device, held_bytes desc, operator_name, module nulls first
    """,
    )


ANALYSIS = Analysis(
    code="A20",
    name="memory_at_peak",
    title="Memory at the peak",
    per_profile=memory_at_peak,
    needs=(Need("memory_event"),),
)
