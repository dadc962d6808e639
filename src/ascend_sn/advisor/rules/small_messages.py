"""R-COMM-4 small messages: what a call costs without any bytes is most of the communication."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ascend_sn.advisor.communication_changes import merged
from ascend_sn.advisor.device_memory import device_memory
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Fit(msgspec.Struct, kw_only=True):
    """What is wanted of a row of `alpha_beta`."""

    group_id: str | None
    op: str
    calls: int
    transit_ns: int
    alpha_ns: float
    knee_bytes: float
    small_calls_ratio: float
    small_bytes_ratio: float
    alpha_time_ratio: float


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim per group and operation, the one with most transit first."""
    limits = context.limits
    fits = context.facts.rows("alpha_beta", _Fit, lambda row: row["fitted"])
    for fit in sorted(fits, key=lambda fit: -fit.transit_ns):
        if fit.alpha_time_ratio <= limits["alpha_above_ratio"] or fit.small_bytes_ratio < limits["small_from_ratio"]:
            continue
        yield Claim(
            params={
                "op": fit.op,
                "call_count": fit.calls,
                "alpha_ns": fit.alpha_ns,
                "alpha_ratio": fit.alpha_time_ratio,
                "small_ratio": fit.small_calls_ratio,
                "knee_bytes": fit.knee_bytes,
            },
            location=Location(group_id=fit.group_id, names=(fit.op,)),
            evidence=tuple(
                Evidence(name=name, value=getattr(fit, name), source="alpha_beta")
                for name in ("calls", "transit_ns", "alpha_ns", "knee_bytes", "alpha_time_ratio", "small_bytes_ratio")
            ),
            changes=(merged,),
            suppressed_by=_memory_is_full(context),
        )


def _memory_is_full(context: Context) -> Message | None:
    """Say that bigger buckets may not fit; None where they do, or where nothing is known of the memory."""
    filled = [one.filled_ratio for one in device_memory(context.facts, context.profiles)]
    fullest = max((ratio for ratio in filled if ratio is not None), default=0.0)
    if fullest < context.limits["memory_full_from_ratio"]:
        return None
    return Message("suppressed.buckets-do-not-fit", {"filled_ratio": fullest})


RULE = Rule("R-COMM-4", "small-messages", "communication", "config", check, needs=("alpha_beta",))
