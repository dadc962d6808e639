"""The document of a comparison: `compare --format json` is this, encoded; that of the gate holds it.

Times are ns, sizes bytes, shares and relative changes ratios; null means not collected or not known, never zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, get_args

import msgspec

from ascend_sn._version import __version__
from ascend_sn.compare.attribution import Attribution, Contribution, MatchedBy
from ascend_sn.compare.audit import Audit
from ascend_sn.compare.collectives import CollectiveChange
from ascend_sn.compare.comparison import Comparison, Outcome, Scaling
from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.fused import FusedChanges
from ascend_sn.compare.gate import GateResult, NullTest, Reason
from ascend_sn.compare.history.record import Baseline
from ascend_sn.compare.judge import Judgement
from ascend_sn.compare.operators import OperatorChange
from ascend_sn.compare.recovery import Recovery
from ascend_sn.model.message import Message
from ascend_sn.report.documents.section import Statement
from ascend_sn.report.words.comparison_text import (
    baseline_sentence,
    gate_sentences,
    obstacle_sentences,
    recovery_sentence,
    verdict_sentences,
)
from ascend_sn.report.words.language import Code, Language

__all__ = [
    "COMPARE_SCHEMA",
    "DEFAULT_ROWS",
    "GATE_SCHEMA",
    "NULL_SCHEMA",
    "ComparedRun",
    "ComparisonDocument",
    "Difference",
    "GateDocument",
    "NullDocument",
    "PartChange",
    "comparison_document",
    "gate_document",
    "null_document",
]

COMPARE_SCHEMA: Final = "ascend-sn/compare/1"
GATE_SCHEMA: Final = "ascend-sn/gate/1"
NULL_SCHEMA: Final = "ascend-sn/gate-null/1"

DEFAULT_ROWS: Final = 20
Part = Literal["compute_ns", "exposed_comm_ns", "exposed_copy_ns", "free_ns"]

_PARTS: Final[tuple[Part, ...]] = get_args(Part)


class ComparedRun(msgspec.Struct, kw_only=True):
    """One run of a side."""

    name: str
    device_kinds: list[str]
    device_names: list[str]
    size: int
    ranks: list[int]
    scope: str
    step_count: int
    steady_step_count: int
    median_step_ns: float | None
    tool_version: str
    peak_component: str | None = None


class PartChange(msgspec.Struct, kw_only=True):
    """A part of the mean steady step of a rank; the parts of a side add up to its step."""

    part: Part
    base_ns: int
    candidate_ns: int


class Difference(msgspec.Struct, kw_only=True):
    """The difference of the steps, divided: the listed rows and `others_ns` add up to `difference_ns`."""

    difference_ns: int
    matched_by: MatchedBy
    matched_ratio: float
    explained_ratio: float | None
    row_count: int
    rows: list[Contribution]
    others_ns: int


class ComparisonDocument(msgspec.Struct, kw_only=True):
    """A comparison, as every view shows it.

    Attributes:
        verdict: regression, possible, inconclusive, no change, improved, scaling, or cannot compare.
        decided_by: Metrics that the verdict is about.
        confidence: `low` where steps of few runs stand for runs.
        said: The verdict in sentences; the first one is the headline.
        remarks: What differs between the sides and has to be known.
        metrics: Before and after.
        parts: The step before and after.
        lacking: Metrics that only one side has, and which side lacks them.
        absent: Metrics that neither side has.
        fused: Chains of kernels that were fused or split between the runs that stand for their sides; null where a
            run has no device kernels, and where they were not looked for (the gate).
        analysis_ns: Time from the start of the command to this verdict.
    """

    schema: Literal["ascend-sn/compare/1"]
    generator: str
    language: Code
    baseline: list[ComparedRun]
    candidate: list[ComparedRun]
    verdict: Outcome
    decided_by: list[str]
    confidence: Literal["normal", "low"]
    said: list[Statement]
    remarks: list[Statement]
    metrics: list[Judgement]
    lacking: dict[str, Literal["baseline", "candidate"]]
    absent: list[str]
    parts: list[PartChange]
    difference: Difference | None
    recoveries: list[Recovery]
    operators: list[OperatorChange]
    collectives: list[CollectiveChange]
    scaling: Scaling | None
    predictions: Audit | None
    analysis_ns: int
    fused: FusedChanges | None = None


class GateDocument(msgspec.Struct, kw_only=True):
    """What the gate says.

    Attributes:
        verdict: passed, failed, unsure (passed with a warning), or cannot compare.
        said: The verdict in sentences; the first one is the headline.
        reasons: What is not simply fine, by metric.
        comparison: The comparison behind it.
        history: Runs of the history that were the baseline; null where runs were named.
    """

    schema: Literal["ascend-sn/gate/1"]
    generator: str
    language: Code
    verdict: Literal["passed", "failed", "unsure", "cannot compare"]
    said: list[Statement]
    reasons: list[Reason]
    comparison: ComparisonDocument
    history: Baseline | None = None


class NullDocument(msgspec.Struct, kw_only=True):
    """How often the gate would have failed the baseline against itself."""

    schema: Literal["ascend-sn/gate-null/1"]
    generator: str
    language: Code
    result: NullTest


def comparison_document(
    comparison: Comparison,
    base: Sequence[RunFigures],
    candidate: Sequence[RunFigures],
    language: Language,
    *,
    recoveries: Sequence[Recovery] = (),
    predictions: Audit | None = None,
    fused: FusedChanges | None = None,
    rows: int = DEFAULT_ROWS,
    analysis_ns: int,
) -> ComparisonDocument:
    """Return the document of a comparison, its texts in a language.

    Args:
        comparison: What was found.
        base: Runs of the baseline.
        candidate: Runs of the candidate.
        language: Of the texts.
        recoveries: What restoring each cause recovers.
        predictions: What was predicted for the baseline.
        fused: Chains of kernels that were fused or split.
        rows: Rows of the difference that are listed.
        analysis_ns: Time that it took so far.
    """
    said = [*obstacle_sentences(comparison.obstacles), *verdict_sentences(comparison)]
    said += [recovery_sentence(one) for one in recoveries]
    return ComparisonDocument(
        schema="ascend-sn/compare/1",
        generator=_generator(),
        language=language.code,
        baseline=[_run(run) for run in base],
        candidate=[_run(run) for run in candidate],
        verdict=comparison.verdict,
        decided_by=comparison.decided_by,
        confidence=comparison.confidence,
        said=_statements(said, language),
        remarks=_statements(comparison.remarks, language),
        metrics=comparison.judgements,
        lacking=comparison.lacking,
        absent=comparison.absent,
        parts=_parts(base, candidate) if comparison.judgements else [],
        difference=None if comparison.attribution is None else _difference(comparison.attribution, rows),
        recoveries=list(recoveries),
        operators=comparison.operators,
        collectives=comparison.collectives,
        scaling=comparison.scaling,
        predictions=predictions,
        analysis_ns=analysis_ns,
        fused=fused,
    )


def gate_document(
    result: GateResult, document: ComparisonDocument, language: Language, history: Baseline | None = None
) -> GateDocument:
    """Return the document of the gate around that of its comparison."""
    said = gate_sentences(result)
    said += [recovery_sentence(one) for one in document.recoveries if result.verdict in ("failed", "unsure")]
    if history is not None:
        said.append(baseline_sentence(history))
    return GateDocument(
        schema="ascend-sn/gate/1",
        generator=_generator(),
        language=language.code,
        verdict=result.verdict,
        said=_statements(said, language),
        reasons=result.reasons,
        comparison=document,
        history=history,
    )


def null_document(result: NullTest, language: Language) -> NullDocument:
    """Return the document of the null test."""
    return NullDocument(schema="ascend-sn/gate-null/1", generator=_generator(), language=language.code, result=result)


def _generator() -> str:
    return f"generated by ascend-sn {__version__}"


def _statements(messages: Iterable[Message], language: Language) -> list[Statement]:
    return [
        Statement(
            message_id=message.message_id,
            params=msgspec.to_builtins(message.params),
            text=language.render(message),
        )
        for message in messages
    ]


def _run(run: RunFigures) -> ComparedRun:
    return ComparedRun(
        name=run.name,
        device_kinds=run.device_kinds,
        device_names=run.device_names,
        size=run.size,
        ranks=run.ranks,
        scope=run.scope,
        step_count=run.all_step_count,
        steady_step_count=len(run.steps),
        median_step_ns=run.median_step_ns if run.steps else None,
        tool_version=run.tool_version,
        peak_component=run.peak.component if run.peak else None,
    )


def _parts(base: Sequence[RunFigures], candidate: Sequence[RunFigures]) -> list[PartChange]:
    before, after = _mean_parts(base), _mean_parts(candidate)
    if before is None or after is None:
        return []
    return [
        PartChange(part=name, base_ns=was, candidate_ns=now)
        for name, was, now in zip(_PARTS, before, after, strict=True)
    ]


def _mean_parts(runs: Sequence[RunFigures]) -> list[int] | None:
    sums = [0.0] * len(_PARTS)
    for run in runs:
        if run.parts is None:
            return None
        parts = run.parts
        values = (parts.compute_ns, parts.exposed_comm_ns, parts.exposed_copy_ns, sum(parts.free.values()))
        for at, value in enumerate(values):
            sums[at] += value / parts.window_count / len(runs)
    return [round(total) for total in sums]


def _difference(divided: Attribution, rows: int) -> Difference:
    listed = divided.rows[:rows]
    return Difference(
        difference_ns=divided.difference_ns,
        matched_by=divided.matched_by,
        matched_ratio=divided.matched_ratio,
        explained_ratio=divided.explained_ratio,
        row_count=len(divided.rows),
        rows=listed,
        others_ns=divided.difference_ns - sum(row.delta_ns for row in listed),
    )
