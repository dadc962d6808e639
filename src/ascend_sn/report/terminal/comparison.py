"""A comparison, the gate and its self-test on one screen."""

from __future__ import annotations

from io import StringIO
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from ascend_sn.compare.audit import Audit
from ascend_sn.compare.gate import NullTest
from ascend_sn.report.documents.comparison import ComparisonDocument, Difference, GateDocument
from ascend_sn.report.tables.comparison import (
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
from ascend_sn.report.terminal.blocks import INDENT, Blocks, name_text
from ascend_sn.report.terminal.wrapping import wrapped
from ascend_sn.report.words.comparison_text import METRIC_NAMES, null_sentences, signed_duration, verdict_word
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import shortened
from ascend_sn.report.words.quantities import duration_text, percent_text

__all__ = ["write_comparison", "write_gate", "write_null_test"]

_WIDTH: Final = 110
_ROWS: Final = 8
_NAME: Final = 44
_WIDE: Final = 96
_CALLS: Final = 14
_CELL: Final = 10
_GOOD, _BAD = "bold #009E73", "bold #D55E00"
_STYLES: Final = {
    "regression": _BAD,
    "cannot compare": _BAD,
    "failed": _BAD,
    "possible": "bold #E69F00",
    "unsure": "bold #E69F00",
    "improved": _GOOD,
    "passed": _GOOD,
}


def write_comparison(
    document: ComparisonDocument, language: Language, stream: TextIO, *, rows: int | None = None
) -> None:
    """Write a comparison as text.

    Args:
        document: What to show.
        language: Language of the headings.
        stream: Where to write.
        rows: Rows of the difference; default 8.
    """
    target = _Target(language, stream)
    screen = _Screen(document, target.blocks, rows or _ROWS)
    screen.subject()
    screen.verdict(verdict_word(document.verdict, language), document.verdict, [one.text for one in document.said])
    screen.body()
    target.flush()


def write_gate(document: GateDocument, language: Language, stream: TextIO, *, rows: int | None = None) -> None:
    """Write what the gate says, and the comparison behind it, as text."""
    target = _Target(language, stream)
    screen = _Screen(document.comparison, target.blocks, rows or _ROWS)
    screen.subject()
    headline, *rest = (one.text for one in document.said)
    screen.verdict(headline, document.verdict, rest)
    screen.body()
    target.flush()


def write_null_test(result: NullTest, language: Language, stream: TextIO) -> None:
    """Write how often the gate would have been wrong."""
    target = _Target(language, stream)
    target.blocks.noted("gate.null.title", language.text("gate.null.note", count=result.run_count))
    for message in null_sentences(result):
        target.blocks.line(Text(language.render(message)))
    target.flush()


class _Target:
    """Writes straight to a terminal, else through a buffer that loses the blanks at line ends."""

    def __init__(self, language: Language, stream: TextIO) -> None:
        console = Console(file=stream, highlight=False, emoji=False, markup=False)
        columns = min(console.width, _WIDTH)
        self._stream, self._buffer = stream, None if console.is_terminal else StringIO()
        if self._buffer is not None:
            console = Console(file=self._buffer, width=columns, highlight=False, emoji=False, markup=False)
        self.blocks = Blocks(language, console, columns)

    def flush(self) -> None:
        if self._buffer is not None:
            self._stream.writelines(line.rstrip() + "\n" for line in self._buffer.getvalue().splitlines())


class _Screen:
    """One writing of one comparison."""

    def __init__(self, document: ComparisonDocument, blocks: Blocks, rows: int) -> None:
        self.document, self.blocks, self.rows = document, blocks, rows
        self.language = blocks.language

    def subject(self) -> None:
        for title, runs in (
            ("compare.baseline", self.document.baseline),
            ("compare.candidate", self.document.candidate),
        ):
            self.blocks.labelled(title, [side_text(runs, self.language)], "bold")
        if self.document.remarks:
            self.blocks.labelled("compare.first", [one.text for one in self.document.remarks], "bold #E69F00")

    def verdict(self, headline: str, verdict: str, said: list[str]) -> None:
        style = _STYLES.get(verdict, "bold")
        self.blocks.console.print()
        self.blocks.labelled("verdict.title", [headline, *said], style, first_style=style)

    def body(self) -> None:
        if self.document.metrics:
            self._metrics()
        if self.document.parts:
            self._parts()
        if self.document.difference is not None:
            self._difference(self.document.difference)
        self._fused()
        if self.document.collectives:
            self._collectives()
        if self.document.operators:
            self._operators()
        if self.document.predictions is not None:
            self._predictions(self.document.predictions)
        self.blocks.console.print()
        self.blocks.line(Text(self.language.text("compare.took", analysis_ns=self.document.analysis_ns), style="dim"))

    def _metrics(self) -> None:
        self._heading("compare.before-after")
        columns = ("column.baseline", "column.candidate", "column.change", "column.interval", "column.verdict")
        table = self.blocks.table("", *columns, gap=1)
        for words in (table.columns[0], table.columns[-1]):
            words.no_wrap = False  # where it is too wide, words go onto a second line and no figure is cut
        spreads = []
        for one in self.document.metrics:
            name, base, candidate, change, interval, _limit, verdict, spread = metric_cells(one, self.language)
            table.add_row(name, base, candidate, change, interval, verdict)
            if spread:
                spreads.append(spread)
        self.blocks.show(table)
        notes = [*spreads[:1], *self._not_there()]
        self.blocks.indented(notes)

    def _not_there(self) -> list[str]:
        lines = []
        for name, side in self.document.lacking.items():
            metric = self.language.text(METRIC_NAMES[name])
            one = "compare.lacks-candidate" if side == "candidate" else "compare.lacks-baseline"
            lines.append(self.language.text(one, metric=metric))
        absent = [self.language.text(METRIC_NAMES[name]) for name in self.document.absent]
        if absent:
            lines.append(self.language.text("compare.absent", metrics=", ".join(absent)))
        return lines

    def _parts(self) -> None:
        self._heading("compare.parts", "compare.parts-note")
        table = self.blocks.table("", "column.baseline", "column.candidate", "column.change")
        for part in self.document.parts:
            table.add_row(*part_cells(part, self.language))
        self.blocks.show(table)

    def _difference(self, found: Difference) -> None:
        note = difference_note(found, self.language)
        self.blocks.console.print()
        self.blocks.noted("compare.difference", note)
        rows = [row for row in found.rows if row.delta_ns][: self.rows]
        if not rows:
            self.blocks.indented([self.language.text("compare.no-difference")])
            return
        split = ("column.by-calls", "column.by-mean") if self.blocks.columns >= _WIDE else ()
        table = self.blocks.table(
            "", "column.calls", "column.baseline", "column.candidate", *split, "column.adds", gap=1
        )
        width = self.blocks.columns - INDENT - sum((_CALLS, *[_CELL] * (3 + len(split))))
        for row in rows:
            name, calls, before, after, by_calls, by_mean, adds = row_cells(row, self.language)
            table.add_row(name_text(name, width), calls, before, after, *([by_calls, by_mean] if split else []), adds)
        others = found.difference_ns - sum(row.delta_ns for row in rows)
        if others:
            blanks = [""] * (3 + len(split))
            table.add_row(self.language.text("compare.row.others"), *blanks, signed_duration(others))
        self.blocks.show(table)

    def _fused(self) -> None:
        said, found = fused_sentences(self.document.fused, self.language), self.document.fused
        if found is None or not said:
            return
        self._heading("compare.fused.title")
        shown = found.chains[: self.rows]
        if shown:
            is_wide = self.blocks.columns >= _WIDE
            words = ("state", "kernels", "count") if is_wide else ("state",)
            columns = (f"compare.fused.{word}" for word in words)
            table = self.blocks.table("", *columns, "column.baseline", "column.candidate", "compare.fused.gain", gap=1)
            width = self.blocks.columns - INDENT - sum((*[_CALLS] * (len(words) - 1), *[_CELL] * 4))
            for chain in shown:
                before, after, state, kernels, count, *times = fused_cells(chain, self.language)
                chain_text = f"{shortened(before, width)} \u2192 {shortened(after, width - 2)}"
                cells = (state, kernels, count) if is_wide else (state,)
                table.add_row("\n".join(wrapped(chain_text, width)), *cells, *times)
            self.blocks.show(table)
        more = len(found.chains) - len(shown)
        self.blocks.indented(said, more=more)

    def _collectives(self) -> None:
        self._heading("compare.collectives", "compare.collectives-note")
        table = self.blocks.table("", "column.calls", "column.total", "part.transit_ns", "part.wait_ns", gap=1)
        for row in self.document.collectives[: self.rows]:
            table.add_row(*collective_cells(row))
        self.blocks.show(table)

    def _operators(self) -> None:
        self._heading("compare.operators", "compare.operators-note")
        table = self.blocks.table("", "column.adds", "column.p-value")
        for row in self.document.operators[: self.rows]:
            table.add_row(name_text(row.name, _NAME), signed_duration(row.delta_ns), f"{row.p_value:.2g}")
        self.blocks.show(table)

    def _predictions(self, found: Audit) -> None:
        self.blocks.console.print()
        self.blocks.noted("compare.predictions", self.language.text("compare.predictions-note", real_ns=found.real_ns))
        table = self.blocks.table("", "column.predicted", "column.range", "column.real", "column.verdict")
        for row in found.rows[: self.rows]:
            table.add_row(*prediction_cells(row, found, self.language))
        self.blocks.show(table)
        lines = []
        if found.together_ns is not None:
            error = abs(found.real_step_ns - found.together_ns) / max(found.real_step_ns, 1)
            lines.append(
                self.language.text(
                    "compare.together",
                    predicted=duration_text(found.together_ns),
                    real=duration_text(found.real_step_ns),
                    error=percent_text(error),
                )
            )
        if not any(row.is_applied for row in found.rows):
            lines.append(self.language.text("compare.name-applied"))
        self.blocks.indented(lines)

    def _heading(self, title: str, note: str | None = None) -> None:
        self.blocks.console.print()
        self.blocks.heading(title, note)
