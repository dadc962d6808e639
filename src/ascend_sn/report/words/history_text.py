"""Sentences and cells of the history that its views share."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from ascend_sn.compare.history.record import Record
from ascend_sn.report.documents.history import LevelChange, MetricTrend, metric_value
from ascend_sn.report.words.comparison_text import METRIC_NAMES
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened

__all__ = ["RUN_COLUMNS", "change_sentence", "run_cells", "time_text", "trend_sentences"]

RUN_COLUMNS: Final = (
    "column.run",
    "column.recorded",
    "column.revision",
    "column.step",
    "column.peak",
    "column.verdict",
    "column.pinned",
    "column.note",
)

_VERDICTS: Final = {
    "passed": "history.verdict.passed",
    "unsure": "history.verdict.unsure",
    "possible": "history.verdict.possible",
    "failed": "history.verdict.failed",
}
_NAME: Final = 28


def change_sentence(trend: MetricTrend, change: LevelChange, language: Language) -> str:
    """Say where a metric changed for good, and by how much."""
    labels = {point.run: point.label for point in trend.points}
    return language.text(
        "history.change-worse" if change.is_worse else "history.change-better",
        metric=language.text(METRIC_NAMES[trend.metric]),
        run=printable(labels[change.run]),
        before=metric_value(trend.metric, change.before),
        after=metric_value(trend.metric, change.after),
        change=f"{100 * change.change:+.1f} %",
        previous=printable(labels[change.previous]),
    )


def run_cells(record: Record, language: Language) -> tuple[str, ...]:
    """The cells of `RUN_COLUMNS`; a dash for what is not known."""
    step, peak = record.values.get("step_time"), record.values.get("peak_memory")
    revision = (record.revision or "")[:12]
    return (
        f"#{record.id}",
        time_text(record.recorded_ns),
        printable(revision) or shortened(printable(record.name), _NAME),
        "-" if step is None else metric_value("step_time", step),
        "-" if peak is None else metric_value("peak_memory", peak),
        language.text(_VERDICTS[record.verdict]) if record.verdict in _VERDICTS else "-",
        language.text("history.is-pinned") if record.pinned else "",
        shortened(printable(record.note or ""), _NAME),
    )


def time_text(ns: int) -> str:
    """A time of the clock, in UTC, to the minute."""
    return datetime.fromtimestamp(ns / 1e9, UTC).strftime("%Y-%m-%d %H:%M")


def trend_sentences(trend: MetricTrend, fewest: int, language: Language) -> list[str]:
    """Say what became of a metric: its lasting changes, or that there are none, or too few runs to tell."""
    if trend.changes:
        return [change_sentence(trend, change, language) for change in trend.changes]
    metric = language.text(METRIC_NAMES[trend.metric])
    if len(trend.points) < fewest:
        return [language.text("history.too-few", metric=metric, count=len(trend.points), fewest_count=fewest)]
    return [language.text("history.no-change", metric=metric, count=len(trend.points))]
