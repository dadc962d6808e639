"""R-COMM-0 communication share: how much of the step only moves bytes between ranks.

The grade is that of exposed transit: waiting for a slow rank and time that nobody can be named for are not cured by
faster or less communication.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.awaited_member import awaited_member
from ascend_sn.advisor.communication_changes import compressed, merged, overlapped
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, TextPart

__all__ = ["RULE"]


class _Share(msgspec.Struct, kw_only=True):
    """The exposed communication of one profile by what it does (A03b), and the members of the emptiest group (A14)."""

    profile_id: int
    rank: int | None
    window_ns: int
    exposed_comm_ns: int
    exposed_transit_ns: int
    exposed_wait_ns: int
    exposed_idle_ns: int
    exposed_unknown_ns: int
    exposed_share_ratio: float
    exposed_transit_ratio: float
    grade: str | None

    @property
    def lost_ratio(self) -> float:
        """Share of the window that is exposed communication in which no bytes move."""
        return (self.exposed_wait_ns + self.exposed_idle_ns) / self.window_ns

    def part(self, part_ns: int) -> float:
        """Share of the exposed communication."""
        return part_ns / (self.exposed_comm_ns or 1)


class _Members(msgspec.Struct):
    """The members of a group of which collectives were seen (A14)."""

    present: int = msgspec.field(name="members_present")
    expected: int = msgspec.field(name="members_expected")
    exact: bool = msgspec.field(name="members_exact")


class _Straggler(msgspec.Struct):
    rank: int | None
    caused_wait_ns: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim about the bytes, one about the rest; each about the rank with the largest share."""
    limits = context.limits
    steps = {step.profile_id: step for step in context.steps}
    shares = [
        share
        for share in context.facts.rows("communication_grade", _Share, lambda row: (row["window_ns"] or 0) > 0)
        if share.profile_id in steps
    ]
    shares.sort(key=lambda share: (share.rank is None, share.rank or 0, share.profile_id))
    if not shares:
        return
    most = max(shares, key=lambda share: share.exposed_transit_ratio)
    if most.grade not in (None, "normal"):
        yield _graded(most, steps[most.profile_id], len(steps))
    unknown = max(shares, key=lambda share: share.exposed_unknown_ns / share.window_ns)
    if unknown.exposed_unknown_ns >= limits["exposed_from_ratio"] * unknown.window_ns:
        yield _unknown(unknown, steps[unknown.profile_id], len(steps))
    waiting = max(shares, key=lambda share: share.lost_ratio)
    is_most = waiting.part(waiting.exposed_wait_ns + waiting.exposed_idle_ns) > limits["not_transit_from_ratio"]
    if is_most and waiting.lost_ratio >= limits["exposed_from_ratio"]:
        yield _not_transit(context, waiting, steps[waiting.profile_id])


def _graded(share: _Share, step: MedianStep, ranks: int) -> Claim:
    grade = share.grade or ""
    return Claim(
        params={
            **_params(share, step, ranks),
            "grade": Message(f"grade.{grade}"),
            "exposed_transit_ratio": share.exposed_transit_ratio,
        },
        location=_location(share),
        evidence=_evidence(share),
        changes=(overlapped, compressed, merged),
        at_stake_ns=round(share.exposed_transit_ratio * step.window_ns),
        texts={"advice": _ADVICE[grade]},
        grade=grade,
        in_plan=False,
    )


