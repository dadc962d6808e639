"""R-FREQ-1 low frequency: the cores run below their rated frequency while they compute."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices
from ascend_sn.model.kinds import COMPUTE_KINDS

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Frequency(msgspec.Struct):
    """A row of `frequency`."""

    profile_id: int
    name: str
    rated_mhz: float
    rated_source: str
    busy_mean_mhz: float | None
    low_ns: int
    low_ratio: float | None
    slow_kernels: int
    slow_while_low: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank that computes longest below the rated frequency."""
    steps = {step.profile_id: step for step in context.device_steps}
    low = [
        row
        for row in context.facts.rows("frequency", _Frequency)
        if row.profile_id in steps and (row.low_ratio or 0.0) > context.limits["low_above_ratio"]
    ]
    if low:
        worst = max(low, key=lambda row: (row.low_ratio or 0.0, row.low_ns))
        yield _claim(context, steps[worst.profile_id], worst)


def _claim(context: Context, step: MedianStep, row: _Frequency) -> Claim:
    mean_mhz = row.busy_mean_mhz or row.rated_mhz
    lost_ratio = 1 - mean_mhz / row.rated_mhz
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "mean_mhz": round(mean_mhz),
            "rated_mhz": round(row.rated_mhz),
            "rated": Message("rated.chip" if row.rated_source == "chip" else "rated.highest-sample"),
            "low_ratio": row.low_ratio,
            "slow_count": row.slow_while_low,
        },
        slices=Slices("kernel", f"kind in {COMPUTE_KINDS}"),
        location=place(step),
        evidence=figures(
            step,
            "frequency",
            {
                "busy_mean_mhz": row.busy_mean_mhz,
                "rated_mhz": row.rated_mhz,
                "low_ns": row.low_ns,
                "low_ratio": row.low_ratio,
                "slow_kernels": row.slow_kernels,
                "slow_while_low": row.slow_while_low,
            },
        ),
        changes=(partial(_at_rated, profile_id=row.profile_id, ratio=1 - lost_ratio),),
        at_stake_ns=round(lost_ratio * step.compute_ns),
        confidence="high" if row.rated_source == "chip" else "low",
    )


def _at_rated(graph: StepGraph, *, profile_id: int, ratio: float) -> Transform | Unpriced:
    """Compute scales with the frequency; in the low case half of it is bound by memory and does not."""
    from ascend_sn.replay import Bound, Scale, TimeClass, Transform, Where

    compute = Where(part="device", classes=(TimeClass.COMPUTE,), profile_ids=(profile_id,))
    return Transform.of("W10", (Bound((Scale(compute, factor),)) for factor in ((1 + ratio) / 2, ratio, ratio)))


RULE = Rule("R-FREQ-1", "low-frequency", "compute", "config", check, needs=("frequency",))
