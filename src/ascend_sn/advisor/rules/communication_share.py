"""R-COMM-0 communication share: how much of the step only moves bytes between ranks.

The grade is that of exposed transit: waiting for a slow rank and time that nobody can be named for are not cured by
faster or less communication.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, TextPart
from ascend_sn.advisor.thresholds import Limits

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Parts(msgspec.Struct):
    """The communication of one profile, all primitives together (A14)."""

    profile_id: int
    total_ns: int
    transit_ns: int | None
    wait_ns: int | None
    idle_ns: int | None
    unknown_ns: int
    present: int | None
    expected: int | None
    exact: bool | None


@dataclass(frozen=True)
class _Share:
    """Communication of the median step of one profile; the exposed part divides as all of it does."""

    step: MedianStep
    parts: _Parts

    @property
    def known_ns(self) -> int:
        return self.parts.total_ns - self.parts.unknown_ns

    @property
    def transit_ratio(self) -> float | None:
        """Share of the communication time in which bytes move; None where that is unknown for most of it."""
        if self.parts.transit_ns is None or 2 * self.known_ns < self.parts.total_ns:
            return None
        return self.parts.transit_ns / self.known_ns

    @property
    def exposed_ratio(self) -> float:
        return self.step.exposed_comm_ns / (self.step.window_ns or 1)

    @property
    def exposed_transit_ratio(self) -> float:
        return self.exposed_ratio * (self.transit_ratio or 0.0)

    @property
    def members_absent(self) -> bool:
        return (self.parts.present or 0) < (self.parts.expected or 0)


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank with the largest share."""
    limits = context.limits
    shares = _shares(context)
    worst = max(shares, key=lambda share: (share.exposed_transit_ratio, share.exposed_ratio), default=None)
    if worst is None:
        return
    if worst.transit_ratio is None:
        exposed = max(shares, key=lambda share: share.exposed_ratio)
        if exposed.exposed_ratio >= limits["slight_from_ratio"]:
            yield _unknown(exposed, len(context.steps))
        return
    grade = _grade(worst.exposed_transit_ratio, limits)
    if grade is not None:
        yield _graded(worst, grade, len(context.steps))
    waiting = max(shares, key=lambda share: share.exposed_ratio - share.exposed_transit_ratio)
    rest_ratio = 1 - (waiting.transit_ratio or 0.0)
    lost_ratio = waiting.exposed_ratio - waiting.exposed_transit_ratio
    if rest_ratio > limits["not_transit_from_ratio"] and lost_ratio >= limits["slight_from_ratio"]:
        yield _not_transit(waiting, len(context.steps))


def _shares(context: Context) -> list[_Share]:
    parts = context.facts.query(
        "communication_summary",
        """
        select profile_id, sum(total_ns)::bigint as total_ns, sum(transit_ns)::bigint as transit_ns,
               sum(wait_ns)::bigint as wait_ns, sum(idle_ns)::bigint as idle_ns, sum(unknown_ns)::bigint as unknown_ns,
               min_by(members_present, members_present / nullif(members_expected, 0)) as present,
               min_by(members_expected, members_present / nullif(members_expected, 0)) as expected,
               bool_and(members_exact) as exact
        from result
        group by profile_id
        having sum(total_ns) > 0
        """,
        _Parts,
    )
    of_profile = {row.profile_id: row for row in parts}
    return [_Share(step, of_profile[step.profile_id]) for step in context.steps if step.profile_id in of_profile]


def _grade(ratio: float, limits: Limits) -> str | None:
    """The ladder of the guide, on exposed transit; a bound belongs to the grade above it."""
    grades = (("extreme", "extreme_from_ratio"), ("severe", "severe_from_ratio"), ("slight", "slight_from_ratio"))
    return next((grade for grade, limit in grades if ratio >= limits[limit]), None)


def _graded(share: _Share, grade: str, ranks: int) -> Claim:
    return Claim(
        params={
            **_params(share, ranks),
            "grade": Message(f"grade.{grade}"),
            "exposed_transit_ratio": share.exposed_transit_ratio,
            "transit_ratio": share.transit_ratio,
        },
        location=_location(share),
        evidence=_evidence(share),
        changes=(_overlapped, _compressed, _merged),
        at_stake_ns=round(share.exposed_transit_ratio * share.step.window_ns),
        texts={"advice": _ADVICE[grade]},
        grade=grade,
        in_plan=False,
    )


