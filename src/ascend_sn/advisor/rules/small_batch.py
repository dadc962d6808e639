"""R-BS-1 small batch: much of the step costs the same whatever the batch is, or the kernels are too small for the chip.

The larger batch must fit: it is held back where the projected memory would fill the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from ascend_sn.advisor.activations import activations_of
from ascend_sn.advisor.device_memory import DeviceMemory, device_memory
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.late_hosts import late_host_explains, late_hosts
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices, TextPart

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Group(msgspec.Struct):
    """Equal calls of an operator (A12)."""

    profile_id: int
    total_ns: int
    bound: str | None
    utilisation_ratio: float | None


class _Use(msgspec.Struct):
    """How well the kernels of a profile use the chip; shares of the kernel time."""

    latency_ratio: float | None
    utilisation_ratio: float | None


class _Communication(msgspec.Struct):
    profile_id: int
    exposed_transit_ratio: float
    exposed_share_ratio: float


class _Projection(msgspec.Struct):
    """Memory with twice the batch; what is absent cannot be told."""

    projected_bytes: int | None = None
    projected_ratio: float | None = None
    capacity_bytes: int | None = None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank with the largest share of fixed time; one whose host alone is late comes last."""
    phases = {row.profile_id: row for row in context.phases}
    training = [
        step
        for step in context.device_steps
        if step.profile_id in phases and phases[step.profile_id].backward_ns and step.window_ns
    ]
    if not training:
        return
    uses = _uses(context.facts)
    grades = context.facts.rows("communication_grade", _Communication, lambda row: (row["window_ns"] or 0) > 0)
    moved = {row.profile_id: row for row in grades}

    def fixed_ratio(step: MedianStep) -> float:
        waits_ns = max(step.free_ns - phases[step.profile_id].data_ns, 0)
        transit = moved[step.profile_id].exposed_transit_ratio if step.profile_id in moved else 0.0
        return waits_ns / step.window_ns + transit

    found = [step for step in training if _is_small(context, step, uses.get(step.profile_id), fixed_ratio(step))]
    if not found:
        return
    late = late_hosts(context.facts)
    worst = max(found, key=lambda step: (step.profile_id not in late, fixed_ratio(step)))
    use = uses.get(worst.profile_id)
    waits = _waits(context, moved.get(worst.profile_id))
    memory = _Projection() if waits is not None else _projection(context, worst)
    yield Claim(
        params={
            "where": where(worst, len(context.steps)),
            "fixed_ratio": fixed_ratio(worst),
            "busy_ratio": worst.compute_ns / worst.window_ns,
            **_of_chip(use),
            "projected_bytes": memory.projected_bytes or 0,
            "capacity_bytes": memory.capacity_bytes or 0,
            "projected_ratio": memory.projected_ratio or 0.0,
        },
        slices=Slices("overlap"),
        location=place(worst),
        evidence=figures(worst, "step_breakdown", {"fixed_ratio": fixed_ratio(worst), "free_ns": worst.free_ns})
        + figures(worst, "roofline", {} if use is None else _figures(use))
        + figures(
            worst,
            "memory_peak",
            {"projected_bytes": memory.projected_bytes, "capacity_bytes": memory.capacity_bytes},
        ),
        changes=(_doubled,),
        at_stake_ns=round(fixed_ratio(worst) * worst.window_ns / 2),  # twice the batch shares it among two
        suppressed_by=late_host_explains(context.facts, worst.profile_id) or waits or _too_large(context, memory),
        texts=_texts(use, memory, context.limits["latency_from_ratio"]),
        confidence="medium" if memory.projected_ratio is None else "high",
    )


