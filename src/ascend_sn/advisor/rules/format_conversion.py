"""R-OP-6 format conversion: the device rearranges, casts and copies data instead of computing."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

if TYPE_CHECKING:
    from ascend_sn.replay import Edit, StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Waste(msgspec.Struct):
    """A row of `format_waste`."""

    profile_id: int
    kind: str
    op_type: str
    calls: int
    total_ns: int
    share_ratio: float | None
    inverse_pairs: int | None
    inverse_ns: int | None


def check(context: Context) -> Iterator[Claim]:
    """Yield a claim per kind of conversion, on the rank where it takes most, the largest first."""
    steps = {step.profile_id: step for step in context.device_steps}
    kinds: dict[tuple[int, str], list[_Waste]] = {}
    waste = context.facts.rows("format_waste", _Waste)
    for row in sorted(waste, key=lambda row: (-row.total_ns, row.profile_id, row.op_type)):
        if row.profile_id in steps:
            kinds.setdefault((row.profile_id, row.kind), []).append(row)
    seen: set[str] = set()
    for (profile_id, kind), rows in sorted(kinds.items(), key=lambda item: -_share(item[1])):
        if kind not in seen and _share(rows) >= context.limits["share_from_ratio"]:
            seen.add(kind)
            yield _claim(context, steps[profile_id], kind, rows)


def _share(rows: list[_Waste]) -> float:
    return sum(row.share_ratio or 0.0 for row in rows)


def _claim(context: Context, step: MedianStep, kind: str, rows: list[_Waste]) -> Claim:
    share = _share(rows)
    total_ns = sum(row.total_ns for row in rows)
    pairs = [row.inverse_pairs for row in rows if row.inverse_pairs is not None]
    undone_ns = sum(row.inverse_ns or 0 for row in rows)
    time_ns = round(share * step.compute_ns)
    undone: Message | str = ""
    if pairs and sum(pairs):
        params = {"pair_count": round(sum(pairs) / step.step_count, 1),
                  "undone_ns": round(time_ns * undone_ns / (total_ns or 1))}  # fmt: skip
        undone = Message("rule.r-op-6.pairs", params)
    kept = {row.op_type: 1 - (row.inverse_ns or 0) / (row.total_ns or 1) for row in rows}
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "names": ", ".join(row.op_type for row in rows),
            "call_count": round(sum(row.calls for row in rows) / step.step_count, 1),
            "time_ns": time_ns,
            "share_ratio": share,
            "undone": undone,
        },
        location=place(step, [row.op_type for row in rows]),
        evidence=tuple(
            evidence
            for row in rows
            for evidence in figures(
                step,
                "format_waste",
                {
                    "op_type": row.op_type,
                    "calls": row.calls,
                    "total_ns": row.total_ns,
                    "share_ratio": row.share_ratio,
                    "inverse_pairs": row.inverse_pairs,
                    "inverse_ns": row.inverse_ns,
                },
            )
        ),
        changes=(partial(_fewer, kept=kept),),
        at_stake_ns=time_ns,
        texts={"title": "rule.r-op-6.title-operators", "advice": _ADVICE[kind]},
        tells_hidden=True,
    )


def _fewer(graph: StepGraph, *, kept: dict[str, float]) -> Transform | Unpriced:
    """Pairs that undo each other go; in the high case all of it does."""
    from ascend_sn.replay import Bound, Remove, Scale, Transform, Where

    pairs: list[Edit] = []
    for name, ratio in kept.items():
        pairs.append(Scale(Where(part="device", op_types=(name,)), ratio))
    everything = Bound((Remove(Where(part="device", op_types=tuple(kept))),))
    return Transform("remove", Bound(tuple(pairs)), Bound(tuple(pairs)), everything)


_ADVICE: Final = {
    "format": "rule.r-op-6.advice-format",
    "transpose": "rule.r-op-6.advice-transpose",
    "cast": "rule.r-op-6.advice-cast",
    "copy": "rule.r-op-6.advice-copy",
}

RULE = Rule("R-OP-6", "format-conversion", "compute", "code", check, needs=("format_waste",))
