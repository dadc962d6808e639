"""A comparison and the gate as Markdown, for pull requests and job summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ascend_sn.report.documents.comparison import ComparisonDocument, Difference, GateDocument
from ascend_sn.report.markdown.blocks import bullets, table
from ascend_sn.report.tables.comparison import (
    FUSED_COLUMNS,
    collective_cells,
    difference_note,
    fused_cells,
    fused_sentences,
    metric_cells,
    part_cells,
    prediction_cells,
    row_cells,
    side_text,
)
from ascend_sn.report.words.comparison_text import METRIC_NAMES, signed_duration, verdict_word
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import markdown_cell, shortened

__all__ = ["comparison_markdown", "gate_markdown"]

_ROWS: Final = 20
_NAME: Final = 80

_PART_COLUMNS: Final = ("column.part", "column.baseline", "column.candidate", "column.change")
_COLLECTIVE_COLUMNS: Final = ("column.primitive", "column.calls", "column.total", "part.transit_ns", "part.wait_ns")
_OPERATOR_COLUMNS: Final = ("column.operator", "column.adds", "column.p-value")
_PREDICTION_COLUMNS: Final = ("column.rule", "column.predicted", "column.range", "column.real", "column.verdict")


def comparison_markdown(document: ComparisonDocument, language: Language) -> str:
    """Return a comparison as Markdown; names are escaped, so they format nothing."""
    title = language.text("compare.title", verdict=verdict_word(document.verdict, language))
    return _page(document, title, [one.text for one in document.said], language)


def gate_markdown(document: GateDocument, language: Language) -> str:
    """Return what the gate says, with the comparison behind it, as Markdown."""
    headline, *rest = (one.text for one in document.said)
    return _page(document.comparison, headline, rest, language)


def _page(document: ComparisonDocument, title: str, said: Sequence[str], language: Language) -> str:
    lines = [f"<!-- {document.generator} -->", "", f"# {markdown_cell(title)}", "", *bullets(said)]
    sides = (("compare.baseline", document.baseline), ("compare.candidate", document.candidate))
    lines += ["", *bullets(f"{language.text(name)}: {side_text(runs, language)}" for name, runs in sides)]
    if document.remarks:
        lines += ["", f"**{language.text('compare.first')}**", "", *bullets(one.text for one in document.remarks)]
    if document.metrics:
        lines += _section("compare.before-after", _metrics(document, language), language)
    if document.parts:
        rows = [part_cells(part, language) for part in document.parts]
        lines += _section("compare.parts", table(_PART_COLUMNS, rows, language), language)
    if document.difference is not None:
        lines += _section("compare.difference", _difference(document.difference, language), language)
    said_of_fusion = fused_sentences(document.fused, language)
    if document.fused is not None and said_of_fusion:
        chains = [fused_cells(chain, language) for chain in document.fused.chains[:_ROWS]]
        body = [*(table(FUSED_COLUMNS, chains, language) if chains else ()), "", *bullets(said_of_fusion)]
        lines += _section("compare.fused.title", body, language)
    if document.collectives:
        rows_of_collectives = [collective_cells(row) for row in document.collectives]
        lines += _section("compare.collectives", table(_COLLECTIVE_COLUMNS, rows_of_collectives, language), language)
    if document.operators:
        rows_of = [
            (shortened(row.name, _NAME), signed_duration(row.delta_ns), f"{row.p_value:.2g}")
            for row in document.operators
        ]
        lines += _section("compare.operators", table(_OPERATOR_COLUMNS, rows_of, language), language)
    if document.predictions is not None:
        found = document.predictions
        cells = [prediction_cells(row, found, language) for row in found.rows[:_ROWS]]
        lines += _section("compare.predictions", table(_PREDICTION_COLUMNS, cells, language), language)
    lines += ["", markdown_cell(language.text("compare.took", analysis_ns=document.analysis_ns))]
    return "\n".join(lines) + "\n"


def _section(title: str, body: Sequence[str], language: Language) -> list[str]:
    return ["", f"## {markdown_cell(language.text(title))}", "", *body]


def _metrics(document: ComparisonDocument, language: Language) -> list[str]:
    cells = [metric_cells(one, language) for one in document.metrics]
    columns = (
        "column.metric",
        "column.baseline",
        "column.candidate",
        "column.change",
        "column.interval",
        "column.limit",
        "column.verdict",
    )
    notes = [row[-1] for row in cells if row[-1]]
    for name, side in document.lacking.items():
        one = "compare.lacks-candidate" if side == "candidate" else "compare.lacks-baseline"
        notes.append(language.text(one, metric=language.text(METRIC_NAMES[name])))
    if document.absent:
        absent = ", ".join(language.text(METRIC_NAMES[name]) for name in document.absent)
        notes.append(language.text("compare.absent", metrics=absent))
    lines = table(columns, [row[:-1] for row in cells], language)
    return [*lines, "", *bullets(notes)] if notes else lines


def _difference(found: Difference, language: Language) -> list[str]:
    note = difference_note(found, language)
    shown = [row for row in found.rows if row.delta_ns][:_ROWS]
    if not shown:
        return [markdown_cell(note), "", markdown_cell(language.text("compare.no-difference"))]
    rows = []
    for row in shown:
        name, *cells = row_cells(row, language)
        rows.append([shortened(name, _NAME), *cells])
    others = found.difference_ns - sum(row.delta_ns for row in shown)
    if others:
        rows.append([language.text("compare.row.others"), *[""] * 5, signed_duration(others)])
    columns = (
        "column.operator",
        "column.calls",
        "column.baseline",
        "column.candidate",
        "column.by-calls",
        "column.by-mean",
        "column.adds",
    )
    return [markdown_cell(note), "", *table(columns, rows, language)]
