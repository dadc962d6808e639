"""Time in the driver's allocator per step, and what the step is without it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once, rounded

if TYPE_CHECKING:
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


class _Calls(msgspec.Struct):
    """A row of `allocator_cost`."""

    profile_id: int
    rank: int | None
    name: str
    calls: int
    device_free_ns: int | None
    steps: int
    ns_per_step: float


_EMPTIES: Final = re.compile("empty.*cache", re.IGNORECASE)


@asked_once
def allocator_times(facts: Facts) -> list[AllocatorTime]:
    """Return the profiles that call the driver's allocator within their marked steps, the longest first."""
    by_profile: dict[int, list[_Calls]] = {}
    for row in facts.rows("allocator_cost", _Calls, lambda row: row["steps"] > 0):
        by_profile.setdefault(row.profile_id, []).append(row)
    return sorted(map(_together, by_profile.values()), key=lambda time: (-time.ns_per_step, time.profile_id))


def _together(rows: list[_Calls]) -> AllocatorTime:
    """Sum the calls of one profile, whose names are sorted by their time."""
    steps = rows[0].steps
    free = [row.device_free_ns for row in rows if row.device_free_ns is not None]
    return AllocatorTime(
        profile_id=rows[0].profile_id,
        rank=rows[0].rank,
        steps=steps,
        ns_per_step=rounded(sum(row.ns_per_step for row in rows)),
        device_free_ns=round(sum(free) / steps) if free else None,
        calls_per_step=sum(row.calls for row in rows) / steps,
        empty_cache_count=sum(row.calls for row in rows if _EMPTIES.search(row.name)) / steps,
        names=[row.name for row in rows],
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
