"""R-OPT-1 unfused optimizer: the update of the weights is many small kernels."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ascend_sn.advisor.changes import optimizer_fused
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import WHOLE_CAPTURE, MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.optimizer_kernels import OptimizerKernels, optimizer_kernels
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices

__all__ = ["RULE"]


class _Optimizer(msgspec.Struct):
    """Kernels that the optimizer phase of a profile launched, in its steps."""

    kernels: int
    kernel_ns: int


class _Share(msgspec.Struct):
    share_ratio: float | None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank whose optimizer phase is longest."""
    limits = context.limits
    phases = {row.profile_id: row.optimizer_ns for row in context.phases}
    long = [
        (step, phases[step.profile_id])
        for step in context.steps
        # A framework on the host has fused optimizers, too; ranges that a program names are no kernels.
        if step.device_kind != "host"
        and step.window_ns > 0
        and step.profile_id in phases
        and phases[step.profile_id] >= limits["phase_from_ratio"] * step.window_ns
    ]
    if not long:
        return
    kernels = optimizer_kernels(context.facts)
    found = [
        (step, own, phase_ns)
        for step, phase_ns in long
        if (own := _in_steps(step, kernels.get(step.profile_id, []))).kernels
        > limits["kernels_above_count"] * step.step_count
    ]
    if not found:
        return
    step, own, phase_ns = max(found, key=lambda one: one[2])
    yield Claim(
        params={
            "where": where(step, len(context.steps)),
            "kernel_count": round(own.kernels / step.step_count),
            "phase_ns": phase_ns,
            "phase_ratio": phase_ns / step.window_ns,
        },
        slices=Slices("operator", "phase = 'optimizer'"),
        location=place(step),
        evidence=(
            *figures(step, "kernel", {"optimizer_kernels": own.kernels, "optimizer_kernel_ns": own.kernel_ns}),
            *figures(step, "step_phases", {"optimizer_ns": phase_ns}),
        ),
        changes=(optimizer_fused,),
        at_stake_ns=phase_ns,
        suppressed_by=Message("suppressed.told-by", {"rule": "R-OP-2"}) if _is_named(context, step) else None,
    )


def _in_steps(step: MedianStep, kernels: list[OptimizerKernels]) -> _Optimizer:
    """The kernels within the steps of a profile; all of them where no step is marked."""
    if step.scope == WHOLE_CAPTURE:
        return _Optimizer(sum(row.calls for row in kernels), sum(row.total_ns for row in kernels))
    return _Optimizer(sum(row.step_calls for row in kernels), sum(row.step_ns for row in kernels))


def _is_named(context: Context, step: MedianStep) -> bool:
    """Whether R-OP-2 names the fused call for this optimizer."""
    rows = context.facts.rows(
        "affinity_matches",
        _Share,
        lambda row: row["profile_id"] == step.profile_id and row["api"].startswith("torch_npu.optim."),
    )
    share = max((row.share_ratio or 0.0 for row in rows), default=0.0)
    return share * step.compute_ns >= context.limits["named_from_ratio"] * step.window_ns and share > 0


RULE = Rule("R-OPT-1", "unfused-optimizer", "compute", "code", check, needs=("step_phases",))
