"""What a change is worth: gains with a lower and an upper bound, how far they can be trusted, and why not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import Any, Literal

import msgspec

from ascend_sn.replay.edits import Edit
from ascend_sn.replay.engine import Draft
from ascend_sn.replay.graph import StepGraph
from ascend_sn.replay.steady import steady_ns

__all__ = ["Bound", "Confidence", "Gain", "Remark", "Transform", "Unpriced", "price", "replayed_ns"]

Confidence = Literal["high", "medium", "low"]


class Remark(msgspec.Struct, frozen=True):
    """Something to say about a price, before it has a language: an id and its parameters."""

    message_id: str
    params: Mapping[str, Any] = msgspec.field(default_factory=dict)


class Bound(msgspec.Struct, frozen=True, eq=False):
    """Edits of one bound of a transformation.

    Attributes:
        edits: What changes, one after another.
        share_ratio: Share of the steps in which it does (one step of N keeps what is removed: 1 - 1/N).
        work_ratio: Work of an edited step, in units of the present one (2 for twice the batch).
    """

    edits: tuple[Edit, ...]
    share_ratio: float = 1.0
    work_ratio: float = 1.0


class Transform(msgspec.Struct, frozen=True, eq=False):
    """A transformation with its least, expected and greatest effect.

    Attributes:
        name: Its id, W1 and so on, or a word.
        low: Least effect.
        expected: What is most likely.
        high: Greatest effect.
        remarks: What limits the price.
        confidence: No gain of it is trusted more.
    """

    name: str
    low: Bound
    expected: Bound
    high: Bound
    remarks: tuple[Remark, ...] = ()
    confidence: Confidence = "high"

    @staticmethod
    def of(
        name: str, bounds: Iterable[Bound], remarks: tuple[Remark, ...] = (), confidence: Confidence = "high"
    ) -> Transform:
        """Return a transformation from its three bounds: low, expected, high."""
        low, expected, high = bounds
        return Transform(name, low, expected, high, remarks, confidence)

    @staticmethod
    def exactly(name: str, *edits: Edit) -> Transform:
        """Return a transformation whose effect is the same in all bounds."""
        return Transform.of(name, [Bound(edits)] * 3)


class Gain(msgspec.Struct, frozen=True):
    """Time that a step loses, ns and share of the replayed step; negative where it becomes longer.

    `low_ns <= expected_ns <= high_ns`.
    """

    low_ns: int
    expected_ns: int
    high_ns: int
    base_ns: int
    confidence: Confidence
    remarks: tuple[Remark, ...] = ()

    @property
    def low_ratio(self) -> float:
        """Share of the step, 0 to 1."""
        return self.low_ns / self.base_ns

    @property
    def expected_ratio(self) -> float:
        """Share of the step, 0 to 1."""
        return self.expected_ns / self.base_ns

    @property
    def high_ratio(self) -> float:
        """Share of the step, 0 to 1."""
        return self.high_ns / self.base_ns


class Unpriced(msgspec.Struct, frozen=True):
    """No price, and why."""

    reason: Remark


def replayed_ns(graph: StepGraph, *bounds: Bound, guesses: bool = True) -> float:
    """Return how long a step is per unit of its work once some edits have lasted, ns; see `Draft` for `guesses`."""
    draft = Draft(graph, guesses=guesses)
    work = 1.0
    for bound in bounds:
        for edit in bound.edits:
            edit.apply(draft)
        work *= bound.work_ratio
    return steady_ns(draft) / work


def price(
    graph: StepGraph,
    base_ns: int,
    transform: Transform,
    confidence: Confidence,
    spread: tuple[float, float] = (0.0, 0.0),
) -> Gain:
    """Return the gain of a transformation on a graph whose step takes `base_ns`.

    In the low case no thread is taken to wait where that is a guess.

    Args:
        graph: The replayed step.
        base_ns: Its length.
        transform: The transformation.
        confidence: No gain is trusted more.
        spread: By what share shorter and longer steps of the capture differ from this one; low and high hold that, too,
            but what makes the step shorter is never said to make it longer for that reason. Steps differ by the sum of
            what their stretches do, so that a shorter one has less of it, but more for its length: the share grows with
            the root of how many times shorter the step becomes.
    """
    low, expected, high = (
        round((base_ns - replayed_ns(graph, bound, guesses=guesses)) * bound.share_ratio)
        for bound, guesses in ((transform.low, False), (transform.expected, True), (transform.high, True))
    )
    low, high = min(low, expected), max(high, expected)
    shorter, longer = spread
    return Gain(
        low_ns=max(round(low - longer * _varying_ns(base_ns, low)), min(low, 0)),
        expected_ns=expected,
        high_ns=min(round(high + shorter * _varying_ns(base_ns, high)), max(high, base_ns)),
        base_ns=base_ns,
        confidence=least(confidence, transform.confidence),
        remarks=transform.remarks,
    )


def _varying_ns(base_ns: int, gain_ns: int) -> float:
    """Return the length of which a step varies by the share that the present one does, ns."""
    changed_ns = max(base_ns - gain_ns, 0)
    return max(changed_ns, sqrt(changed_ns * base_ns)) if gain_ns > 0 else changed_ns


def least(*confidences: Confidence) -> Confidence:
    """Return the lowest of some confidences."""
    order: tuple[Confidence, ...] = ("low", "medium", "high")
    return min(confidences, key=order.index)
