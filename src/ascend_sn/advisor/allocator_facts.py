"""Time in the driver's allocator per step, and what the step is without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["AllocatorTime", "allocator_times", "calls_removed"]


class AllocatorTime(msgspec.Struct, kw_only=True):
    """What one profile spends in the driver's allocator, per step (per capture where no steps are marked).

    `names` are the calls, the longest first; `empty_cache_count` counts those that give the pool's memory back.
    """

    profile_id: int
    rank: int | None
    steps: int
    ns_per_step: int
    device_free_ns: int | None
    calls_per_step: float
    empty_cache_count: float
    names: list[str]


def allocator_times(facts: Facts) -> list[AllocatorTime]:
    """Return the profiles that call the driver's allocator within their marked steps, the longest first."""
    return facts.query(
        "allocator_cost",
        """
        select profile_id, any_value(rank) as rank, max(steps) as steps,
               round(sum(ns_per_step))::bigint                                as ns_per_step,
               (sum(device_free_ns) / greatest(max(steps), 1))::bigint        as device_free_ns,
               (sum(calls) / greatest(max(steps), 1))::double                 as calls_per_step,
               (coalesce(sum(calls) filter (where name ilike '%empty%cache%'), 0) / greatest(max(steps), 1))::double
                                                                              as empty_cache_count,
               list(name order by total_ns desc, name)                        as names
        from result
        where steps > 0
        group by profile_id
        order by ns_per_step desc, profile_id
        """,
        AllocatorTime,
    )


def calls_removed(graph: StepGraph) -> Transform | Unpriced:
    """No calls of the driver's allocator in the step; in the low case every second one is still needed."""
    import numpy as np

    from ascend_sn.replay import Bound, Remark, Scale, TimeClass, Transform, Unpriced, Where

    nodes = np.flatnonzero(Where(part="host", classes=(TimeClass.ALLOCATOR,)).mask(graph))
    if not len(nodes):
        return Unpriced(Remark("replay.no-allocator-calls"))
    gone = Bound((Scale(nodes, 0.0),))
    return Transform("remove", Bound((Scale(nodes, 0.5),)), gone, gone)
