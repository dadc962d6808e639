"""Who holds the ranks of a job up: stragglers, ranks with more to do, or a slow link, whichever costs more.

Waiting for a straggler is measured; what its repair gains, the advice has priced. Where a link is slower still, the
others wait for the straggler only on the way to the link: it costs nothing as long as that is so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Advice, Finding, Suppressed
from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.advisor.message import Message

__all__ = ["NAMED_FROM_RATIO", "Culprit", "culprits"]

NAMED_AT_MOST: Final = 2

NAMED_FROM_RATIO: Final = 0.05
"""Share of the step that a culprit must cost to be named."""

_STRAGGLER: Final = "R-IMB-1"
_SLOW_LINK: Final = "R-COMM-5"
_MORE_WORK: Final = "rule.r-imb-2.message-more-work"
_UNEVEN_LOAD: Final = ("suppressed.uneven-load", "suppressed.more-work")
_GAINS_NOTHING: Final = ("suppressed.no-gain", "suppressed.small-gain")


class Culprit(msgspec.Struct, frozen=True):
    """What is said of one, and what it costs a step; nothing where something else holds the step."""

    message: Message
    cost_ns: int


class _Straggler(msgspec.Struct):
    """What is wanted of a row of `stragglers`."""

    profile_id: int
    rank: int | None
    peers: int
    own_ns: int
    peer_own_ns: int | None
    caused_wait_ns: int
    cause: str


def culprits(facts: Facts, steps: list[MedianStep], advice: Advice | None) -> list[Culprit]:
    """Return those that cost a part of the step worth naming, two at most, the one that costs most first.

    Args:
        facts: The analysis results.
        steps: The median step of each profile.
        advice: What the advisor said; None: it was not asked, and what is waited for a straggler is its cost.
    """
    if len(steps) < 2:  # nobody to wait for
        return []
    found = [*_slow_links(advice), *_uneven_load(advice), *_stragglers(facts, steps, advice)]
    return sorted(found, key=lambda one: -one.cost_ns)[:NAMED_AT_MOST]


def _slow_links(advice: Advice | None) -> Iterator[Culprit]:
    for finding in () if advice is None else advice.findings:
        gain = finding.gain
        if finding.code == _SLOW_LINK and gain is not None and gain.expected_ratio >= NAMED_FROM_RATIO:
            params = {**finding.message.params, "gain_ns": gain.expected_ns, "gain_ratio": gain.expected_ratio}
            yield Culprit(Message("verdict.slow-link", params), gain.expected_ns)


def _uneven_load(advice: Advice | None) -> Iterator[Culprit]:
    """The ranks that have more to do than the others."""
    for finding in () if advice is None else advice.findings:
        gain = finding.gain
        if finding.message.message_id == _MORE_WORK and gain is not None and gain.expected_ratio >= NAMED_FROM_RATIO:
            params = {**finding.message.params, "gain_ns": gain.expected_ns, "gain_ratio": gain.expected_ratio}
            yield Culprit(Message("verdict.more-work", params), gain.expected_ns)


def _stragglers(facts: Facts, steps: list[MedianStep], advice: Advice | None) -> Iterator[Culprit]:
    """The ranks that the others wait for, the one that they wait for longest first."""
    held = () if advice is None else advice.suppressed
    if any(one.code == _STRAGGLER and one.reason.message_id in _UNEVEN_LOAD for one in held):
        return
    windows = {step.profile_id: step.window_ns for step in steps}
    rows = facts.rows("stragglers", _Straggler, lambda row: row["is_straggler"] and row["peers"] > 1)
    for row in sorted(rows, key=lambda row: (-row.caused_wait_ns, row.profile_id)):
        window_ns = windows.get(row.profile_id)
        if not window_ns or row.caused_wait_ns < NAMED_FROM_RATIO * window_ns:
            continue
        said = _said_of(row.profile_id, advice)
        rank: dict[str, object] = {
            "rank": "?" if row.rank is None else row.rank,
            "cause": Message(f"cause.{row.cause}"),
        }
        if _gains_little(said):
            longer_ns = max(row.own_ns - (row.peer_own_ns or 0), 0)
            yield Culprit(Message("verdict.straggler-hidden", {**rank, "longer_ns": longer_ns}), 0)
            continue
        waited = {"lost_ns": row.caused_wait_ns, "lost_ratio": row.caused_wait_ns / window_ns, "count": row.peers - 1}
        gain = said.gain if isinstance(said, Finding) else None
        cost_ns = row.caused_wait_ns if gain is None else gain.expected_ns
        yield Culprit(Message("verdict.straggler", {**rank, **waited}), cost_ns)


def _said_of(profile_id: int, advice: Advice | None) -> Finding | Suppressed | None:
    """What the advisor says of a straggler."""
    said: list[Finding | Suppressed] = [] if advice is None else [*advice.findings, *advice.suppressed]
    return next((one for one in said if one.code == _STRAGGLER and profile_id in one.location.profile_ids), None)


def _gains_little(said: Finding | Suppressed | None) -> bool:
    """Whether a price says that repairing a straggler would not make the step shorter by a part worth naming."""
    if isinstance(said, Suppressed):
        return said.reason.message_id in _GAINS_NOTHING
    return said is not None and said.gain is not None and said.gain.expected_ratio < NAMED_FROM_RATIO
