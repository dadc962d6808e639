"""R-MEM-5 allocator in the loop: every step goes to the driver for memory, or empties the cache of the pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.allocator_facts import allocator_times, calls_removed
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.rule import Claim, Context, Lacking, Outcome, Rule

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Call(msgspec.Struct):
    host_call_id: int


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim, about the rank that spends most time there."""
    limits = context.limits
    costly = [
        time
        for time in allocator_times(context.facts)
        if time.ns_per_step >= limits["time_from_ns"] or time.empty_cache_count >= limits["empty_cache_from_count"]
    ]
    if not costly:
        # Garbage collections are recorded where no call of a driver is.
        if not context.facts.table_rows(_A_CALL, _Call):
            yield Lacking("allocator_cost", reason="no runtime calls were recorded")
        return
    worst = costly[0]
    empties = worst.empty_cache_count >= limits["empty_cache_from_count"]
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "allocator_ns": worst.ns_per_step,
            "calls_count": round(worst.calls_per_step, 1),
            "empty_count": round(worst.empty_cache_count, 1),
            "names": ", ".join(worst.names[:3]),
        },
        location=place(worst, worst.names[:3]),
        evidence=figures(
            worst,
            "allocator_cost",
            {
                "ns_per_step": worst.ns_per_step,
                "device_free_ns": worst.device_free_ns,
                "calls_count": worst.calls_per_step,
                "empty_cache_count": worst.empty_cache_count,
            },
        ),
        changes=(_without_calls,),
        at_stake_ns=worst.ns_per_step,
        texts={"message": "rule.r-mem-5.message-empty", "advice": "rule.r-mem-5.advice-empty"} if empties else {},
    )


def _without_calls(graph: StepGraph) -> Transform | Unpriced:
    return calls_removed(graph)


_A_CALL: Final = "select host_call_id from host_call where level is distinct from 'gc' limit 1"

RULE = Rule("R-MEM-5", "allocator-in-loop", "memory", "code", check, needs=("allocator_cost",))
