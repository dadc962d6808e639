"""The Analyzer of the guides: findings and pairs of ranks as items that answer by name and by attribute."""

from __future__ import annotations

import math
from collections.abc import Iterator
from difflib import get_close_matches
from enum import Enum
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from ascend_sn.advisor.advise import advise
from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Evidence, Finding, Location, Topic
from ascend_sn.errors import UnknownNameError
from ascend_sn.report.assemble.pairs import rank_pairs
from ascend_sn.report.documents.communication import RankPair
from ascend_sn.report.words.language import Code, Language, code_of_environment
from ascend_sn.store import Run, open_run
from ascend_sn.store.jobs import newest_job

__all__ = ["AnalysisProfile", "AnalysisReport", "Analyzer", "CommPair", "ExpectedGain", "ReportFinding", "report_of"]

_NAMES_SHOWN: Final = 4
_PRIORITY: Final[dict[str, Literal["high", "medium", "low"]]] = {"critical": "high", "warning": "medium", "info": "low"}


class AnalysisProfile(Enum):
    """What an analysis is about: everything, or one topic. The health of the data is part of each."""

    ALL = "all"
    COMMUNICATION = "communication"
    MEMORY = "memory"
    COMPUTE = "compute"
    HOST = "host"
    DATA = "data"


class _Item(msgspec.Struct, kw_only=True, frozen=True):
    """A row whose fields are read as attributes or by name."""

    def __getitem__(self, name: str) -> Any:
        """Return a field by name; KeyError where there is none of that name."""
        if name not in self.__struct_fields__:
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> tuple[str, ...]:
        """Return the names of the fields, so that `dict(item)` holds them all."""
        return self.__struct_fields__


class ExpectedGain(_Item, kw_only=True, frozen=True):
    """How much shorter a step would be: nanoseconds, and shares of the step from 0 to 1; low <= expected <= high."""

    low_ns: int
    expected_ns: int
    high_ns: int
    low_ratio: float
    expected_ratio: float
    high_ratio: float


class ReportFinding(_Item, kw_only=True, frozen=True):
    """What a rule found; texts are in the language of the Analyzer.

    Attributes:
        severity: `critical`, `warning` or `info`.
        location: What it is about: ranks, steps, operators, a line of the program.
        description: What was measured.
        suggestion: What to do.
        priority: `high`, `medium` or `low`; follows from the severity.
        rule: Code of the rule.
        topic: What the rule is about.
        title: The pattern in a few words.
        grade: The rule's own ladder, where it has one.
        confidence: How far the gain can be trusted: `high`, `medium` or `low`.
        expected_gain: What the change is worth, by replaying the step with it; None where there is no price.
        no_gain_because: Why there is no price.
        evidence: The figures behind it, each with its source.
        next_step: How to verify it, or what to collect first.
        effort: What has to be touched: `config`, `code` or `model`.
    """

    severity: str
    location: str
    description: str
    suggestion: str
    priority: str
    rule: str
    topic: str
    title: str
    grade: str | None
    confidence: str
    expected_gain: ExpectedGain | None
    no_gain_because: str
    evidence: tuple[Evidence, ...]
    next_step: str
    effort: str


class CommPair(_Item, kw_only=True, frozen=True):
    """Two ranks that communicate; figures are numbers always, `nan` where they are not known.

    Attributes:
        src_card: Rank that sends, or that waits.
        dst_card: Rank that receives, or that is waited for.
        bandwidth_utilization: Percent of the peak of the links between the two while bytes moved.
        avg_wait_time_ms: How long the source waits for the destination, per collective of both.
        reason: Why a figure is not known; empty where both are.
        group: Communicator in which the two numbers are places; empty where they are ranks of the job.
        bandwidth_bytes_per_s: What one stream reached; `nan` where no transfer was recorded.
        size_bytes: Bytes that moved; None where no transfer was recorded.
        transports: Kinds of links between the two, by commas.
    """

    src_card: int
    dst_card: int
    bandwidth_utilization: float
    avg_wait_time_ms: float
    reason: str
    group: str
    bandwidth_bytes_per_s: float
    size_bytes: int | None
    transports: str


class AnalysisReport(msgspec.Struct, kw_only=True, frozen=True):
    """What was found.

    Attributes:
        profile: What the analysis was about.
        findings: The most rewarding first, risks before them.
        comm_pairs: Pairs of ranks, for the profiles `ALL` and `COMMUNICATION`.
        held_back: Advice that was not given, each with its reason.
        not_collected: What could not be looked at, and how to collect it.
    """

    profile: AnalysisProfile
    findings: tuple[ReportFinding, ...]
    comm_pairs: tuple[CommPair, ...]
    held_back: tuple[str, ...]
    not_collected: tuple[str, ...]

    def __iter__(self) -> Iterator[ReportFinding]:
        """Go through the findings."""
        return iter(self.findings)


