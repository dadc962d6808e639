"""Cells of the tables of a comparison, as text; names in them are printable, and not yet escaped for any markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ascend_sn.compare.attribution import Contribution
from ascend_sn.compare.audit import Audit, AuditRow
from ascend_sn.compare.collectives import CollectiveChange
from ascend_sn.compare.fused import FusedChain, FusedChanges
from ascend_sn.compare.judge import Judgement
from ascend_sn.report.documents.comparison import ComparedRun, Difference, PartChange
from ascend_sn.report.words.comparison_text import (
    MATCHED_BY,
    cause_text,
    change_text,
    interval_text,
    limit_text,
    metric_text,
    signed_duration,
    spread_text,
    value_text,
    verdict_word,
)
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.report.words.quantities import count_text, duration_text

__all__ = [
    "FUSED_COLUMNS",
    "collective_cells",
    "difference_note",
    "fused_cells",
    "fused_sentences",
    "metric_cells",
    "part_cells",
    "prediction_cells",
    "row_cells",
    "side_text",
]

_NAMED_RUNS = 3

FUSED_COLUMNS: Final = (
    "compare.fused.chain-before",
    "compare.fused.chain-after",
    "compare.fused.state",
    "compare.fused.kernels",
    "compare.fused.count",
    "column.baseline",
    "column.candidate",
    "compare.fused.gain",
)
"""Headings of `fused_cells`."""

_FUSED = {"fused": "compare.fused.fused", "split": "compare.fused.split"}
_HELD = {"below": "compare.held.below", "within": "compare.held.within", "above": "compare.held.above"}


def side_text(runs: Sequence[ComparedRun], language: Language) -> str:
    """Say what a side is: names of its runs, device, ranks, steps."""
    names = ", ".join(printable(run.name) for run in runs[:_NAMED_RUNS])
    if len(runs) > _NAMED_RUNS:
        names = language.text("compare.and-more", names=names, count=len(runs) - _NAMED_RUNS)
    first = runs[0]
    parts = [
        names,
        printable(", ".join(first.device_names or first.device_kinds)),
        language.text("compare.rank-count", count=first.size),
        language.text("compare.step-count", count=sum(run.steady_step_count for run in runs)),
    ]
    if len(runs) > 1:
        parts.insert(1, language.text("compare.run-count", count=len(runs)))
    return " \u00b7 ".join(part for part in parts if part)


def metric_cells(one: Judgement, language: Language) -> tuple[str, ...]:
    """Name, baseline, candidate, change, interval, limit, verdict, and a sentence on the spread of the samples."""
    base, candidate = spread_text(one, one.base_spread), spread_text(one, one.candidate_spread)
    spread = ""
    if base or candidate:
        known = "compare.spread-runs" if one.method in ("runs", "prediction") else "compare.spread-steps"
        name = metric_text(one.metric, language)
        spread = language.text(known, metric=name, base=base or "-", candidate=candidate or "-")
    return (
        metric_text(one.metric, language),
        value_text(one, one.base),
        value_text(one, one.candidate),
        change_text(one, one.change),
        interval_text(one),
        limit_text(one),
        verdict_word(one.verdict, language),
        spread,
    )


def part_cells(part: PartChange, language: Language) -> tuple[str, str, str, str]:
    """Name, baseline, candidate, and the change."""
    return (
        language.text(f"part.{part.part}"),
        duration_text(part.base_ns),
        duration_text(part.candidate_ns),
        signed_duration(part.candidate_ns - part.base_ns),
    )


def difference_note(found: Difference, language: Language) -> str:
    """Say how large the difference is, and what told operators apart."""
    return language.text(
        "compare.difference-note",
        difference=signed_duration(found.difference_ns),
        matched=language.text(MATCHED_BY[found.matched_by]),
        matched_ratio=found.matched_ratio,
    )


def row_cells(row: Contribution, language: Language) -> tuple[str, ...]:
    """Name, calls, time before and after, what calls and mean add, and what it adds in all."""
    calls = ""
    if row.base_calls is not None and row.candidate_calls is not None:
        before, after = _number(row.base_calls), _number(row.candidate_calls)
        calls = before if before == after else f"{before} \u2192 {after}"
    if row.state != "both":
        calls = language.text("compare.row.new" if row.state == "new" else "compare.row.removed")
    is_time = row.kind not in ("concurrent", "uneven")  # those two are differences on either side
    return (
        cause_text(row, language),
        calls,
        duration_text(row.base_total_ns) if is_time else "",
        duration_text(row.candidate_total_ns) if is_time else "",
        "" if row.calls_ns is None else signed_duration(row.calls_ns),
        "" if row.mean_ns is None else signed_duration(row.mean_ns),
        signed_duration(row.delta_ns),
    )


def collective_cells(change: CollectiveChange) -> tuple[str, ...]:
    """Name, calls, elapsed time, transit and wait, each before and after."""
    sides = (change.base, change.candidate)
    cells = [[_number(side.calls if side else 0.0) for side in sides]]
    for part in ("total_ns", "transit_ns", "wait_ns"):
        values = [0 if side is None else getattr(side, part) for side in sides]
        cells.append(["-" if value is None else duration_text(value) for value in values])
    shown = [before if before == after else f"{before} \u2192 {after}" for before, after in cells]
    return (printable(change.op), *shown)


def fused_sentences(found: FusedChanges | None, language: Language) -> list[str]:
    """Say what fusion brought in all, and which ranks are left out; nothing where no chain was fused or split."""
    if found is None:
        return []
    said = []
    if found.chains:
        gain = found.gain_ns
        kernels = {"before": _number(found.base_kernels), "after": _number(found.candidate_kernels)}
        if gain >= 0:
            said.append(language.text("compare.fused.said", gain=duration_text(gain), **kernels))
        else:
            said.append(language.text("compare.fused.cost", cost=duration_text(-gain), **kernels))
    if found.unlike_count:
        said.append(language.text("compare.fused.unlike", count=found.unlike_count, ranks=found.rank_count))
    return said


def fused_cells(chain: FusedChain, language: Language) -> tuple[str, ...]:
    """Kernels before and after, what happened, their numbers, times per step, time before and after, and the gain."""
    return (
        printable(chain.before),
        printable(chain.after),
        language.text(_FUSED[chain.state]),
        f"{count_text(chain.before_kernels)} \u2192 {count_text(chain.after_kernels)}",
        _number(chain.count),
        duration_text(chain.before_ns),
        duration_text(chain.after_ns),
        duration_text(chain.gain_ns),
    )


def _number(value: float) -> str:
    return count_text(round(value, 1))


def prediction_cells(row: AuditRow, found: Audit, language: Language) -> tuple[str, ...]:
    """Rule and change, predicted gain, its range, the real gain where it can be held against it, and how it held."""
    change = f" {printable(row.change)}" if row.change else ""
    return (
        row.rule + change,
        duration_text(row.expected_ns),
        f"{duration_text(row.low_ns)} \u2026 {duration_text(row.high_ns)}",
        duration_text(found.real_ns) if row.verdict else "",
        language.text(_HELD[row.verdict]) if row.verdict else "",
    )
