"""R-HOST-1 host bound: the device is free because the host has not launched anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.finding import Confidence
from ascend_sn.advisor.late_hosts import late_host_explains, late_hosts
from ascend_sn.advisor.median_step import MedianStep, is_of, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule
from ascend_sn.advisor.rules.host_waits import waits_per_step
from ascend_sn.model.kinds import COMPUTE_KINDS

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE", "free_cause", "starved_step"]


class _Bound(msgspec.Struct):
    """A row of `host_bound`."""

    profile_id: int
    step_id: int | None
    scope: str
    free_ns: int
    starved_ns: int
    starved_ratio: float
    launch_known_ratio: float


class _Cause(msgspec.Struct):
    cause: str
    cause_ns: int


class _Shapes(msgspec.Struct):
    once_ratio: float | None


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank whose device starves longest; one whose host alone is late comes last."""
    limits = context.limits
    found = starved_step(
        context, limits["starved_above_ratio"], limits["free_above_ratio"], limits["launches_known_from_ratio"]
    )
    if found is None:
        return
    step, bound = found
    causes = _causes(context, step)
    most = max(causes, key=lambda cause: cause.cause_ns, default=None)
    named = max((cause for cause in causes if cause.cause in _NAMED), key=lambda cause: cause.cause_ns, default=None)
    reason = late_host_explains(context.facts, step.profile_id)
    if reason is None and named is not None and named.cause_ns > limits["other_cause_from_ratio"] * bound.free_ns:
        reason = Message("suppressed.other-cause", {"cause": free_cause(named.cause), "cause_ns": named.cause_ns})
    if reason is None:
        waits = waits_per_step(context, step)
        if waits >= limits["separated_from_ratio"] * _kernels_per_step(context, step):
            reason = Message("suppressed.waits-between", {"wait_count": round(waits, 1), "rule": "R-HOST-2"})
    once_ratio = _shapes_seen_once(context, step)
    unsteady = once_ratio is not None and once_ratio >= limits["shapes_once_from_ratio"]
    confidence: Confidence = "low" if unsteady else "high"
    yield Claim(
        params={
            "where": where(step, len(context.steps)),
            "free_ns": bound.free_ns,
            "free_ratio": bound.free_ns / step.window_ns,
            "starved_ratio": bound.starved_ratio,
            "before": _before(step),
            "cause": "" if most is None else free_cause(most.cause),
            "cause_ns": 0 if most is None else most.cause_ns,
        },
        location=place(step),
        evidence=(
            *figures(step, "host_bound", {"free_ns": bound.free_ns, "starved_ns": bound.starved_ns}),
            *figures(step, "step_breakdown", {"preparing_ns": step.preparing_ns}),
            *figures(step, "free_time_causes", {f"{cause.cause}_ns": cause.cause_ns for cause in causes[:3]}),
            *figures(step, "kernel", {"shapes_once_ratio": once_ratio}),
        ),
        changes=(_launched_as_graph,),
        at_stake_ns=bound.starved_ns,
        suppressed_by=reason,
        texts={"advice": "rule.r-host-1.advice-shapes"} if unsteady else {},
        confidence=confidence,
    )


def starved_step(
    context: Context, starved_above: float, free_above: float, known_from: float
) -> tuple[MedianStep, _Bound] | None:
    """Return the step whose device starves longest, if any is host bound by these thresholds.

    A rank whose host alone is late is returned only where no other rank is.
    """
    rows = {(row.profile_id, row.step_id): row for row in context.facts.rows("host_bound", _Bound)}
    bound = [(step, row) for step in context.device_steps if (row := rows.get((step.profile_id, step.step_id)))]
    bound = [
        (step, row)
        for step, row in bound
        if row.starved_ratio > starved_above
        and row.free_ns > free_above * step.window_ns
        and row.launch_known_ratio >= known_from
    ]
    late = late_hosts(context.facts)
    return max(bound, key=lambda pair: (pair[0].profile_id not in late, pair[1].starved_ns), default=None)


def free_cause(cause: str) -> Message:
    """Name a cause of free time (A04)."""
    return Message(_CAUSES[cause])


def _before(step: MedianStep) -> Message | str:
    """Say how much lies before the first kernel, where the step is marked."""
    if not step.preparing_ns:
        return ""
    return Message("rule.r-host-1.before-first-kernel", {"preparing_ns": step.preparing_ns})


def _causes(context: Context, step: MedianStep) -> list[_Cause]:
    causes = context.facts.rows("free_time_causes", _Cause, lambda row: is_of(row, step))
    return sorted(causes, key=lambda row: (-row.cause_ns, row.cause))


def _kernels_per_step(context: Context, step: MedianStep) -> float:
    calls: int = sum(row["calls"] for row in context.facts.rows_of("kernel_statistics", step.profile_id))
    return calls / step.step_count


def _shapes_seen_once(context: Context, step: MedianStep) -> float | None:
    """Share of the kernel time that goes to shapes seen in one step only; None without shapes or enough steps."""
    if step.step_count <= 2:
        return None
    rows = context.facts.table_rows(
        f"""
        with groups as (
            select sum(dur_ns) as total_ns, count(distinct step_id) as steps
            from kernel
            where profile_id = $profile_id and step_id is not null and input_shapes is not null
              and kind in {COMPUTE_KINDS}
            group by coalesce(op_type, name), input_shapes
        )
        select (sum(total_ns) filter (where steps = 1) / sum(total_ns))::double as once_ratio
        from groups
        """,
        _Shapes,
        profile_id=step.profile_id,
    )
    return rows[0].once_ratio if rows else None


def _launched_as_graph(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import launches_removed

    return launches_removed(graph)


_CAUSES: Final = {
    "data_wait": "free-cause.data-wait",
    "copy_call": "free-cause.copy-call",
    "host_python": "free-cause.host-python",
    "dispatch": "free-cause.dispatch",
    "launch_call": "free-cause.launch-call",
    "launch_latency": "free-cause.launch-latency",
    "host_sync": "free-cause.host-sync",
    "event_wait": "free-cause.event-wait",
    "allocator": "free-cause.allocator",
    "gc": "free-cause.gc",
    "gc_guess": "free-cause.gc-guess",
    "compile": "free-cause.compile",
    "profiler_flush": "free-cause.profiler-flush",
    "unknown": "free-cause.unknown",
}
_NAMED: Final = ("data_wait", "copy_call", "host_sync", "allocator", "gc", "gc_guess", "compile", "profiler_flush")
"""Causes that another rule is about: launching less does not cure them."""

RULE = Rule("R-HOST-1", "host-bound", "host", "code", check, needs=("host_bound", "free_time_causes"))
