"""R-OP-1 small operators: most kernels are shorter than it takes to start them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ascend_sn.advisor.changes import kernels_fused
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices
from ascend_sn.advisor.rules.host_waits import waits_per_step
from ascend_sn.advisor.small_kernels import SmallKernels, launched_as_graph, small_kernels
from ascend_sn.model.kinds import COMPUTE_KINDS

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Pattern(msgspec.Struct):
    """A row of `fusion_candidates`."""

    pattern: str
    op_types: str
    instances: int
    before_ns: int
    saving_ns: float | None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank that loses most to short kernels."""
    limits = context.limits
    found = [
        (step, small)
        for step in context.device_steps
        if (small := small_kernels(context.facts, step, limits["small_to_ns"], limits["gap_to_ns"])) is not None
        and small.small_ratio > limits["small_above_ratio"]
        and small.step_ns >= limits["time_from_ratio"] * step.window_ns
    ]
    if not found:
        return
    step, small = max(found, key=lambda pair: pair[1].step_ns)
    patterns = context.facts.rows(
        "fusion_candidates",
        _Pattern,
        lambda row: row["profile_id"] == step.profile_id and row["state"] == "candidate",
    )
    patterns.sort(key=lambda row: (row.saving_ns is None, -(row.saving_ns or 0), -row.before_ns, row.op_types))
    best = next(iter(patterns), None)
    fusible = "" if best is None else Message(
        "rule.r-op-1.pattern", {"pattern": best.pattern, "instance_count": best.instances}
    )  # fmt: skip
    yield Claim(
        params={
            "where": where(step, len(context.steps)),
            "small_ratio": small.small_ratio,
            "small_count": round(small.small_per_step),
            "small_to_ns": round(limits["small_to_ns"]),
            "time_ns": small.step_ns,
            "time_ratio": small.step_ns / step.window_ns,
            "fusible": fusible,
        },
        location=place(step, [pattern.pattern for pattern in patterns[:3]]),
        evidence=(
            *figures(
                step,
                "kernel",
                {"small_ratio": small.small_ratio, "small_ns": small.small_ns, "gap_ns": small.gap_ns},
            ),
            *figures(step, "fusion_candidates", {"pattern": None if best is None else best.pattern}),
        ),
        changes=(partial(_fused, facts=context.facts, profile_id=step.profile_id),),
        at_stake_ns=small.step_ns,
        slices=Slices("kernel", f"kind in {COMPUTE_KINDS} and dur_ns <= {round(limits['small_to_ns'])}"),
        suppressed_by=_reason(context, step, small),
    )


def _reason(context: Context, step: MedianStep, small: SmallKernels) -> Message | None:
    limits = context.limits
    in_graphs = launched_as_graph(context.facts, step)
    if in_graphs >= limits["graph_from_ratio"] * small.kernels:
        return Message("suppressed.graph-mode", {"graph_ratio": in_graphs / small.kernels})
    waits = waits_per_step(context, step)
    if waits >= limits["separated_from_ratio"] * small.small_per_step:
        return Message("suppressed.waits-between", {"wait_count": round(waits, 1), "rule": "R-HOST-2"})
    return None


def _fused(graph: StepGraph, *, facts: Facts, profile_id: int) -> Transform | Unpriced:
    from ascend_sn.analysis.kernels.fusion_candidates import fusion_instances

    instances: dict[tuple[str, int], list[int]] = {}
    for row in fusion_instances(facts.run.db).dicts():
        if row["profile_id"] == profile_id:
            instances.setdefault((row["op_types"], row["instance"]), []).append(row["kernel_id"])
    return kernels_fused(graph, profile_id, list(instances.values()))


RULE = Rule("R-OP-1", "small-operators", "compute", "code", check)
