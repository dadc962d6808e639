"""R-OP-3 wrong core: work runs on the AI CPU, on a vector core, or on the host instead of the matrix cores."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import WHOLE_CAPTURE, MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, TextPart

if TYPE_CHECKING:
    from ascend_sn.advisor.rule import Change
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Misplaced(msgspec.Struct):
    """A row of `core_types`."""

    profile_id: int
    issue: str
    op_type: str | None
    operator_name: str | None
    core_type: str | None
    calls: int
    total_ns: int
    idle_ns: int | None
    steps: int
    ns_per_step: float
    share_ratio: float | None
    dtype_cause: str | None


class _Top(msgspec.Struct):
    """The operator type with the largest share (A09)."""

    op_type: str
    core_type: str | None
    total_ns: int
    mean_ns: int
    share_ratio: float


class _Peer(msgspec.Struct):
    """The same operator type on a core that suits it: quickest, middle and slow time."""

    min_ns: int
    p50_ns: int
    p95_ns: int


def check(context: Context) -> Iterator[Claim]:
    """Yield a claim per operator and issue, on the rank that loses most, worst first; then the largest operator."""
    steps = {step.profile_id: step for step in context.device_steps}
    seen: set[tuple[str, str | None]] = set()
    rows = [row for row in context.facts.query("core_types", _WORST_FIRST, _Misplaced) if row.profile_id in steps]
    for row in rows:
        step = steps[row.profile_id]
        key = row.issue, row.op_type or row.operator_name
        if key not in seen and row.ns_per_step >= context.limits["time_from_ratio"] * step.window_ns:
            seen.add(key)
            yield _misplaced(context, step, row)
    top = [_largest(context, step) for step in steps.values()]
    largest = max((one for one in top if one is not None), key=lambda one: one[1].total_ns, default=None)
    misplaced = {row.op_type for row in rows}
    if largest is not None and largest[1].op_type not in misplaced:
        yield _right_core(context, *largest)


def _misplaced(context: Context, step: MedianStep, row: _Misplaced) -> Claim:
    lost_ns = round(row.ns_per_step)
    peer = None if row.op_type is None else _peer(context, step, row.op_type, row.core_type)
    changes: tuple[Change, ...] = ()
    if peer is not None and row.op_type is not None:
        changes = (partial(_on_its_core, op_type=row.op_type, core_type=row.core_type, peer=peer),)
    # What the host computes outside of marked steps may be the weights of the model.
    is_set_up = row.issue == "host_fallback" and step.scope == WHOLE_CAPTURE
    name = row.op_type or row.operator_name or ""
    texts = dict(_TEXTS[row.issue])
    if row.dtype_cause is not None:
        texts["advice"] = "rule.r-op-3.advice-dtype"
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "name": name,
            "operator": row.operator_name or name,
            "core": row.core_type or "",
            "call_count": round(row.calls / row.steps, 1),
            "lost_ns": lost_ns,
            "lost_ratio": lost_ns / step.window_ns,
            "share_ratio": row.share_ratio or 0.0,
            "dtype": row.dtype_cause or "",
        },
        location=place(step, [one for one in (row.op_type, row.operator_name) if one is not None]),
        evidence=figures(
            step,
            "core_types",
            {
                "issue": row.issue,
                "calls": row.calls,
                "total_ns": row.total_ns,
                "idle_ns": row.idle_ns,
                "share_ratio": row.share_ratio,
                "dtype_cause": row.dtype_cause,
            },
        ),
        changes=changes,
        unpriced=Message("unpriced.no-alternative-seen"),
        at_stake_ns=lost_ns,
        suppressed_by=Message("suppressed.may-be-set-up") if is_set_up else None,
        texts=texts,
    )


def _right_core(context: Context, step: MedianStep, top: _Top) -> Claim:
    """The largest operator is looked at, too; being large is no reason to change its core."""
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "name": top.op_type,
            "core": top.core_type,
            "share_ratio": top.share_ratio,
            "mean_ns": top.mean_ns,
        },
        location=place(step, [top.op_type]),
        evidence=figures(step, "kernel_statistics", {"total_ns": top.total_ns, "share_ratio": top.share_ratio}),
        at_stake_ns=round(top.share_ratio * step.compute_ns),
        suppressed_by=Message("suppressed.core-is-right", {"name": top.op_type, "core": top.core_type}),
        texts={"title": "rule.r-op-3.title-largest", "message": "rule.r-op-3.message-largest"},
    )


def _largest(context: Context, step: MedianStep) -> tuple[MedianStep, _Top] | None:
    rows = context.facts.query(
        "kernel_statistics",
        """
        select op_type, core_type, total_ns, mean_ns, share_ratio
        from result
        where profile_id = $profile_id and core_type is not null
        order by total_ns desc, op_type
        limit 1
        """,
        _Top,
        profile_id=step.profile_id,
    )
    return (step, rows[0]) if rows else None


def _peer(context: Context, step: MedianStep, op_type: str, core_type: str | None) -> _Peer | None:
    """Return the times of the same operator type on another core than this one and the AI CPU."""
    rows = context.facts.query(
        "kernel_statistics",
        """
        select min_ns, p50_ns, p95_ns
        from result
        where profile_id = $profile_id and op_type = $op_type and core_type <> $core_type
              and core_type not ilike '%AI%CPU%'
        order by calls desc, core_type
        limit 1
        """,
        _Peer,
        profile_id=step.profile_id,
        op_type=op_type,
        core_type=core_type or "",
    )
    return rows[0] if rows else None


def _on_its_core(graph: StepGraph, *, op_type: str, core_type: str | None, peer: _Peer) -> Transform | Unpriced:
    from ascend_sn.replay import Where, operators_to

    chosen = Where(part="device", op_types=(op_type,), core_types=None if core_type is None else (core_type,))
    return operators_to(chosen, peer.p95_ns, peer.p50_ns, peer.min_ns)


_WORST_FIRST: Final = """
    select profile_id, issue, op_type, operator_name, core_type, calls, total_ns, idle_ns, steps, ns_per_step,
           share_ratio, dtype_cause
    from result
    order by ns_per_step desc, profile_id, issue, op_type, operator_name
"""
_TEXTS: Final[dict[str, dict[TextPart, str]]] = {
    "ai_cpu": {"title": "rule.r-op-3.title-ai-cpu"},
    "vector_core": {
        "title": "rule.r-op-3.title-vector",
        "message": "rule.r-op-3.message-vector",
        "advice": "rule.r-op-3.advice-vector",
    },
    "host_fallback": {
        "title": "rule.r-op-3.title-host",
        "message": "rule.r-op-3.message-host",
        "advice": "rule.r-op-3.advice-host",
        "verify": "rule.r-op-3.verify-host",
    },
}

RULE = Rule("R-OP-3", "wrong-core", "compute", "code", check, needs=("core_types",))
