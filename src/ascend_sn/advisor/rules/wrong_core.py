"""R-OP-3 wrong core: work runs on the AI CPU, on a vector core, or on the host instead of the matrix cores."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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

    profile_id: int
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
    rows = context.facts.rows("core_types", _Misplaced, lambda row: row["profile_id"] in steps)
    rows.sort(key=_worst_first)
    for row in rows:
        step = steps[row.profile_id]
        key = row.issue, row.op_type or row.operator_name
        if key not in seen and row.ns_per_step >= context.limits["time_from_ratio"] * step.window_ns:
            seen.add(key)
            yield _misplaced(context, step, row)
    largest = _largest(context, steps)
    if largest is not None and largest.op_type not in {row.op_type for row in rows}:
        yield _right_core(context, steps[largest.profile_id], largest)


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


def _worst_first(row: _Misplaced) -> tuple[float, int, str, bool, str, bool, str]:
    return (
        -row.ns_per_step,
        row.profile_id,
        row.issue,
        row.op_type is None,
        row.op_type or "",
        row.operator_name is None,
        row.operator_name or "",
    )


def _largest(context: Context, steps: Collection[int]) -> _Top | None:
    """The largest operator type of the profiles."""
    if not steps:
        return None
    rows = context.facts.query(
        "kernel_statistics",
        """
        select profile_id, op_type, core_type, total_ns, mean_ns, share_ratio
        from result
        where profile_id in $profiles and core_type is not null
        order by total_ns desc, rank nulls last, profile_id, op_type
        limit 1
        """,
        _Top,
        profiles=list(steps),
    )
    return rows[0] if rows else None


def _peer(context: Context, step: MedianStep, op_type: str, core_type: str | None) -> _Peer | None:
    """Return the times of the same operator type on another core than this one and the AI CPU."""
    rows = [
        row
        for row in context.facts.rows_of("kernel_statistics", step.profile_id)
        if row["op_type"] == op_type
        and row["core_type"] not in (None, core_type or "")
        and not _AI_CPU.search(row["core_type"])
    ]
    peer = min(rows, key=lambda row: (-row["calls"], row["core_type"]), default=None)
    return None if peer is None else msgspec.convert(peer, _Peer)


def _on_its_core(graph: StepGraph, *, op_type: str, core_type: str | None, peer: _Peer) -> Transform | Unpriced:
    from ascend_sn.replay import Where, operators_to

    chosen = Where(part="device", op_types=(op_type,), core_types=None if core_type is None else (core_type,))
    return operators_to(chosen, peer.p95_ns, peer.p50_ns, peer.min_ns)


_AI_CPU: Final = re.compile("AI.*CPU", re.IGNORECASE)
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
