"""The critical path as text: a sentence for the screen, tables for pages."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from ascend_sn.report.documents.critical_path import CriticalPathSection
from ascend_sn.report.documents.views import View
from ascend_sn.report.tables.text import TextTable, columns_of, text_table
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened
from ascend_sn.report.words.quantities import duration_text, percent_text
from ascend_sn.report.words.wording import rank_text, ranking_text

__all__ = ["class_table", "path_lines", "path_tables", "slack_table"]

_CLASSES_SAID: Final = 5
_NAMES_SAID: Final = 3
_SAID_FROM: Final = 0.005
_NAME_SAID: Final = 40
_ROWS: Final = 20
_MOST_ROWS: Final = 1_000
_NAME_WIDTH: Final = 80


def path_lines(section: CriticalPathSection, language: Language, shown_ns: Collection[int]) -> list[str]:
    """Say what the path consists of, and which operators are most of it.

    Args:
        section: The path.
        language: The reader's language.
        shown_ns: Lengths of the steps of the breakdown; of a step of another length it is said which one it is.
    """
    # The skew of ranks may be negative: the path begins on a rank whose step begins before that of the others.
    largest = sorted(section.classes, key=lambda row: -abs(row.dur_ns))[:_CLASSES_SAID]
    parts = [
        f"{language.text(f'path.{row.time_class}')} {duration_text(row.dur_ns)} ({percent_text(row.share_ratio)})"
        for row in section.classes
        if row in largest and abs(row.share_ratio) >= _SAID_FROM
    ]
    names = [
        f"{printable(shortened(row.name, _NAME_SAID))} {duration_text(row.on_path_ns)}"
        for row in section.operators[:_NAMES_SAID]
        if row.criticality_ratio >= _SAID_FROM
    ]
    lines = [", ".join(parts)] if parts else []
    if section.scope != "whole capture" and section.step_ns is not None and section.step_ns not in shown_ns:
        lines.append(language.text("critical_path.which", step_ns=section.step_ns))
    if names:
        lines.append(language.text("critical_path.names", names=", ".join(names)))
    return lines


def path_tables(section: CriticalPathSection | None, language: Language, view: View) -> list[TextTable]:
    """Return the tables of the path; none where it is absent."""
    if section is None or not section.collected:
        return []
    found = [class_table(section, language), slack_table(section, language, view)]
    return [table for table in found if table is not None]


def class_table(section: CriticalPathSection, language: Language) -> TextTable | None:
    """What the path consists of; the rows are the step."""
    rows = [
        (language.text(f"path.{row.time_class}"), duration_text(row.dur_ns), percent_text(row.share_ratio))
        for row in section.classes
    ]
    count = len(section.ranks)
    note = language.text(
        f"critical_path.of-{section.scope.replace(' ', '-')}",
        step_ns=section.step_ns,
        ranks=language.text("critical_path.ranks", count=count)
        if count > 1
        else rank_text(next(iter(section.ranks), None), language),
    )
    return text_table(
        "critical_path.title", note, columns_of("path-class", "time", "share-of-step"), rows, language, section.remarks
    )


def slack_table(section: CriticalPathSection, language: Language, view: View) -> TextTable | None:
    """Which operators the step waits for, and how much slack the others have."""
    shown = view.rows(section.operators, _ROWS)[:_MOST_ROWS]
    rows = [
        (
            shortened(row.name, _NAME_WIDTH),
            language.text(f"path.{row.time_class}"),
            duration_text(row.total_ns),
            duration_text(row.on_path_ns),
            percent_text(row.criticality_ratio),
            duration_text(row.slack_ns),
        )
        for row in shown
    ]
    ranking = ranking_text(len(shown), section.operator_count, language)
    note = f"{language.text('critical_path.slack-note')} {ranking}"
    words = ("operator", "path-class", "total", "on-path", "share-of-step", "slack")
    return text_table("critical_path.operators", note, columns_of(*words), rows, language, left=(1,))
