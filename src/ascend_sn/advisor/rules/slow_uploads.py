"""R-DATA-2 slow uploads: copies to the device come from pageable memory, or hold the host until they are done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ascend_sn.advisor.copy_facts import Copies, copies_by_direction
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices
from ascend_sn.advisor.surroundings import surroundings

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank with the largest share of the step."""
    least = context.limits["exposed_from_ratio"]
    found = copies_by_direction(context.facts, least)
    uploads = [copies for copies in found if copies.direction == "h2d" and copies.is_slow]
    if not uploads:
        return
    worst = uploads[0]
    pageable = worst.pageable_ratio >= worst.sync_ratio
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "exposed_ns": worst.per_step(worst.exposed_ns),
            "exposed_ratio": worst.exposed_ratio,
            "slow_ratio": max(worst.pageable_ratio, worst.sync_ratio),
            "how": Message("copy.pageable" if pageable else "copy.synchronous"),
        },
        slices=Slices("kernel", "kind = 'copy' and copy_direction = 'h2d'"),
        location=place(worst),
        evidence=figures(
            worst,
            "copies",
            {
                "exposed_ns": worst.exposed_ns,
                "pageable_ratio": worst.pageable_ratio,
                "sync_ratio": worst.sync_ratio,
                "size_bytes": worst.size_bytes,
                "bandwidth_bytes_per_s": worst.bandwidth_bytes_per_s,
            },
        ),
        changes=(_pinned,),
        at_stake_ns=worst.per_step(worst.exposed_ns),
        suppressed_by=_held_back(context, worst),
    )


def _held_back(context: Context, worst: Copies) -> Message | None:
    limits = context.limits
    if worst.exposed_ratio < limits["exposed_from_ratio"]:
        return Message("suppressed.copies-overlapped", {"exposed_ratio": worst.exposed_ratio})
    left = surroundings(context.facts)[worst.profile_id].host_memory_bytes
    if left is not None and left < limits["host_memory_from_bytes"]:
        return Message("suppressed.host-memory-low", {"free_bytes": left})
    return None


def _pinned(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import copies_pinned

    return copies_pinned(graph)


RULE = Rule("R-DATA-2", "slow-uploads", "data", "config", check, needs=("copies",))