def _not_transit(context: Context, share: _Share, step: MedianStep) -> Claim:
    """The time in collectives that moves no bytes: another rule names its cause, or the capture lacks members."""
    members = _members(context, share.profile_id)
    absent = members is not None and members.present < members.expected
    straggler = _straggler(context)
    lost_ns = round(share.lost_ratio * step.window_ns)
    explained = straggler is not None and 2 * straggler.caused_wait_ns >= lost_ns
    shown: Message | str = ""
    if members is not None and absent:
        how = "members.of-exactly" if members.exact else "members.of-at-least"
        shown = Message(how, {"present": members.present, "expected": members.expected})
    reason = None
    if straggler is not None and explained:
        reason = Message("suppressed.straggler-explains", {"rank": "?" if straggler.rank is None else straggler.rank})
    awaited = awaited_member(context.facts) if absent else None
    named: Message | str = ""
    if awaited is not None:
        figures = {"member": awaited.member, "wait_ns": awaited.wait_ns, "total_ns": awaited.total_ns}
        named = Message("members.awaited", figures)
    return Claim(
        params={
            **_params(share, step, len(context.steps)),
            "awaited": named,
            "lost_ns": lost_ns,
            "lost_ratio": share.lost_ratio,
            "transit_ratio": share.part(share.exposed_transit_ns),
            "wait_ratio": share.part(share.exposed_wait_ns),
            "idle_ratio": share.part(share.exposed_idle_ns),
            "members": shown,
        },
        location=_location(share),
        evidence=_evidence(share, members),
        unpriced=Message("unpriced.members-absent" if absent else "unpriced.cause-elsewhere"),
        at_stake_ns=lost_ns,
        suppressed_by=reason,
        texts=_NOT_TRANSIT_ABSENT if absent else _NOT_TRANSIT,
        effort="config",
        in_plan=False,
    )


def _unknown(share: _Share, step: MedianStep, ranks: int) -> Claim:
    """Nothing says how much of the communication is waiting."""
    return Claim(
        params=_params(share, step, ranks),
        location=_location(share),
        evidence=_evidence(share),
        unpriced=Message("unpriced.transit-unknown"),
        at_stake_ns=round(share.exposed_unknown_ns / share.window_ns * step.window_ns),
        texts=_UNKNOWN,
        effort="config",
        in_plan=False,
    )


def _members(context: Context, profile_id: int) -> _Members | None:
    rows = context.facts.rows(
        "communication_summary",
        _Members,
        lambda row: row["profile_id"] == profile_id and row["members_present"] is not None and row["members_expected"],
    )
    return min(rows, key=lambda row: (row.present / row.expected, -row.expected), default=None)


def _straggler(context: Context) -> _Straggler | None:
    """The straggler that the others wait for longest (A17)."""
    if len(context.profiles) < 2:
        return None
    rows = context.facts.rows("stragglers", _Straggler, lambda row: row["is_straggler"])
    return max(rows, key=lambda row: row.caused_wait_ns, default=None)


def _params(share: _Share, step: MedianStep, ranks: int) -> dict[str, object]:
    """Times are those of the median step, shares those of all steps."""
    return {
        "where": where(step, ranks),
        "exposed_ns": round(share.exposed_share_ratio * step.window_ns),
        "exposed_ratio": share.exposed_share_ratio,
    }


def _location(share: _Share) -> Location:
    return Location(profile_ids=(share.profile_id,), ranks=() if share.rank is None else (share.rank,))


def _evidence(share: _Share, members: _Members | None = None) -> tuple[Evidence, ...]:
    figures = [(name, getattr(share, name), "communication_grade") for name in _FIGURES]
    if members is not None:
        figures += [("members_present", members.present, "communication_summary")]
        figures += [("members_expected", members.expected, "communication_summary")]
    ranks = () if share.rank is None else (share.rank,)
    return tuple(Evidence(name=name, value=value, source=source, ranks=ranks) for name, value, source in figures)


_FIGURES: Final = (
    "window_ns",
    "exposed_comm_ns",
    "exposed_transit_ns",
    "exposed_wait_ns",
    "exposed_idle_ns",
    "exposed_unknown_ns",
)
_ADVICE: Final = {
    "slight": "rule.r-comm-0.advice-slight",
    "severe": "rule.r-comm-0.advice-severe",
    "extreme": "rule.r-comm-0.advice-extreme",
}
_UNKNOWN: Final[dict[TextPart, str]] = {
    "title": "rule.r-comm-0.title-unknown",
    "message": "rule.r-comm-0.message-unknown",
    "advice": "rule.r-comm-0.advice-unknown",
    "verify": "rule.r-comm-0.verify-unknown",
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
    "R-COMM-0", "communication-share", "communication", "model", check, needs=("communication_grade", "step_breakdown")
)
