"""What the document holds of the advisor: findings, what was held back and why, the plan, the quality of the replay."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ascend_sn.advisor.finding import Confidence, Effort, Evidence, Location, Per, Severity, Topic
from ascend_sn.report.documents.section import Section

__all__ = [
    "FindingEntry",
    "Findings",
    "Gain",
    "LackingRule",
    "PlanEntry",
    "PlanOfChanges",
    "ReplayFigures",
    "SuppressedEntry",
]


class Gain(msgspec.Struct, kw_only=True):
    """How much shorter a step would be, ns and share of a step of `base_ns`; low <= expected <= high.

    `per` is what becomes shorter where it is not the step. `method` is `replay` (the step was replayed with the change,
    `change` is which) or `direct` (an analysis measured it). `remarks` say what limits it.
    """

    low_ns: int
    expected_ns: int
    high_ns: int
    low_ratio: float
    expected_ratio: float
    high_ratio: float
    base_ns: int
    method: Literal["replay", "direct"]
    change: str = ""
    per: Per = "step"
    remarks: list[str] = []


class FindingEntry(msgspec.Struct, kw_only=True):
    """A finding; texts are in the document's language, `message_id` and `params` are what `description` is made of.

    Without `gain`, `unpriced` says why. `at_stake_ns` is the time per step that it is about.
    """

    id: str
    rule: str
    topic: Topic
    severity: Severity
    grade: str | None
    confidence: Confidence
    title: str
    description: str
    suggestion: str
    next_step: str
    message_id: str
    params: dict[str, Any]
    location: Location
    evidence: list[Evidence]
    gain: Gain | None
    unpriced: str
    at_stake_ns: int | None
    effort: Effort


class SuppressedEntry(msgspec.Struct, kw_only=True):
    """A finding that was held back: `reason` says why, `description` what it would have said."""

    id: str
    rule: str
    topic: Topic
    title: str
    description: str
    reason: str
    location: Location
    evidence: list[Evidence]
    gain: Gain | None


class LackingRule(msgspec.Struct, kw_only=True):
    """A rule that could not look for want of `what`."""

    rule: str
    topic: Topic
    title: str
    what: str
    state: str
    reason: str
    turn_on: str


class PlanEntry(msgspec.Struct, kw_only=True):
    """A change of the plan: what it gains after those before it, and how long the step then is."""

    id: str
    rule: str
    title: str
    effort: Effort
    confidence: Confidence
    low_ns: int
    expected_ns: int
    high_ns: int
    step_ns: int


class PlanOfChanges(msgspec.Struct, kw_only=True):
    """Changes in the order in which they are worth making; `base_ns` is the step today.

    `too_small` and `in_conflict` are ids of findings that are not in it.
    """

    base_ns: int
    steps: list[PlanEntry]
    too_small: list[str]
    in_conflict: list[str]


class ReplayFigures(msgspec.Struct, kw_only=True):
    """How well the replayed step explains the capture; `refused` says why nothing is priced on it."""

    scope: str
    ranks: list[int | None]
    observed_ns: int
    base_ns: int
    identity_error_ratio: float
    unexplained_ratio: float
    without_residuals_ns: int
    confidence: Confidence
    remarks: list[str]
    refused: str = ""


class Findings(Section, kw_only=True):
    """What the advisor says: findings by the time that is to be had, what was held back, which rules could not look.

    `quiet` are the rules that looked and found nothing; `plan` is null where nothing has a price, `replay` where
    nothing was replayed. `changed_thresholds` are those that the user has set.
    """

    rows: list[FindingEntry] = []
    suppressed: list[SuppressedEntry] = []
    lacking: list[LackingRule] = []
    quiet: list[str] = []
    plan: PlanOfChanges | None = None
    replay: ReplayFigures | None = None
    changed_thresholds: list[str] = []
