"""The history on one screen: its runs, one run, the trend."""

from __future__ import annotations

from io import StringIO
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from ascend_sn.report.documents.history import HistoryDocument, MetricTrend, TrendDocument, metric_value
from ascend_sn.report.terminal.blocks import Blocks
from ascend_sn.report.words.comparison_text import METRIC_NAMES
from ascend_sn.report.words.history_text import RUN_COLUMNS, run_cells, time_text, trend_sentences
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable

__all__ = ["write_run", "write_runs", "write_trend"]

_WIDTH: Final = 110
_BLOCKS: Final = "▁▂▃▄▅▆▇█"
_POINTS: Final = 60


def write_runs(document: HistoryDocument, language: Language, stream: TextIO) -> None:
    """Write the runs of a history as a table, the oldest first."""
    with _Screen(language, stream) as blocks:
        blocks.noted("history.title", printable(document.where))
        table = blocks.table(*RUN_COLUMNS, "column.series")
        for record in document.runs:
            table.add_row(*run_cells(record, language), printable(record.series))
        blocks.show(table)
        if not document.runs:
            blocks.indented([language.text("history.none")])


def write_run(document: HistoryDocument, language: Language, stream: TextIO) -> None:
    """Write all that is remembered of the first run of a document."""
    record = document.runs[0]
    with _Screen(language, stream) as blocks:
        blocks.noted("history.run-title", f"#{record.id} \u00b7 {printable(record.series)}")
        lines = [
            (language.text("column.recorded"), time_text(record.recorded_ns)),
            (language.text("history.name"), printable(record.name)),
            (language.text("history.setup"), printable(record.setup)),
            (language.text("column.revision"), printable(record.revision or "-")),
            (language.text("history.branch"), printable(record.branch or "-")),
            (language.text("column.verdict"), run_cells(record, language)[5]),
            (language.text("column.pinned"), language.text("history.is-pinned") if record.pinned else "-"),
            (language.text("column.note"), printable(record.note or "-")),
            (language.text("history.measured-by"), printable(record.tool_version)),
        ]
        lines += [
            (language.text(METRIC_NAMES[k]), metric_value(k, v)) for k, v in record.values.items() if k in METRIC_NAMES
        ]
        table = blocks.table("", "")
        for line in lines:
            table.add_row(*line)
        blocks.show(table)


def write_trend(document: TrendDocument, language: Language, stream: TextIO) -> None:
    """Write how each metric developed: a row of bars of its newest runs, and its lasting changes."""
    with _Screen(language, stream) as blocks:
        blocks.noted("history.trend-title", f"{printable(document.series)} \u00b7 {printable(document.setup)}")
        for trend in document.metrics:
            values = [point.value for point in trend.points]
            span = f"{metric_value(trend.metric, min(values))} \u2026 {metric_value(trend.metric, max(values))}"
            blocks.line(Text(f"{language.text(METRIC_NAMES[trend.metric])}  {_bars(trend)}  {span}"))
            blocks.indented(trend_sentences(trend, document.fewest, language))
        if not document.metrics:
            blocks.indented([language.text("history.none")])
        if document.other_setup_count:
            blocks.indented([language.text("history.other-setup", count=document.other_setup_count)])


class _Screen:
    """Writes straight to a terminal, else through a buffer that loses the blanks at line ends."""

    def __init__(self, language: Language, stream: TextIO) -> None:
        console = Console(file=stream, highlight=False, emoji=False, markup=False)
        columns = min(console.width, _WIDTH)
        self._stream, self._buffer = stream, None if console.is_terminal else StringIO()
        if self._buffer is not None:
            # A table that is cut off says nothing: what is no terminal takes lines of any length.
            console = Console(file=self._buffer, width=max(columns, 200), highlight=False, emoji=False, markup=False)
        self._blocks = Blocks(language, console, columns)

    def __enter__(self) -> Blocks:
        return self._blocks

    def __exit__(self, *_: object) -> None:
        if self._buffer is not None:
            self._stream.writelines(line.rstrip() + "\n" for line in self._buffer.getvalue().splitlines())


def _bars(trend: MetricTrend) -> str:
    values = [point.value for point in trend.points][-_POINTS:]
    low, high = min(values), max(values)
    scale = (len(_BLOCKS) - 1) / (high - low) if high > low else 0.0
    return "".join(_BLOCKS[round((value - low) * scale)] for value in values)