def _not_transit(share: _Share, ranks: int) -> Claim:
    """The time in collectives that moves no bytes: other rules name its cause, or the capture lacks members."""
    parts = share.parts
    lost_ns = round(share.step.exposed_comm_ns * (1 - (share.transit_ratio or 0.0)))
    absent = share.members_absent
    how = "members.of-exactly" if parts.exact else "members.of-at-least"
    return Claim(
        params={
            **_params(share, ranks),
            "lost_ns": lost_ns,
            "lost_ratio": lost_ns / (share.step.window_ns or 1),
            "transit_ratio": share.transit_ratio,
            "wait_ratio": (parts.wait_ns or 0) / share.known_ns,
            "idle_ratio": (parts.idle_ns or 0) / share.known_ns,
            "members": Message(how, {"present": parts.present, "expected": parts.expected}) if absent else "",
        },
        location=_location(share),
        evidence=_evidence(share),
        unpriced=Message("unpriced.members-absent" if absent else "unpriced.cause-elsewhere"),
        at_stake_ns=lost_ns,
        texts=_NOT_TRANSIT_ABSENT if absent else _NOT_TRANSIT,
        in_plan=False,
    )


def _unknown(share: _Share, ranks: int) -> Claim:
    """Nothing says how much of the communication is waiting."""
    return Claim(
        params=_params(share, ranks),
        location=_location(share),
        evidence=_evidence(share),
        unpriced=Message("unpriced.transit-unknown"),
        at_stake_ns=share.step.exposed_comm_ns,
        texts={
            "title": "rule.r-comm-0.title-unknown",
            "message": "rule.r-comm-0.message-unknown",
            "advice": "rule.r-comm-0.advice-unknown",
            "verify": "rule.r-comm-0.verify-unknown",
        },
        in_plan=False,
    )


def _params(share: _Share, ranks: int) -> dict[str, object]:
    return {
        "where": where(share.step, ranks),
        "exposed_ns": share.step.exposed_comm_ns,
        "exposed_ratio": share.exposed_ratio,
    }


def _location(share: _Share) -> Location:
    step = share.step
    return Location(profile_ids=(step.profile_id,), ranks=() if step.rank is None else (step.rank,))


def _evidence(share: _Share) -> tuple[Evidence, ...]:
    step, parts = share.step, share.parts
    figures: list[tuple[str, int | None, str]] = [
        ("exposed_comm_ns", step.exposed_comm_ns, "step_breakdown"),
        ("window_ns", step.window_ns, "step_breakdown"),
        ("total_ns", parts.total_ns, "communication_summary"),
        ("transit_ns", parts.transit_ns, "communication_summary"),
        ("wait_ns", parts.wait_ns, "communication_summary"),
        ("idle_ns", parts.idle_ns, "communication_summary"),
        ("unknown_ns", parts.unknown_ns, "communication_summary"),
        ("members_present", parts.present, "communication_summary"),
        ("members_expected", parts.expected, "communication_summary"),
    ]
    ranks = () if step.rank is None else (step.rank,)
    steps = () if step.step is None else (step.step,)
    return tuple(
        Evidence(name=name, value=value, source=source, ranks=ranks, steps=steps if source == "step_breakdown" else ())
        for name, value, source in figures
        if value is not None
    )


def _overlapped(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import comm_overlapped

    return comm_overlapped(graph)


def _compressed(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import comm_compressed

    return comm_compressed(graph)


def _merged(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import buckets_merged

    return buckets_merged(graph)


_ADVICE: Final = {
    "slight": "rule.r-comm-0.advice-slight",
    "severe": "rule.r-comm-0.advice-severe",
    "extreme": "rule.r-comm-0.advice-extreme",
}
_NOT_TRANSIT: Final[dict[TextPart, str]] = {
    "title": "rule.r-comm-0.title-waits",
    "message": "rule.r-comm-0.message-waits",
    "advice": "rule.r-comm-0.advice-waits",
    "verify": "rule.r-comm-0.verify-waits",
}
_NOT_TRANSIT_ABSENT: Final[dict[TextPart, str]] = {
    "title": "rule.r-comm-0.title-absent",
    "message": "rule.r-comm-0.message-absent",
    "advice": "rule.r-comm-0.advice-absent",
    "verify": "rule.r-comm-0.verify-absent",
}

RULE = Rule(
    "R-COMM-0",
    "communication-share",
    "communication",
    "model",
    check,
    needs=("communication_summary", "step_breakdown"),
)
