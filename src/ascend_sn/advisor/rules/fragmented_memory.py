"""R-MEM-3 fragmented memory: the pool holds memory that is free and cannot be used, and asks the driver again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.allocator_facts import AllocatorTime, allocator_times, calls_removed
from ascend_sn.advisor.device_memory import is_of_device
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, TextPart

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Pool(msgspec.Struct, kw_only=True):
    """A row of `fragmentation`."""

    profile_id: int
    rank: int | None
    component: str
    reserved_bytes: int
    allocated_bytes: int
    unused_bytes: int
    fragmentation_ratio: float
    oom_count: int
    failed_bytes: int | None
    free_bytes: int | None
    largest_free_bytes: int | None
    rounding_bytes: int | None = None

    @property
    def is_proven(self) -> bool:
        """Whether a request failed though so much was free, only not in one piece."""
        return self.failed_bytes is not None and (self.free_bytes or 0) >= self.failed_bytes


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the pool with most unused memory."""
    limits = context.limits
    times = {time.profile_id: time for time in allocator_times(context.facts)}
    pools = [
        pool
        for pool in context.facts.rows("fragmentation", _Pool)
        if is_of_device(pool.component) and pool.fragmentation_ratio >= limits["fragmentation_from_ratio"]
    ]
    pressed = [
        pool
        for pool in pools
        if pool.oom_count or (pool.profile_id in times and times[pool.profile_id].calls_per_step > 0)
    ]
    if not pressed:
        return
    worst = max(pressed, key=lambda pool: (pool.is_proven, pool.unused_bytes))
    time = times.get(worst.profile_id)
    small = worst.unused_bytes < limits["unused_from_bytes"] and not worst.is_proven
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "component": worst.component,
            "reserved_bytes": worst.reserved_bytes,
            "unused_bytes": worst.unused_bytes,
            "fragmentation_ratio": worst.fragmentation_ratio,
            "calls_count": 0 if time is None else round(time.calls_per_step, 1),
            "allocator_ns": 0 if time is None else time.ns_per_step,
            "failed_bytes": worst.failed_bytes or 0,
            "free_bytes": worst.free_bytes or 0,
            "largest_free_bytes": worst.largest_free_bytes or 0,
        },
        location=place(worst),
        evidence=figures(
            worst,
            "fragmentation",
            {
                "fragmentation_ratio": worst.fragmentation_ratio,
                "unused_bytes": worst.unused_bytes,
                "oom_count": worst.oom_count,
                "failed_bytes": worst.failed_bytes,
                "largest_free_bytes": worst.largest_free_bytes,
                "rounding_bytes": worst.rounding_bytes,
            },
        )
        + figures(worst, "allocator_cost", {} if time is None else _figures(time)),
        changes=(_without_calls,) if time is not None and time.ns_per_step else (),
        unpriced=Message("unpriced.memory-only"),
        at_stake_ns=0 if time is None else time.ns_per_step,
        suppressed_by=Message("suppressed.unused-small", {"unused_bytes": worst.unused_bytes}) if small else None,
        texts=_PROVEN if worst.is_proven else {},
    )


def _figures(time: AllocatorTime) -> dict[str, float]:
    return {"allocator_ns": time.ns_per_step, "calls_count": time.calls_per_step}


def _without_calls(graph: StepGraph) -> Transform | Unpriced:
    return calls_removed(graph)


_PROVEN: Final[dict[TextPart, str]] = {"message": "rule.r-mem-3.message-failed"}

RULE = Rule("R-MEM-3", "fragmented-memory", "memory", "config", check, needs=("fragmentation",))
