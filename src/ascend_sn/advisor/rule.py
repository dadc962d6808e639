"""What a rule is, what it gets, and what it may claim."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Confidence, Effort, Evidence, Location, Per, Severity, Topic
from ascend_sn.advisor.median_step import MedianStep, Phases, median_phases, median_steps
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.thresholds import Limits
from ascend_sn.model.kinds import HOST_KINDS

if TYPE_CHECKING:
    from ascend_sn.replay import Replay, StepGraph, Transform, Unpriced

    Change = Callable[[StepGraph], Transform | Unpriced]

__all__ = ["Claim", "Context", "DirectGain", "Lacking", "Outcome", "Profile", "Rule", "Shared", "Slices", "TextPart"]

TextPart = Literal["title", "message", "advice", "verify"]


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the table `profile`; `config` is what was configured, `versions` those of the software, by name."""

    profile_id: int
    rank: int | None
    host: str | None
    device_kind: str | None
    device_name: str | None
    format: str
    world_size: int | None
    config: dict[str, Any]
    versions: dict[str, Any]


class DirectGain(msgspec.Struct, frozen=True):
    """A gain that an analysis has measured, ns per step; negative where the step becomes longer.

    `base_ns` is what the shares are of, where that is not the median step; `per` says what it is then.
    """

    low_ns: int
    expected_ns: int
    high_ns: int
    base_ns: int | None = None
    per: Per = "step"


class Slices(msgspec.Struct, frozen=True):
    """The slices that a claim is about, where the names of its location do not say: rows of a table.

    Attributes:
        table: A table whose rows are slices, or `overlap` for the free stretches of the devices.
        condition: Which rows, as SQL; `$names` stands for the names, `{calls}` for the table of host calls by class.
        names: The names in the condition.
    """

    table: str
    condition: str = "true"
    names: tuple[str, ...] = ()


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What a rule says before it has a price; `advise` prices it, grades it and ranks it.

    Attributes:
        params: What the placeholders of its texts stand for, all of them.
        location: What it is about.
        evidence: The figures behind it.
        changes: What would be changed, as functions that make a transformation of the replayed graph. Of several the
            one with the greatest expected gain is the price. None: no price, unless `direct` is given.
        direct: The gain, where an analysis has it.
        unpriced: Why there is neither a change nor a direct gain.
        at_stake_ns: Time per step that the claim is about; no more can be recovered.
        suppressed_by: Why it is held back; None: it is not.
        texts: Parts of the text that are not the usual ones, as message ids (`{"advice": <id>}`).
        grade: Place on the rule's own ladder.
        severity: Only for rules of risk.
        confidence: It is trusted no more than this.
        effort: What has to be touched; None: as the rule says.
        in_plan: Whether the change takes part in the joint plan.
        slices: What the costliest slice of its location is looked for among; None: what the names say, else by topic.
        tells_hidden: Whether it is told, without a price, where the replay finds that the step is not held by it today.
    """

    params: Mapping[str, Any] = msgspec.field(default_factory=dict)
    location: Location = msgspec.field(default_factory=Location)
    evidence: tuple[Evidence, ...] = ()
    changes: tuple[Change, ...] = ()
    direct: DirectGain | None = None
    unpriced: Message | None = None
    at_stake_ns: int | None = None
    suppressed_by: Message | None = None
    texts: Mapping[TextPart, str] = msgspec.field(default_factory=dict)
    grade: str | None = None
    severity: Severity | None = None
    confidence: Confidence = "high"
    effort: Effort | None = None
    in_plan: bool = True
    slices: Slices | None = None
    tells_hidden: bool = False


class Lacking(msgspec.Struct, frozen=True):
    """A rule cannot look for want of an analysis or a table.

    `advise` takes reason and option from the analysis of that name, where the rule does not give them.
    """

    analysis: str
    reason: str = ""
    turn_on: str = ""


Outcome = Claim | Lacking


class Shared:
    """What all rules look at, each thing worked out when it is first asked for."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The captured processes, by rank."""
        return tuple(
            msgspec.convert({**row, "config": _object(row["config"]), "versions": _object(row["versions"])}, Profile)
            for row in self.facts.profiles
        )

    @cached_property
    def steps(self) -> list[MedianStep]:
        """The median step of each profile with device work, by rank."""
        return median_steps(self.facts)

    @cached_property
    def phases(self) -> list[Phases]:
        """The same steps by phase."""
        return median_phases(self.facts, self.steps)

    @cached_property
    def score(self) -> float | None:
        """The worst data score of the profiles (A01), 0 to 1."""
        scores = [row.score for row in self.facts.rows("data_score", _Score)]
        return min((score for score in scores if score is not None), default=None)

    @cached_property
    def base_ns(self) -> int:
        """The step that shares are of where nothing is replayed: the longest median step of the profiles."""
        return max((step.window_ns for step in self.steps), default=0)

    @property
    def has_replay(self) -> bool:
        """Whether the replayed step was asked for."""
        return "replay" in self.facts.__dict__

    @property
    def replay(self) -> Replay | Unpriced:
        """The replayed step; ask for it only where a decision needs the graph: claims are priced by `advise`."""
        return self.facts.replay


class Context:
    """What one rule gets: the facts of the run, and its own thresholds."""

    def __init__(self, shared: Shared, limits: Limits) -> None:
        self.shared = shared
        self.limits = limits

    @property
    def facts(self) -> Facts:
        """Analysis results by name, and the tables."""
        return self.shared.facts

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The captured processes, by rank."""
        return self.shared.profiles

    @property
    def steps(self) -> list[MedianStep]:
        """The median step of each profile with device work, by rank."""
        return self.shared.steps

    @property
    def device_steps(self) -> list[MedianStep]:
        """Those of them that ran on an accelerator: launches, cores and kernels mean something there only."""
        return [step for step in self.steps if step.device_kind not in HOST_KINDS and step.window_ns > 0]

    @property
    def phases(self) -> list[Phases]:
        """The same steps by phase."""
        return self.shared.phases

    @property
    def replay(self) -> Replay | Unpriced:
        """The replayed step; building it takes time: only where a decision needs the graph."""
        return self.shared.replay


class Rule(msgspec.Struct, frozen=True):
    """A rule of the advisor.

    Attributes:
        code: Its stable code; never used again for something else.
        name: The pattern in two or three words, joined by dashes.
        topic: What it is about.
        effort: What a user has to touch to follow it.
        check: Yields claims, worst first; nothing where the pattern is not there.
        needs: Analyses without which it cannot look; the rule is then "not collected, turn on X".
        is_risk: Whether it sets its severity itself.
        texts: Its texts by part, with `{placeholders}`, where they are not in the catalogues: for rules of users.
        limits: Its thresholds by name, where they are not in `thresholds.toml`: for rules of users.
    """

    code: str
    name: str
    topic: Topic
    effort: Effort
    check: Callable[[Context], Iterable[Outcome]]
    needs: tuple[str, ...] = ()
    is_risk: bool = False
    texts: Mapping[str, str] = msgspec.field(default_factory=dict)
    limits: Mapping[str, float] = msgspec.field(default_factory=dict)

    def text(self, part: str) -> str:
        """Return the id of one of its texts: title, message, advice, verify, why, not-when; or the text it brings."""
        return self.texts.get(part) or f"rule.{self.code.lower()}.{part}"


class _Score(msgspec.Struct):
    score: float | None


def _object(text: str | None) -> dict[str, Any]:
    if not text:
        return {}
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return {}
    return found if isinstance(found, dict) else {}
