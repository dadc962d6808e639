"""R-MEM-1 memory limit: the memory of a device is almost full, or a request has failed.

Graded near from 90 % and full from 95 %, or with a failed request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from ascend_sn.advisor.activations import activations_of, modules_at_peak
from ascend_sn.advisor.device_memory import DeviceMemory, device_memory
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.finding import Severity
from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Rule, TextPart

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the fullest device."""
    limits = context.limits
    found = device_memory(context.facts, context.profiles, limits["capacity_bytes"])
    full = [one for one in found if one.oom_count or (one.filled_ratio or 0.0) >= limits["near_from_ratio"]]
    if not full:
        return
    worst = full[0]
    grade = "full" if worst.oom_count or (worst.filled_ratio or 0.0) >= limits["full_from_ratio"] else "near"
    step = next((step for step in context.steps if step.profile_id == worst.profile_id), None)
    held = _pool_only(worst, limits["allocated_below_ratio"])
    modules = _modules(context, worst, step) if step is not None and held is None else ()
    freed = None if step is None or held is not None else activations_of(context.facts, step, modules or None)
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "peak_bytes": worst.peak_bytes,
            "allocated_bytes": worst.allocated_bytes or 0,
            "capacity_bytes": worst.capacity_bytes or 0,
            "filled_ratio": worst.filled_ratio or 0.0,
            "oom_count": worst.oom_count,
            "failed_bytes": worst.failed_bytes or 0,
            "freed_bytes": freed or 0,
            "modules": ", ".join(modules[:3]),
        },
        location=place(worst, modules),
        evidence=figures(
            worst,
            "memory_peak",
            {
                "allocated_bytes": worst.allocated_bytes,
                "reserved_bytes": worst.reserved_bytes,
                "capacity_bytes": worst.capacity_bytes,
                "oom_count": worst.oom_count,
                "activation_bytes": freed,
            },
        ),
        changes=(partial(_recomputed, modules=modules),) if modules and freed else (),
        direct=_forward_again(context, step) if freed and not modules else None,
        unpriced=Message("unpriced.memory-only"),
        suppressed_by=held,
        texts=_texts(worst, modules, freed),
        confidence="high" if modules else "medium",
        grade=grade,
        severity=_SEVERITY[grade],
        in_plan=False,
    )


def _pool_only(memory: DeviceMemory, below_ratio: float) -> Message | None:
    """Say that the pools hold more than was ever allocated; a failed request is no such case."""
    if memory.oom_count or memory.allocated_ratio is None or memory.allocated_ratio >= below_ratio:
        return None
    return Message(
        "suppressed.only-reserved",
        {"allocated_bytes": memory.allocated_bytes, "allocated_ratio": memory.allocated_ratio},
    )


def _modules(context: Context, memory: DeviceMemory, step: MedianStep) -> tuple[str, ...]:
    """Return the fewest modules without whose activations the device would be less full; at most so many."""
    limits = context.limits
    candidates = modules_at_peak(context.facts, memory.profile_id)[: int(limits["modules_at_most_count"])]
    wanted = memory.peak_bytes - limits["near_from_ratio"] * memory.capacity_bytes if memory.capacity_bytes else 0
    chosen: list[str] = []
    freed = 0
    for module in candidates:
        own = activations_of(context.facts, step, (module,))
        if own:
            chosen.append(module)
            freed += own
            if wanted and freed > wanted:
                break
    return tuple(chosen)


def _forward_again(context: Context, step: MedianStep | None) -> DirectGain | None:
    """Return what doing the whole forward pass again costs, where no modules were recorded."""
    if step is None:
        return None
    from ascend_sn.replay.memory_transforms import RECOMPUTE_RATIOS

    forward_ns = next((row.forward_ns for row in context.phases if row.profile_id == step.profile_id), 0)
    low, expected, high = (-round(ratio * forward_ns) for ratio in RECOMPUTE_RATIOS)
    return DirectGain(low, expected, high) if forward_ns else None


def _texts(memory: DeviceMemory, modules: Sequence[str], freed: int | None) -> dict[TextPart, str]:
    texts: dict[TextPart, str] = {}
    if memory.oom_count:
        texts["title"] = "rule.r-mem-1.title-oom"
        texts["message"] = "rule.r-mem-1.message-oom"
    if freed:
        texts["advice"] = "rule.r-mem-1.advice-modules" if modules else "rule.r-mem-1.advice-activations"
    return texts


def _recomputed(graph: StepGraph, *, modules: tuple[str, ...]) -> Transform | Unpriced:
    from ascend_sn.replay import recomputed

    return recomputed(graph, modules)


_SEVERITY: Final[dict[str, Severity]] = {"near": "warning", "full": "critical"}

RULE = Rule("R-MEM-1", "memory-limit", "memory", "code", check, needs=("memory_peak",), is_risk=True)
