"""R-INF-1 inference copies: a large part of each request's latency is copying in and out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.request_facts import Requests, requests
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Rule, Slices

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the profile whose requests copy the largest share."""
    limits = context.limits
    copying = [row for row in requests(context.facts) if row.copy_ratio >= limits["share_from_ratio"]]
    if not copying:
        return
    worst = max(copying, key=lambda row: row.copy_ratio)
    tiny = worst.inference_ns < limits["inference_from_ns"]
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "request_count": worst.requests,
            "total_ns": worst.total_ns,
            "in_ns": worst.copy_in_ns,
            "out_ns": worst.copy_out_ns,
            "copy_ratio": worst.copy_ratio,
            "inference_ns": worst.inference_ns,
        },
        slices=Slices("kernel", "kind = 'copy'"),
        location=place(worst),
        evidence=figures(
            worst,
            "inference_latency",
            {
                "copy_in_ns": worst.copy_in_ns,
                "copy_out_ns": worst.copy_out_ns,
                "inference_ns": worst.inference_ns,
                "total_ns": worst.total_ns,
            },
        ),
        direct=_direct(worst) if worst.source == "request" else None,
        changes=() if worst.source == "request" else (_pinned,),
        at_stake_ns=worst.copy_in_ns + worst.copy_out_ns,
        suppressed_by=Message("suppressed.tiny-model", {"inference_ns": worst.inference_ns}) if tiny else None,
    )


def _direct(row: Requests) -> DirectGain:
    """Price the copies of a request.

    In the low case nothing runs beside it. In the expected case copies run beside other requests, so that one costs
    what its longest part costs. In the high case nothing is copied.
    """
    copied_ns = row.copy_in_ns + row.copy_out_ns
    longest_ns = max(row.copy_in_ns, row.copy_out_ns, row.total_ns - copied_ns)
    return DirectGain(0, row.total_ns - longest_ns, copied_ns, base_ns=row.total_ns, per="request")


def _pinned(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import copies_pinned

    return copies_pinned(graph)


RULE = Rule("R-INF-1", "inference-copies", "data", "code", check, needs=("inference_latency",))
