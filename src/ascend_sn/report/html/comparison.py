"""A comparison, and what the gate says of it, as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ascend_sn.report.documents.comparison import ComparisonDocument, Difference, GateDocument
from ascend_sn.report.html.page import page_text
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
from ascend_sn.report.tables.text import TextTable
from ascend_sn.report.words.comparison_text import METRIC_NAMES, signed_duration, verdict_word
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import shortened

__all__ = ["comparison_html", "gate_html"]

_ROWS: Final = 50
_NAME: Final = 90
_GOOD: Final = ("improved", "passed", "no change")
_DIFFERENCE_COLUMNS: Final = (
    "column.operator",
    "column.calls",
    "column.baseline",
    "column.candidate",
    "column.by-calls",
    "column.by-mean",
    "column.adds",
)


def comparison_html(document: ComparisonDocument, language: Language) -> str:
    """Return the page of a comparison."""
    title = verdict_word(document.verdict, language)
    return _page(document, document.verdict, title, [one.text for one in document.said], language)


def gate_html(document: GateDocument, language: Language) -> str:
    """Return the page of a gate, with the comparison behind it."""
    headline, *said = (one.text for one in document.said)
    return _page(document.comparison, document.verdict, headline, said, language)


def _page(document: ComparisonDocument, verdict: str, headline: str, said: Sequence[str], language: Language) -> str:
    sides = (("compare.baseline", document.baseline), ("compare.candidate", document.candidate))
    return page_text(
        "comparison.html.j2",
        language,
        document=document,
        headline=headline,
        said=said,
        is_good=verdict in _GOOD,
        sides=[f"{language.text(name)}: {side_text(runs, language)}" for name, runs in sides],
        metrics=_metrics(document, language),
        parts=_parts(document, language),
        difference=None if document.difference is None else _difference(document.difference, language),
        tables=_tables(document, language),
        took=language.text("compare.took", analysis_ns=document.analysis_ns),
    )


def _metrics(document: ComparisonDocument, language: Language) -> TextTable | None:
    if not document.metrics:
        return None
    cells = [metric_cells(one, language) for one in document.metrics]
    notes = [row[-1] for row in cells if row[-1]]
    for name, side in document.lacking.items():
        lacks = "compare.lacks-candidate" if side == "candidate" else "compare.lacks-baseline"
        notes.append(language.text(lacks, metric=language.text(METRIC_NAMES[name])))
    if document.absent:
        absent = ", ".join(language.text(METRIC_NAMES[name]) for name in document.absent)
        notes.append(language.text("compare.absent", metrics=absent))
    words = ("metric", "baseline", "candidate", "change", "interval", "limit", "verdict")
    return _table("compare.before-after", words, [row[:-1] for row in cells], language, remarks=notes)


def _parts(document: ComparisonDocument, language: Language) -> TextTable | None:
    if not document.parts:
        return None
    rows = [part_cells(part, language) for part in document.parts]
    return _table("compare.parts", ("part", "baseline", "candidate", "change"), rows, language)


def _difference(found: Difference, language: Language) -> dict[str, Any]:
    """The rows of the difference; `bar` is their share of the largest one, negative where a cause got faster."""
    shown = [row for row in found.rows if row.delta_ns][:_ROWS]
    largest = max((abs(row.delta_ns) for row in shown), default=1)
    rows = []
    for row in shown:
        name, *cells = row_cells(row, language)
        rows.append({"cells": [shortened(name, _NAME), *cells], "bar": row.delta_ns / largest})
    others = found.difference_ns - sum(row.delta_ns for row in shown)
    if others:
        cells = [language.text("compare.row.others"), *[""] * 5, signed_duration(others)]
        rows.append({"cells": cells, "bar": max(-1.0, min(1.0, others / largest))})
    return {
        "note": difference_note(found, language),
        "columns": [language.text(column) for column in _DIFFERENCE_COLUMNS],
        "rows": rows,
    }


def _tables(document: ComparisonDocument, language: Language) -> list[TextTable]:
    tables = []
    said = fused_sentences(document.fused, language)
    if document.fused is not None and said:
        chains = [fused_cells(chain, language) for chain in document.fused.chains[:_ROWS]]
        said.append(language.text("compare.fused.note"))
        tables.append(_table("compare.fused.title", FUSED_COLUMNS, chains, language, remarks=said, left=(1,)))
    if document.collectives:
        rows = [collective_cells(row) for row in document.collectives]
        words = ("column.primitive", "column.calls", "column.total", "part.transit_ns", "part.wait_ns")
        tables.append(_table("compare.collectives", words, rows, language))
    if document.operators:
        tested = [
            (shortened(row.name, _NAME), signed_duration(row.delta_ns), f"{row.p_value:.2g}")
            for row in document.operators
        ]
        tables.append(_table("compare.operators", ("operator", "adds", "p-value"), tested, language))
    if document.predictions is not None:
        found = document.predictions
        cells = [prediction_cells(row, found, language) for row in found.rows[:_ROWS]]
        words = ("rule", "predicted", "range", "real", "verdict")
        tables.append(_table("compare.predictions", words, cells, language))
    return tables


def _table(
    title: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    language: Language,
    *,
    remarks: Sequence[str] = (),
    left: tuple[int, ...] = (),
) -> TextTable:
    headings = [language.text(name if "." in name else f"column.{name}") for name in columns]
    return TextTable(
        title=language.text(title),
        note="",
        columns=tuple(headings),
        rows=tuple(tuple(row) for row in rows),
        remarks=tuple(remarks),
        left=left,
    )
