"""A20: the memory peak of every component, and who held it."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.memory.memory_curves import ENDS
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "memory_peak"]


def memory_peak(db: DuckDBPyConnection) -> Result:
    """Return the highest allocated, reserved and active memory of each component.

    Curves are taken as recorded (`memory_sample`). Where a profile has only allocation events, the curve
    `device` is the running sum of its events, from an unknown level at the start of the capture taken as 0;
    where the events carry the allocator's own totals, those are used instead. A single sample of a device with events,
    such as the state at the end of a memory snapshot, is no curve: the events of that device say its peak.

    Args:
        db: A connection with the tables `memory_sample` and `memory_event`.

    Returns:
        profile_id, rank, component, peak_allocated_bytes, peak_reserved_bytes, peak_active_bytes (each: highest
        value of the curve; null where not recorded), peak_ts_ns (of the allocated peak, else of the reserved
        one), end_allocated_bytes (the last value of the allocated curve: what is still held), source (curve, totals or
        events), sorted by profile and peak.
    """
    return selected(
        db,
        f"""
        with {ENDS},
        curves as (
            select profile_id, any_value(rank) as rank, component,
                   max(allocated_bytes) as peak_allocated_bytes,
                   max(reserved_bytes)  as peak_reserved_bytes,
                   max(active_bytes)    as peak_active_bytes,
                   coalesce(arg_max(ts_ns, allocated_bytes), arg_max(ts_ns, reserved_bytes)) as peak_ts_ns,
                   arg_max(allocated_bytes, (ts_ns, allocated_bytes)) as end_allocated_bytes,
                   'curve'              as source
            from memory_sample
            group by profile_id, component
        ),
        from_curve as (
            select * from curves where (profile_id, component) not in (select (profile_id, component) from ends)
        ),
        events as (
            select *, case kind when 'alloc' then size_bytes else -size_bytes end as change_bytes,
                   sum(change_bytes) over (
                          partition by profile_id, device order by ts_ns, kind desc
                          rows between unbounded preceding and current row) as running_bytes
            from memory_event
            where kind in ('alloc', 'free')
              and (profile_id not in (select profile_id from curves)
                   or (profile_id, coalesce(device, 'device')) in (select (profile_id, component) from ends))
        ),
        from_events as (
            select profile_id, any_value(rank) as rank, coalesce(device, 'device') as component,
                   coalesce(max(allocated_bytes), max(running_bytes)::bigint) as peak_allocated_bytes,
                   max(reserved_bytes) as peak_reserved_bytes,
                   max(active_bytes)   as peak_active_bytes,
                   arg_max(ts_ns, coalesce(allocated_bytes, running_bytes)) as peak_ts_ns,
                   coalesce(arg_max(allocated_bytes, (ts_ns, kind = 'alloc', allocated_bytes)),
                            sum(change_bytes)::bigint) as end_allocated_bytes,
                   case when max(allocated_bytes) is null then 'events' else 'totals' end as source
            from events
            group by profile_id, device
        )
        select * from from_curve
        union all
        select * from from_events
        order by profile_id, greatest(peak_allocated_bytes, peak_reserved_bytes) desc nulls last, component
    """,
    )


ANALYSIS = Analysis(
    code="A20",
    name="memory_peak",
    title="Memory peak",
    per_profile=memory_peak,
    needs=(Need("memory_sample", alternatives=("memory_event",)),),
)