def _uses(facts: Facts) -> dict[int, _Use]:
    """How well each profile uses its chip, where that is known of half of its kernel time at least."""
    groups: dict[int, list[_Group]] = {}
    for group in facts.rows("roofline", _Group, lambda row: row["op_type"] is not None):
        groups.setdefault(group.profile_id, []).append(group)
    uses = {}
    for profile_id, own in groups.items():
        total_ns = sum(group.total_ns for group in own)
        latency = [group.total_ns for group in own if group.bound == "latency"]
        known = [(group.total_ns, group.utilisation_ratio) for group in own if group.utilisation_ratio is not None]
        known_ns = sum(ns for ns, _ in known)
        uses[profile_id] = _Use(
            latency_ratio=sum(latency) / total_ns if latency and total_ns else None,
            utilisation_ratio=sum(ns * ratio for ns, ratio in known) / known_ns
            if known_ns and 2 * known_ns >= total_ns
            else None,
        )
    return uses


def _is_small(context: Context, step: MedianStep, use: _Use | None, fixed_ratio: float) -> bool:
    limits = context.limits
    if use is not None and (use.latency_ratio or 0.0) >= limits["latency_from_ratio"]:
        return True
    measured = None if use is None else use.utilisation_ratio
    used = step.compute_ns / step.window_ns if measured is None else measured
    return used < limits["utilisation_below_ratio"] and fixed_ratio >= limits["fixed_from_ratio"]


def _projection(context: Context, step: MedianStep) -> _Projection:
    """What the memory would hold with twice the batch: the peak, and the activations once more."""
    found = device_memory(context.facts, context.profiles, context.limits["capacity_bytes"])
    own = next((memory for memory in found if memory.profile_id == step.profile_id), None)
    if own is None or not own.peak_bytes:
        return _Projection(capacity_bytes=None if own is None else own.capacity_bytes)
    held = activations_of(context.facts, step)
    if held is None:
        return _Projection(capacity_bytes=own.capacity_bytes)
    projected = _needed(own) + held
    ratio = projected / own.capacity_bytes if own.capacity_bytes else None
    return _Projection(projected, ratio, own.capacity_bytes)


def _needed(memory: DeviceMemory) -> int:
    """What is allocated; a pool gives back what it only reserves."""
    return memory.peak_bytes if memory.allocated_bytes is None else memory.allocated_bytes


def _waits(context: Context, moved: _Communication | None) -> Message | None:
    """Say that the step mostly waits for other ranks."""
    if moved is None:
        return None
    waits_ratio = moved.exposed_share_ratio - moved.exposed_transit_ratio
    if waits_ratio < context.limits["waits_from_ratio"]:
        return None
    return Message("suppressed.waits-dominate", {"waits_ratio": waits_ratio})


def _too_large(context: Context, memory: _Projection) -> Message | None:
    """Say that twice the batch would not fit."""
    if memory.projected_ratio is None or memory.projected_ratio <= context.limits["filled_above_ratio"]:
        return None
    return Message(
        "suppressed.memory-full",
        {
            "projected_bytes": memory.projected_bytes,
            "capacity_bytes": memory.capacity_bytes,
            "projected_ratio": memory.projected_ratio,
        },
    )


def _of_chip(use: _Use | None) -> dict[str, object]:
    return {
        "latency_ratio": 0.0 if use is None or use.latency_ratio is None else use.latency_ratio,
        "utilisation_ratio": 0.0 if use is None or use.utilisation_ratio is None else use.utilisation_ratio,
    }


def _figures(use: _Use) -> dict[str, float | None]:
    return {"latency_ratio": use.latency_ratio, "utilisation_ratio": use.utilisation_ratio}


def _texts(use: _Use | None, memory: _Projection, latency_from_ratio: float) -> dict[TextPart, str]:
    """Say only what was measured."""
    texts: dict[TextPart, str] = {}
    if use is None or use.utilisation_ratio is None:
        texts["message"] = "rule.r-bs-1.message-busy"
    elif (use.latency_ratio or 0.0) >= latency_from_ratio:
        texts["message"] = "rule.r-bs-1.message-latency"
    if memory.projected_ratio is not None:
        texts["advice"] = "rule.r-bs-1.advice-fits"
    elif memory.projected_bytes is not None:
        texts["advice"] = "rule.r-bs-1.advice-capacity-unknown"
    return texts


def _doubled(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import batch_doubled

    return batch_doubled(graph)


RULE = Rule("R-BS-1", "small-batch", "compute", "model", check, needs=("step_phases",))
