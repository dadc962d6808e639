"""R-OP-4 low utilisation: matrix products and convolutions leave more than half of the AI Core unused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.changes import typed_to_share
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Group(msgspec.Struct):
    """Equal matrix operators of one rank (A12)."""

    profile_id: int
    op_type: str
    calls: int
    total_ns: int
    share_ratio: float
    utilisation_ratio: float
    utilisation_source: str
    bound: str | None
    is_anomaly: bool | None
    input_shapes: str | None


class _Type(msgspec.Struct):
    """The matrix operators of one type on one rank (A12), weighted by time; parts are shares of their time."""

    profile_id: int
    op_type: str
    total_ns: int
    share_ratio: float
    utilisation_ratio: float
    best_ratio: float
    source: str
    memory_ratio: float
    latency_ratio: float
    anomaly_ratio: float
    mean_ns: float
    shapes: str


def check(context: Context) -> Iterator[Claim]:
    """Yield a claim per operator type, on the rank where it takes longest, the longest first."""
    limits = context.limits
    steps = {step.profile_id: step for step in context.device_steps}
    seen: set[str] = set()
    for row in _by_type(context.facts):
        step = steps.get(row.profile_id)
        if step is None or row.op_type in seen:
            continue
        if row.utilisation_ratio >= limits["utilisation_below_ratio"] or row.share_ratio < limits["share_from_ratio"]:
            continue
        seen.add(row.op_type)
        yield _claim(context, step, row)


def _claim(context: Context, step: MedianStep, row: _Type) -> Claim:
    time_ns = round(row.share_ratio * step.compute_ns)
    target = context.limits["target_ratio"]
    # What the same type reaches elsewhere in this capture is certain; beyond that a figure of experience, then all.
    low = max(min(row.best_ratio, target), row.utilisation_ratio)
    ratios = tuple(min(1.0, row.utilisation_ratio / aim) for aim in (low, target, 1.0))
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "op_type": row.op_type,
            "utilisation_ratio": row.utilisation_ratio,
            "source": Message(_SOURCES[row.source]),
            "share_ratio": row.share_ratio,
            "time_ns": time_ns,
            "shapes": row.shapes,
        },
        location=place(step, [row.op_type]),
        evidence=figures(
            step,
            "roofline",
            {
                "utilisation_ratio": row.utilisation_ratio,
                "utilisation_source": row.source,
                "best_ratio": row.best_ratio,
                "share_ratio": row.share_ratio,
                "total_ns": row.total_ns,
                "input_shapes": row.shapes,
            },
        ),
        changes=(partial(_better_used, op_type=row.op_type, ratios=(ratios[0], ratios[1], ratios[2])),),
        at_stake_ns=round(time_ns * (1 - row.utilisation_ratio)),
        texts={"title": "rule.r-op-4.title-operator"},
        suppressed_by=_reason(context, row),
    )


def _reason(context: Context, row: _Type) -> Message | None:
    limits = context.limits
    if row.anomaly_ratio > limits["other_bound_from_ratio"]:
        return Message("suppressed.efficiency-anomaly", {"op_type": row.op_type})
    if row.memory_ratio > limits["other_bound_from_ratio"]:
        return Message("suppressed.memory-bound", {"op_type": row.op_type, "memory_ratio": row.memory_ratio})
    if row.latency_ratio > limits["other_bound_from_ratio"] and row.mean_ns <= limits["tiny_to_ns"]:
        return Message("suppressed.latency-bound", {"op_type": row.op_type, "mean_ns": round(row.mean_ns)})
    return None


def _better_used(graph: StepGraph, *, op_type: str, ratios: tuple[float, float, float]) -> Transform | Unpriced:
    return typed_to_share(graph, (op_type,), ratios)


def _by_type(facts: Facts) -> list[_Type]:
    """The matrix operators by profile and type, the longest first."""
    types: dict[tuple[int, str], list[_Group]] = {}
    for row in facts.rows(
        "roofline",
        _Group,
        lambda row: row["family"] is not None and row["utilisation_ratio"] is not None and row["total_ns"] > 0,
    ):
        types.setdefault((row.profile_id, row.op_type), []).append(row)
    found = [_together(rows) for rows in types.values()]
    return sorted(found, key=lambda row: (-row.total_ns, row.op_type, row.profile_id))


def _together(rows: list[_Group]) -> _Type:
    total_ns = sum(row.total_ns for row in rows)
    calls = sum(row.calls for row in rows)
    shaped = [row for row in rows if row.input_shapes is not None]

    def share(chosen: Iterable[_Group]) -> float:
        return sum(row.total_ns for row in chosen) / total_ns

    return _Type(
        profile_id=rows[0].profile_id,
        op_type=rows[0].op_type,
        total_ns=total_ns,
        share_ratio=sum(row.share_ratio for row in rows),
        utilisation_ratio=sum(row.utilisation_ratio * row.total_ns for row in rows) / total_ns,
        best_ratio=max(row.utilisation_ratio for row in rows),
        source=max(rows, key=lambda row: row.total_ns).utilisation_source,
        memory_ratio=share(row for row in rows if row.bound == "memory"),
        latency_ratio=share(row for row in rows if row.bound == "latency"),
        anomaly_ratio=share(row for row in rows if row.is_anomaly),
        mean_ns=total_ns / calls,
        shapes=max(shaped, key=lambda row: row.total_ns).input_shapes or "" if shaped else "",
    )


_SOURCES: Final = {
    "mac_ratio": "utilisation.mac",
    "vec_ratio": "utilisation.vec",
    "efficiency": "utilisation.efficiency",
}

RULE = Rule("R-OP-4", "low-utilisation", "compute", "model", check, needs=("roofline",))
