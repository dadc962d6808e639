"""R-MEM-4 steep peak: one operator alone makes the top of the memory peak.

Either one step stands out from the others, or in every step the memory of one operator towers over the rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import Final

import msgspec

from ascend_sn.advisor.device_memory import is_of_device
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Height(msgspec.Struct, kw_only=True):
    """Level of a device's memory within one step: the lowest, and the peak, from its allocation events."""

    profile_id: int
    rank: int | None
    device: str
    step: int | None
    floor_bytes: int
    peak_bytes: int
    peak_ts_ns: int

    @property
    def height_bytes(self) -> int:
        """From floor to peak."""
        return self.peak_bytes - self.floor_bytes


class _Held(msgspec.Struct):
    """How much of what was allocated an operator holds at the peak."""

    held_bytes: int


class _Top(msgspec.Struct, kw_only=True):
    """The operator that holds most of what was allocated in the step at its peak."""

    operator_name: str
    held_bytes: int
    without_bytes: int
    is_forward: bool
    before_backward: bool


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the device with the steepest peak."""
    by_device: dict[tuple[int, str], list[_Height]] = {}
    for height in context.facts.table_rows(_HEIGHTS, _Height):
        if is_of_device(height.device) and height.height_bytes > 0:
            by_device.setdefault((height.profile_id, height.device), []).append(height)
    claims = [claim for heights in by_device.values() if (claim := _steepest(context, heights)) is not None]
    if claims:
        yield max(claims, key=lambda claim: claim.params["saved_bytes"])


def _steepest(context: Context, heights: list[_Height]) -> Claim | None:
    limits = context.limits
    highest = max(heights, key=lambda height: height.peak_bytes)
    peak = {"profile_id": highest.profile_id, "device": highest.device, "peak": highest.peak_ts_ns}
    most = context.facts.table_rows(_MOST, _Held, **peak)
    if not most or most[0].held_bytes < limits["operator_from_ratio"] * highest.height_bytes:
        return None
    tops = context.facts.table_rows(_TOP, _Top, **peak)
    if not tops:
        return None
    top = tops[0]
    usual = median(height.height_bytes for height in heights)
    others = len(heights) >= limits["steps_from_count"]
    stands_out = others and highest.height_bytes > limits["steep_above_ratio"] * usual
    without = max(top.without_bytes - highest.floor_bytes, 1)
    if not stands_out and highest.height_bytes <= limits["steep_above_ratio"] * without:
        return None
    saved = highest.peak_bytes - max(top.without_bytes, highest.floor_bytes)
    expected = top.is_forward and top.before_backward and not stands_out
    return Claim(
        params={
            "rank": "?" if highest.rank is None else highest.rank,
            "step": "?" if highest.step is None else highest.step,
            "operator": top.operator_name,
            "held_bytes": top.held_bytes,
            "height_bytes": highest.height_bytes,
            "held_ratio": top.held_bytes / highest.height_bytes,
            "peak_bytes": highest.peak_bytes,
            "usual_bytes": round(usual),
            "saved_bytes": saved,
        },
        location=place(highest, (top.operator_name,)),
        evidence=figures(
            highest,
            "memory_event",
            {
                "peak_bytes": highest.peak_bytes,
                "floor_bytes": highest.floor_bytes,
                "held_bytes": top.held_bytes,
                "usual_bytes": round(usual) if others else None,
                "peak_without_bytes": top.without_bytes,
            },
        ),
        unpriced=Message("unpriced.memory-only"),
        suppressed_by=Message("suppressed.activations-expected") if expected else None,
        texts={"message": "rule.r-mem-4.message-step"} if stands_out else {},
        in_plan=False,
    )


_LEVELS: Final = """
        select profile_id, rank, coalesce(device, 'device') as device, ts_ns, kind, size_bytes, address, operator_id,
               operator_name,
               coalesce(allocated_bytes,
                        sum(case kind when 'alloc' then size_bytes else -size_bytes end) over (
                            partition by profile_id, device order by ts_ns, kind desc, address
                            rows between unbounded preceding and current row))::bigint as level_bytes
        from memory_event
        where kind in ('alloc', 'free') and size_bytes is not null
