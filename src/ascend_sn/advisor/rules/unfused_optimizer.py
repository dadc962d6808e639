"""R-OPT-1 unfused optimizer: the update of the weights is many small kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.changes import optimizer_fused
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Optimizer(msgspec.Struct):
    """Kernels that the optimizer phase of a profile launched, in its steps."""

    profile_id: int
    kernels: int
    kernel_ns: int


class _Share(msgspec.Struct):
    share_ratio: float | None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank whose optimizer phase is longest."""
    limits = context.limits
    kernels = {row.profile_id: row for row in context.facts.table_rows(_KERNELS, _Optimizer)}
    phases = {row.profile_id: row.optimizer_ns for row in context.phases}
    found = [
        (step, kernels[step.profile_id], phases[step.profile_id])
        for step in context.steps
        # A framework on the host has fused optimizers, too; ranges that a program names are no kernels.
        if step.device_kind != "host"
        and step.window_ns > 0
        and step.profile_id in kernels
        and step.profile_id in phases
        and kernels[step.profile_id].kernels > limits["kernels_above_count"] * step.step_count
        and phases[step.profile_id] >= limits["phase_from_ratio"] * step.window_ns
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
        location=place(step),
        evidence=(
            *figures(step, "kernel", {"optimizer_kernels": own.kernels, "optimizer_kernel_ns": own.kernel_ns}),
            *figures(step, "step_phases", {"optimizer_ns": phase_ns}),
        ),
        changes=(optimizer_fused,),
        at_stake_ns=phase_ns,
        suppressed_by=Message("suppressed.told-by", {"rule": "R-OP-2"}) if _is_named(context, step) else None,
    )


def _is_named(context: Context, step: MedianStep) -> bool:
    """Whether R-OP-2 names the fused call for this optimizer."""
    rows = context.facts.query("affinity_matches", _NAMED, _Share, profile_id=step.profile_id)
    share = (rows[0].share_ratio if rows else None) or 0.0
    return share * step.compute_ns >= context.limits["named_from_ratio"] * step.window_ns and share > 0


_KERNELS: Final = """
    select kernel.profile_id, count(*) as kernels, sum(kernel.dur_ns)::bigint as kernel_ns
    from kernel
    join (select profile_id, operator_id, phase from operator) operator using (profile_id, operator_id)
    where operator.phase = 'optimizer' and kernel.kind in ('compute', 'fused')
      and (kernel.step_id is not null
           or kernel.profile_id not in (select profile_id from step where origin <> 'inferred'))
    group by kernel.profile_id
    order by kernel.profile_id
"""
_NAMED: Final = """
    select max(share_ratio) as share_ratio
    from result
    where profile_id = $profile_id and api like 'torch_npu.optim.%'
"""

RULE = Rule("R-OPT-1", "unfused-optimizer", "compute", "code", check, needs=("step_phases",))
