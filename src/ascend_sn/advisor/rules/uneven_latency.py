"""R-INF-2 uneven latency: the slowest requests take much longer than the usual one."""

from __future__ import annotations

from collections.abc import Iterator

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.request_facts import requests
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Outcome, Rule, Slices
from ascend_sn.advisor.too_few import too_few_requests

__all__ = ["RULE"]


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim, about the profile whose latency is the least even."""
    limits = context.limits
    served = requests(context.facts)
    uneven = [row for row in served if row.p99_ns > limits["tail_above_ratio"] * row.p50_ns]
    if not uneven:
        most, least = max((row.requests for row in served), default=0), round(limits["requests_from_count"])
        if 0 < most < least:
            yield too_few_requests("inference_latency", most, least)
        return
    worst = max(uneven, key=lambda row: row.p99_ns / max(row.p50_ns, 1))
    few = worst.requests < limits["requests_from_count"]
    saved_ns = max(worst.total_ns - worst.p50_ns, 0)
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "request_count": worst.requests,
            "p50_ns": worst.p50_ns,
            "p99_ns": worst.p99_ns,
            "times": f"{worst.p99_ns / max(worst.p50_ns, 1):.1f}",
            "stage": Message(f"stage.{worst.slow_stage}"),
            "excess_ns": worst.slow_excess_ns,
        },
        slices=Slices("span", "domain = 'request'"),
        location=place(worst),
        evidence=figures(
            worst,
            "inference_latency",
            {"p50_ns": worst.p50_ns, "p99_ns": worst.p99_ns, "first_ns": worst.first_ns, "stage": worst.slow_stage},
        ),
        direct=DirectGain(0, saved_ns, saved_ns, base_ns=worst.total_ns, per="request"),
        at_stake_ns=worst.p99_ns - worst.p50_ns,
        suppressed_by=Message("suppressed.few-requests", {"request_count": worst.requests}) if few else None,
    )


RULE = Rule("R-INF-2", "uneven-latency", "host", "code", check, needs=("inference_latency",))
