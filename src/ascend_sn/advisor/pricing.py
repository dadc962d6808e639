"""What a claim is worth: priced on the replayed step, or taken from the analysis that measured it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.finding import Confidence, PricedGain, ReplayQuality
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, DirectGain, Shared
from ascend_sn.advisor.thresholds import Limits

if TYPE_CHECKING:
    from ascend_sn.replay import Gain, Remark, Transform

__all__ = ["Price", "priced", "quality_of", "said"]

_TRUST: Final[tuple[Confidence, ...]] = ("low", "medium", "high")


class Price(msgspec.Struct, frozen=True):
    """The price of a claim: with `gain` there is one; else `unpriced` may say why not.

    `transform` is what was replayed, for the joint plan.
    """

    gain: PricedGain | None = None
    unpriced: Message | None = None
    confidence: Confidence = "low"
    transform: Transform | None = None


def priced(shared: Shared, claim: Claim, general: Limits) -> Price:
    """Return the price of a claim; of several changes that with the greatest expected gain."""
    most: tuple[Confidence, ...] = (claim.confidence, *_of_data(shared, general))
    if claim.direct is not None:
        return Price(gain=_direct(claim.direct, shared.base_ns), confidence=_least(*most))
    if not claim.changes:
        return Price(unpriced=claim.unpriced, confidence=_least(*most))
    return _replayed(shared, claim, most)


def quality_of(shared: Shared) -> ReplayQuality | None:
    """Say how good the replayed graph is; None where none was built."""
    if not shared.has_replay:
        return None
    from ascend_sn.replay import Unpriced

    replay = shared.replay
    if isinstance(replay, Unpriced):
        return None
    refused = replay.refusal
    return ReplayQuality(
        observed_ns=replay.observed_ns,
        base_ns=replay.base_ns,
        identity_error_ratio=replay.identity_error_ratio,
        unexplained_ratio=replay.unexplained_ratio,
        without_residuals_ns=replay.without_residuals_ns,
        scope=replay.choice.scope,
        ranks=tuple(window.rank for window in replay.choice.windows),
        confidence=replay.confidence,
        remarks=tuple(map(said, replay.remarks)),
        refused=None if refused is None else said(refused),
    )


def said(remark: Remark) -> Message:
    """Return a remark of the replay as a message."""
    return Message(remark.message_id, dict(remark.params))


def _replayed(shared: Shared, claim: Claim, most: tuple[Confidence, ...]) -> Price:
    from ascend_sn.replay import Unpriced

    replay = shared.replay
    if isinstance(replay, Unpriced):
        return Price(unpriced=said(replay.reason))
    if replay.refusal is not None:
        return Price(unpriced=said(replay.refusal))
    best: tuple[Gain, Transform] | None = None
    reason = None
    for change in claim.changes:
        transform = change(replay.graph)
        found = transform if isinstance(transform, Unpriced) else replay.gain(transform)
        if isinstance(found, Unpriced) or isinstance(transform, Unpriced):
            reason = reason or (said(found.reason) if isinstance(found, Unpriced) else None)
        elif best is None or found.expected_ns > best[0].expected_ns:
            best = found, transform
    if best is None:
        return Price(unpriced=reason, confidence=_least(*most))
    gain, transform = best
    return Price(
        gain=PricedGain(
            low_ns=gain.low_ns,
            expected_ns=gain.expected_ns,
            high_ns=gain.high_ns,
            low_ratio=gain.low_ratio,
            expected_ratio=gain.expected_ratio,
            high_ratio=gain.high_ratio,
            base_ns=gain.base_ns,
            method="replay",
            change=transform.name,
            remarks=tuple(map(said, gain.remarks)),
        ),
        confidence=_least(gain.confidence, *most),
        transform=transform,
    )


def _direct(direct: DirectGain, base_ns: int) -> PricedGain:
    base = max(base_ns if direct.base_ns is None else direct.base_ns, 1)
    return PricedGain(
        low_ns=direct.low_ns,
        expected_ns=direct.expected_ns,
        high_ns=direct.high_ns,
        low_ratio=direct.low_ns / base,
        expected_ratio=direct.expected_ns / base,
        high_ratio=direct.high_ns / base,
        base_ns=base,
        method="direct",
        per=direct.per,
    )


def _of_data(shared: Shared, general: Limits) -> list[Confidence]:
    """How far the capture itself can be trusted: its score (A01), and the number of its steps."""
    score_is_low = shared.score is not None and shared.score < general["trusted_score_ratio"]
    few_steps = any(step.step_count < general["trusted_step_count"] for step in shared.steps)
    return ["low"] if score_is_low or few_steps else []


def _least(*confidences: Confidence) -> Confidence:
    return min(confidences, key=_TRUST.index)
