"""R-COPY-1 exposed copies: the device copies memory and does nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from ascend_sn.advisor.copy_facts import Copies, copies_by_direction
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim per direction, about the rank with the largest share of its steps."""
    limits = context.limits
    seen: set[str] = set()
    for copies in copies_by_direction(context.facts, limits["exposed_from_ratio"]):
        if copies.direction not in seen and copies.exposed_ratio >= limits["exposed_from_ratio"]:
            seen.add(copies.direction)
            yield _claim(copies, limits["small_below_ns"])


def _claim(copies: Copies, small_below_ns: float) -> Claim:
    exposed_ns = copies.per_step(copies.exposed_ns)
    mean_ns = round(copies.total_ns / copies.calls)
    many_small = copies.calls > copies.step_count and mean_ns < small_below_ns
    change = _CHANGES.get(copies.direction)
    see = Message("suppressed.see-rule", {"rule": "R-DATA-2"})
    return Claim(
        params={
            "rank": "?" if copies.rank is None else copies.rank,
            "direction": Message(f"copy.{copies.direction}"),
            "exposed_ns": exposed_ns,
            "exposed_ratio": copies.exposed_ratio,
            "copy_count": copies.per_step(copies.calls),
            "mean_ns": mean_ns,
        },
        slices=Slices("kernel", "kind = 'copy'"),
        location=place(copies),
        evidence=figures(
            copies,
            "copies",
            {
                "direction": copies.direction,
                "exposed_ns": copies.exposed_ns,
                "overlapped_ns": copies.overlapped_ns,
                "total_ns": copies.total_ns,
                "calls": copies.calls,
                "size_bytes": copies.size_bytes,
                "bandwidth_bytes_per_s": copies.bandwidth_bytes_per_s,
                "pageable_ratio": copies.pageable_ratio or None,
                "pinned_ratio": copies.pinned_ratio or None,
            },
        ),
        changes=() if change is None else (change,),
        unpriced=Message("unpriced.copies-needed"),
        at_stake_ns=exposed_ns,
        suppressed_by=see if copies.direction == "h2d" and copies.is_slow else None,
        texts={"advice": "rule.r-copy-1.advice-small" if many_small else _ADVICE[copies.direction]},
        in_plan=change is not None,
    )


def _pinned(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import copies_pinned

    return copies_pinned(graph)


def _read_later(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import results_read_later

    return results_read_later(graph)


_CHANGES: Final = {"h2d": _pinned, "d2h": _read_later}
_ADVICE: Final = {
    "h2d": "rule.r-copy-1.advice-h2d",
    "d2h": "rule.r-copy-1.advice-d2h",
    "d2d": "rule.r-copy-1.advice-d2d",
    "h2h": "rule.r-copy-1.advice",
    "unknown": "rule.r-copy-1.advice",
}

RULE = Rule("R-COPY-1", "exposed-copies", "data", "code", check, needs=("copies",))
