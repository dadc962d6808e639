"""What the advisor says: findings, what was held back and why, what could not be looked at, and the joint plan.

Texts are messages; they are rendered late, in the reader's language. Times are ns per step.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.advisor.message import Message

__all__ = [
    "Advice",
    "Confidence",
    "Effort",
    "Evidence",
    "Finding",
    "Location",
    "NotCollected",
    "Per",
    "Plan",
    "PlanStep",
    "PricedGain",
    "ReplayQuality",
    "Severity",
    "SliceRow",
    "Suppressed",
    "Topic",
]

Severity = Literal["critical", "warning", "info"]
Confidence = Literal["high", "medium", "low"]
Per = Literal["step", "request", "sample"]
Effort = Literal["config", "code", "model"]
Topic = Literal["communication", "memory", "compute", "host", "data", "collection"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One figure that a finding rests on, and where it comes from.

    Attributes:
        name: Name of the figure, with its unit (`exposed_comm_ns`, `overlap_ratio`).
        value: The figure, or a name.
        source: The analysis, or the table, that holds it.
        ranks: Ranks it is about; none: all of the run.
        steps: Steps it is about; none: all of them.
        start_ns: Begin of the time it is about, in the profile's own clock; absent: the whole of the steps.
        end_ns: End of that time.
    """

    name: str
    value: int | float | str
    source: str
    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    start_ns: int | None = None
    end_ns: int | None = None


class SliceRow(msgspec.Struct, frozen=True):
    """The row that a slice of the timeline is drawn from.

    Attributes:
        table: The table; `overlap` for a stretch of a device's activity, such as a free one.
        profile_id: The profile.
        key: Id of the row in its table; of a stretch, its begin in ns in the profile's own clock. A text: it may
            exceed what a number of JSON holds.
    """

    table: str
    profile_id: int
    key: str


class Location(msgspec.Struct, frozen=True, kw_only=True):
    """What a finding is about; an empty field does not narrow it."""

    profile_ids: tuple[int, ...] = ()
    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    stage: int | None = None
    group_id: str | None = None
    streams: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Operators, kernels or collectives."""
    site: str = ""
    """Module or line of the user's program."""
    slice: SliceRow | None = None
    """The costliest slice it is about: what is shown of it on a timeline."""


class PricedGain(msgspec.Struct, frozen=True, kw_only=True):
    """How much shorter a step would be: ns and share of the step (0 to 1); low <= expected <= high.

    Attributes:
        base_ns: Length of the step that the shares are of.
        method: `replay`: the step was replayed with the change; `direct`: measured by an analysis.
        change: The replayed transformation (W1 to W15), or empty.
        per: What becomes shorter, where it is not the step.
        remarks: What limits the price.
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
    remarks: tuple[Message, ...] = ()

    @property
    def is_sure(self) -> bool:
        """Whether the step becomes no longer at any of the bounds."""
        return self.low_ns >= 0


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern that costs time or puts the run at risk.

    Attributes:
        id: The code, with `#2` and so on where a rule found more than one.
        code: The rule.
        topic: What it is about.
        severity: From the expected gain: critical from 10 %, warning from 3 %, else info; one level less where the
            step may become longer (`low_ns` below 0). A finding without a price is info. Rules of risk set it
            themselves.
        grade: The rule's own ladder, where it has one.
        confidence: How far the gain can be trusted.
        title: The pattern, in a few words.
        message: What was measured, in one sentence.
        advice: What to do.
        next_step: How to verify it, or what to collect first.
        location: What it is about.
        evidence: The figures behind it.
        gain: What the change is worth; None where there is no price, then `unpriced` says why.
        unpriced: Why there is no price.
        at_stake_ns: Time per step that the finding is about: more cannot be recovered. It ranks findings without a
            price.
        effort: What has to be touched: `config`, `code` or `model`.
    """

    id: str
    code: str
    topic: Topic
    severity: Severity
    confidence: Confidence
    title: Message
    message: Message
    advice: Message
    next_step: Message
    location: Location
    evidence: tuple[Evidence, ...]
    effort: Effort
    grade: str | None = None
    gain: PricedGain | None = None
    unpriced: Message | None = None
    at_stake_ns: int | None = None


class Suppressed(msgspec.Struct, frozen=True, kw_only=True):
    """A finding that was held back, why, and what it would have said."""

    id: str
    code: str
    topic: Topic
    reason: Message
    title: Message
    message: Message
    location: Location
    evidence: tuple[Evidence, ...] = ()
    gain: PricedGain | None = None


class NotCollected(msgspec.Struct, frozen=True, kw_only=True):
    """A rule that could not look, what it misses, and the option that collects it."""

    code: str
    topic: Topic
    what: str
    state: str
    reason: str
    turn_on: str


class PlanStep(msgspec.Struct, frozen=True, kw_only=True):
    """One change of the plan: what it still gains after those before it, and how long the step then is, ns."""

    id: str
    code: str
    title: Message
    effort: Effort
    confidence: Confidence
    low_ns: int
    expected_ns: int
    high_ns: int
    step_ns: int


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """Changes in the order in which they are worth making; their gains together never exceed the step.

    Attributes:
        base_ns: Length of the step today.
        steps: The changes.
        too_small: Ids of findings that gain less than 1 % after the others.
        in_conflict: Ids of findings that cannot be made beside one that is in the plan.
    """

    base_ns: int
    steps: tuple[PlanStep, ...] = ()
    too_small: tuple[str, ...] = ()
    in_conflict: tuple[str, ...] = ()


class ReplayQuality(msgspec.Struct, frozen=True, kw_only=True):
    """How well the replayed graph explains the capture; without `refused`, gains are priced on it."""

    observed_ns: int
    base_ns: int
    identity_error_ratio: float
    unexplained_ratio: float
    without_residuals_ns: int
    scope: str
    ranks: tuple[int | None, ...]
    confidence: Confidence
    remarks: tuple[Message, ...] = ()
    refused: Message | None = None


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """What the advisor says of a run.

    Attributes:
        findings: Risks that are critical first, then by the time that is to be had.
        suppressed: What was held back.
        not_collected: Rules that lack their input.
        quiet: Codes of the rules that looked and found nothing.
        plan: The changes one after another; None where nothing is priced.
        replay: The graph behind the prices; None where no rule wanted a price or none could be built.
    """

    findings: tuple[Finding, ...] = ()
    suppressed: tuple[Suppressed, ...] = ()
    not_collected: tuple[NotCollected, ...] = ()
    quiet: tuple[str, ...] = ()
    plan: Plan | None = None
    replay: ReplayQuality | None = None