class Analyzer:
    """Analyses recorded data. Nothing is written into them."""

    def __init__(
        self,
        profiler_data_dir: str | Path,
        *,
        language: Code | None = None,
        job: str | None = None,
        cache_dir: Path | None = None,
    ) -> None:
        """Open the data.

        Args:
            profiler_data_dir: Anything that the readers understand: a recording, another profiler's output, a tree.
            language: `en` or `zh`; by default that of the environment.
            job: Which job, where the data hold several; by default the newest.
            cache_dir: Where what was read is kept; by default as on the command line.

        Raises:
            InputError: There are no such data, or nothing usable in them.
        """
        self._language = Language.load(code_of_environment() if language is None else language)
        run = open_run(profiler_data_dir, job=job, cache_dir=cache_dir)
        if job is None and len(run.jobs) > 1:
            newest = newest_job(run.manifest)
            run.close()
            run = open_run(profiler_data_dir, job=newest, cache_dir=cache_dir)
        self.run: Run = run
        self._facts = Facts(run)

    def close(self) -> None:
        """Release the data; an Analyzer in a `with` statement does so at its end."""
        self.run.close()

    def __enter__(self) -> Analyzer:
        """Return the Analyzer."""
        return self

    def __exit__(self, *reason: object) -> None:
        """Release the data."""
        self.close()

    def analyze(self, profile: AnalysisProfile | str = AnalysisProfile.ALL) -> AnalysisReport:
        """Let the advisor look, at everything or at one topic.

        Args:
            profile: The topic, or its name.

        Raises:
            UnknownNameError: No profile of that name.
        """
        return report_of(self._facts, _profile_of(profile), self._language)


def report_of(facts: Facts, about: AnalysisProfile, language: Language) -> AnalysisReport:
    """Return what the advisor finds in a run, and its pairs of ranks, in a language."""
    topics: set[Topic] | None = None if about is AnalysisProfile.ALL else {"collection", about.value}
    advice = advise(facts.run, topics=topics, facts=facts)
    with_pairs = about in (AnalysisProfile.ALL, AnalysisProfile.COMMUNICATION)
    return AnalysisReport(
        profile=about,
        findings=tuple(_finding(found, language) for found in advice.findings),
        comm_pairs=tuple(_pair(pair, language) for pair in rank_pairs(facts)) if with_pairs else (),
        held_back=tuple(f"{held.code}: {language.render(held.reason)}" for held in advice.suppressed),
        not_collected=tuple(
            f"{lacking.code}: {lacking.reason or lacking.what}" + (f" ({lacking.turn_on})" if lacking.turn_on else "")
            for lacking in advice.not_collected
        ),
    )


def _profile_of(profile: AnalysisProfile | str) -> AnalysisProfile:
    if isinstance(profile, AnalysisProfile):
        return profile
    known = [one.value for one in AnalysisProfile]
    if profile.lower() not in known:
        nearest = next(iter(get_close_matches(profile.lower(), known, n=1)), None)
        raise UnknownNameError("analysis profile", profile, known, nearest)
    return AnalysisProfile(profile.lower())


def _finding(found: Finding, language: Language) -> ReportFinding:
    gain = found.gain
    return ReportFinding(
        severity=found.severity,
        location=_place(found.location, language),
        description=language.render(found.message),
        suggestion=language.render(found.advice),
        priority=_PRIORITY[found.severity],
        rule=found.code,
        topic=found.topic,
        title=language.render(found.title),
        grade=found.grade,
        confidence=found.confidence,
        expected_gain=None
        if gain is None
        else ExpectedGain(**{name: getattr(gain, name) for name in ExpectedGain.__struct_fields__}),
        no_gain_because=language.render(found.unpriced) if found.unpriced else "",
        evidence=found.evidence,
        next_step=language.render(found.next_step),
        effort=found.effort,
    )


def _place(location: Location, language: Language) -> str:
    """Say what a finding is about; the whole run where nothing narrows it."""
    parts = []
    if location.ranks:
        parts.append(language.text("evidence.ranks", ranks=_listed(location.ranks)))
    if location.steps:
        parts.append(language.text("evidence.steps", steps=_listed(location.steps)))
    if location.stage is not None:
        parts.append(language.text("location.stage", stage=location.stage))
    if location.streams:
        parts.append(language.text("location.streams", streams=_listed(location.streams)))
    if location.names:
        parts.append(_listed(location.names))
    if location.site:
        parts.append(location.site)
    return " \u00b7 ".join(parts) or language.text("location.run")


def _listed(values: tuple[int, ...] | tuple[str, ...]) -> str:
    shown = ", ".join(map(str, values[:_NAMES_SHOWN]))
    return f"{shown}, \u2026" if len(values) > _NAMES_SHOWN else shown


def _pair(row: RankPair, language: Language) -> CommPair:
    reasons = []
    if row.bandwidth_reason is not None:
        reasons.append(language.text(f"pair.{row.bandwidth_reason}", transports=row.transports or ""))
    if row.mean_wait_ns is None:
        reasons.append(language.text("pair.no-waits"))
    return CommPair(
        src_card=row.src_rank,
        dst_card=row.dst_rank,
        bandwidth_utilization=math.nan if row.bandwidth_ratio is None else round(100 * row.bandwidth_ratio, 1),
        avg_wait_time_ms=math.nan if row.mean_wait_ns is None else round(row.mean_wait_ns / 1e6, 3),
        reason="; ".join(reasons),
        group=row.group_id or "",
        bandwidth_bytes_per_s=math.nan if row.bandwidth_bytes_per_s is None else row.bandwidth_bytes_per_s,
        size_bytes=row.size_bytes,
        transports=row.transports or "",
    )