"""
_HEIGHTS: Final = f"""
    with levels as ({_LEVELS}),
    windows as (
        select profile_id, step_id, step, ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from step
        where origin <> 'inferred'
        union all
        select distinct profile_id, null, null, -9223372036854775808, 9223372036854775807
        from levels
        where profile_id not in (select profile_id from step where origin <> 'inferred')
    )
    select profile_id, any_value(rank) as rank, device, any_value(step) as step, min(level_bytes) as floor_bytes,
           max(level_bytes) as peak_bytes, arg_max(ts_ns, (level_bytes, -ts_ns)) as peak_ts_ns
    from levels
    join windows using (profile_id)
    where ts_ns >= start_ns and ts_ns < end_ns
    group by profile_id, device, step_id, start_ns
    order by profile_id, device, start_ns
"""
_MOST: Final = """
    with events as (
        select ts_ns, memory_event.kind, size_bytes, address, coalesce(operator_name, operator.name) as operator_name
        from memory_event
        left join (select profile_id, operator_id, name from operator) operator using (profile_id, operator_id)
        where profile_id = $profile_id and coalesce(device, 'device') = $device and ts_ns <= $peak
          and memory_event.kind in ('alloc', 'free') and size_bytes is not null
    ),
    owned as (
        select case kind when 'alloc' then size_bytes else -size_bytes end as change_bytes,
               (last_value(case when kind = 'alloc' then {'name': operator_name} end ignore nulls) over (
                   partition by address order by ts_ns, kind
                   rows between unbounded preceding and current row)).name as owner
        from events
    )
    select sum(change_bytes)::bigint as held_bytes
    from owned
    where owner <> 'unknown'
    group by owner
    order by held_bytes desc
    limit 1
"""
_TOP: Final = f"""
    with levels as (
        select *, {{'name': coalesce(levels.operator_name, operator.name), 'phase': phase}} as asked
        from ({_LEVELS}) levels
        left join (select profile_id, operator_id, name, phase from operator) operator
            using (profile_id, operator_id)
        where profile_id = $profile_id and device = $device
    ),
    owned as (
        select *, last_value(case when kind = 'alloc' then asked end ignore nulls) over (
                      partition by address order by ts_ns, kind
                      rows between unbounded preceding and current row) as owner
        from levels
    ),
    held as (
        select *, coalesce(owner.name, 'unknown') as holder,
               sum(case when owner is null then 0 when kind = 'alloc' then size_bytes else -size_bytes end) over (
                   partition by coalesce(owner.name, 'unknown') order by ts_ns, kind desc
                   rows between unbounded preceding and current row)::bigint as held_bytes
        from owned
    ),
    at_peak as (
        select holder, arg_max(held_bytes, (ts_ns, kind = 'alloc')) as top_bytes,
               arg_max(owner.phase = 'forward', ts_ns) as is_forward
        from held
        where ts_ns <= $peak and holder <> 'unknown'
        group by holder
        order by top_bytes desc, holder
        limit 1
    ),
    curve as (
        select level_bytes - coalesce(
                   last_value(case when held.holder = top.holder then held.held_bytes end ignore nulls)
                       over (order by ts_ns, kind desc, address rows between unbounded preceding and current row),
                   0) as without_bytes
        from held
        cross join at_peak top
    ),
    next_phase as (
        select phase
        from operator
        where profile_id = $profile_id and phase in ('forward', 'backward') and ts_ns > $peak
        order by ts_ns
        limit 1
    )
    select holder as operator_name, top_bytes as held_bytes, coalesce(is_forward, false) as is_forward,
           (select max(without_bytes) from curve) as without_bytes,
           coalesce((select phase from next_phase) = 'backward', false) as before_backward
    from at_peak
    where top_bytes > 0
"""

RULE = Rule("R-MEM-4", "steep-peak", "memory", "code", check, needs=("memory_by_operator",))
