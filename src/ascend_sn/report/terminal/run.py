"""The document on one screen: health, verdict, step breakdown, top operators, communication, memory peak."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Final, TextIO

from rich.console import Console
from rich.text import Text

from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.report.documents.cluster import Cluster
from ascend_sn.report.documents.communication import Operation
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.steps import ExportedStep
from ascend_sn.report.documents.views import View, telling_ranks
from ascend_sn.report.tables.cluster import cluster_lines, link_table, stage_table, worst_table
from ascend_sn.report.tables.path import path_lines
from ascend_sn.report.terminal.blocks import INDENT, Blocks, name_text
from ascend_sn.report.terminal.details import (
    write_copies,
    write_fusion,
    write_grades,
    write_memory_details,
    write_operators,
    write_pairs,
    write_phases,
    write_waits,
)
from ascend_sn.report.terminal.findings import write_advice
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.report.words.quantities import bytes_text, count_text, duration_text, percent_text
from ascend_sn.report.words.wording import (
    absence_text,
    damage_lines,
    difference_text,
    health_text,
    input_text,
    members_text,
    rank_text,
    share_text,
    subject_text,
    turn_on_lines,
    undivided_text,
)

__all__ = ["write_screen"]

# Okabe-Ito; the same part has the same colour in every view. The signs tell them apart without colour.
_PARTS: Final = (
    ("compute_ns", "#0072B2", "\u2588", "#"),
    ("exposed_comm_ns", "#D55E00", "\u2593", "="),
    ("exposed_copy_ns", "#CC79A7", "\u2592", "+"),
    ("free_ns", "#999999", "\u2591", "."),
)

_RANKS: Final = 8
_RANKS_OF_CLUSTER: Final = 4
_STAGES: Final = 8
_KERNELS: Final = 4
_OPERATORS: Final = 3
_OPERATIONS: Final = 6
_PEAKS: Final = 3
_EXPORTED: Final = ("Computing", "Communication(Not Overlapped)", "Free", "Stage")
_EXPORTED_COLUMNS: Final = 4
_LINES: Final = 3
_RANKS_WITH_BARS: Final = 4
_WIDTH: Final = 100


def write_screen(
    document: Document, language: Language, stream: TextIO, view: View, *, width: int | None = None
) -> None:
    """Write a document as text; colours only to a terminal that has them.

    Args:
        document: What to show.
        language: Language of the headings; the document's sentences have theirs already.
        stream: Where to write.
        view: Sections and rows to show.
        width: Columns; default the terminal's, 80 where there is none.
    """
    target = Console(file=stream, width=width, highlight=False, emoji=False, markup=False)
    columns = min(target.width, _WIDTH)
    plain_bars = not (target.encoding or "").lower().startswith("utf")
    if target.is_terminal:
        _Screen(document, language, target, view, columns, plain_bars).write()
        return
    text = StringIO()
    _Screen(document, language, Console(file=text, width=columns, highlight=False), view, columns, plain_bars).write()
    stream.writelines(line.rstrip() + "\n" for line in text.getvalue().splitlines())


class _Screen(Blocks):
    """One writing of one document."""

    def __init__(
        self, document: Document, language: Language, console: Console, view: View, columns: int, plain_bars: bool
    ) -> None:
        super().__init__(language, console, columns)
        self.document, self.view, self.plain_bars = document, view, plain_bars

    def write(self) -> None:
        self.console.print(Text(subject_text(self.document, self.language), style="bold"))
        self._health()
        self._verdict()
        if self.document.cluster is not None and "breakdown" in self.view.on_screen:
            self._cluster(self.document.cluster)
        sections = {
            "breakdown": self._breakdown,
            "critical_path": self._critical_path,
            "findings": self._findings,
            "operators": self._operators,
            "communication": self._communication,
            "memory": self._memory,
            "copies": self._copies,
            "fusion": self._fusion,
        }
        for name, write in sections.items():
            if name in self.view.on_screen:
                if name != "critical_path":
                    self.console.print()
                write()
        self._notes()

    def _health(self) -> None:
        health = self.document.health
        style = "bold #D55E00" if health.damage_count or health.silent_devices else "bold #009E73"
        self.labelled("health.title", [health_text(health, self.language)], style)
        lines = damage_lines(health, self.language)
        lines += [difference_text(entry, self.language) for entry in health.differences]
        self.indented(lines[:_LINES], more=len(lines) - _LINES)

    def _verdict(self) -> None:
        said = [statement.text for statement in self.document.verdict]
        self.labelled("verdict.title", said, "bold", first_style="bold")

    def _cluster(self, cluster: Cluster) -> None:
        self.labelled("cluster.title", cluster_lines(cluster, self.language), "bold")
        rows = self.view.top_k or _RANKS if self.view.chosen else _RANKS_OF_CLUSTER
        tables = [worst_table(cluster, self.language, rows), link_table(cluster, self.language, rows)]
        if len(cluster.stages) <= _STAGES:
            tables.insert(1, stage_table(cluster, self.language))
        for found in tables:
            if found is not None:
                self.console.print()
                self.text_table(found)

    def _breakdown(self) -> None:
        section = self.document.breakdown
        if not section.collected:
            self.absent("breakdown.title", absence_text(section, self.language))
            self._exported(section.exported)
            return
        whole = section.scope == "whole capture"
        self.heading("breakdown.title", "breakdown.of-capture" if whole else "breakdown.of-step")
        steps = telling_ranks(section.ranks, _RANKS)
        table = self.table("", "column.capture" if whole else "column.step")
        for name, colour, sign, plain_sign in _PARTS:
            heading = Text(plain_sign if self.plain_bars else sign, style=colour)
            table.add_column(heading.append(" " + self.language.text(f"part.{name}")), justify="right", no_wrap=True)
        for step in steps:
            values = [getattr(step, part[0]) for part in _PARTS]
            cells = [f"{duration_text(value)} {share_text(value, step.window_ns):>5}" for value in values]
            table.add_row(rank_text(step.rank, self.language), duration_text(step.window_ns), *cells)
        self.show(table)
        if len(steps) <= _RANKS_WITH_BARS:
            for step in steps:
                self.line(self._bar(step))
        self.indented(self._breakdown_notes(section.ranks, len(steps)))

    def _exported(self, figures: Sequence[ExportedStep]) -> None:
        """The exporter's own step trace, where there are no kernels to divide the step by."""
        if not figures:
            return
        self.heading("exported.title", "exported.note")
        names = list(dict.fromkeys(figure.figure for figure in figures))
        names = [name for name in _EXPORTED if name in names] or names[:_EXPORTED_COLUMNS]
        rows: dict[tuple[int | None, int | None], dict[str, int]] = {}
        for figure in figures:
            rows.setdefault((figure.rank, figure.step), {})[figure.figure] = figure.dur_ns
        table = self.table("", "column.step")
        for name in names:
            table.add_column(name_text(name.replace("Communication", "Comm"), 20), justify="right", no_wrap=True)
        for (rank, step), values in list(rows.items())[:_RANKS]:
            cells = [duration_text(values[name]) if name in values else "-" for name in names]
            table.add_row(rank_text(rank, self.language), "-" if step is None else str(step), *cells)
        self.show(table)
        self.indented([], more=len(rows) - _RANKS)

    def _breakdown_notes(self, ranks: Sequence[MedianStep], shown: int) -> list[str]:
        notes = []
        if shown < len(ranks):
            notes.append(self.language.text("breakdown.telling-ranks", count=len(ranks)))
        counts = [step.step_count for step in ranks]
        if max(counts) > 1:
            low, high = min(step.window_min_ns for step in ranks), max(step.window_max_ns for step in ranks)
            spread = "breakdown.steady" if duration_text(low) == duration_text(high) else "breakdown.spread"
            notes.append(self.language.text(spread, count=max(counts), low_ns=low, high_ns=high))
        waiting = [row for row in self.document.breakdown.input_pipeline if row.grade != "none"]
        said = any(statement.message_id == "verdict.data-limits" for statement in self.document.verdict)
        if waiting and not said:
            notes.append(input_text(max(waiting, key=lambda row: row.data_share_ratio), self.language))
        first = ranks[0]
        if len(ranks) == 1 and first.stage_ns is not None and first.preparing_ns:
            parts = {"preparing_ns": first.preparing_ns, "stage_ns": first.stage_ns, "tail_ns": first.tail_ns or 0}
            notes.append(self.language.text("breakdown.stage", **parts))
        if first.overlapped_ns:
            notes.append(self.language.text("breakdown.overlapped", overlapped_ns=first.overlapped_ns))
        return [" ".join(notes)] if notes else []

    def _critical_path(self) -> None:
        section = self.document.critical_path
        if section is not None and section.collected:
            shown_ns = [row.window_ns for row in self.document.breakdown.ranks]
            self.labelled("critical_path.title", path_lines(section, self.language, shown_ns), "bold")

    def _findings(self) -> None:
        section = self.document.findings
        if section.collected:
            write_advice(self, section)
        else:
            self.absent("findings.title", absence_text(section, self.language))

    def _operators(self) -> None:
        section = self.document.operators
        if not section.collected:
            self.absent("operators.title", absence_text(section, self.language))
            return
        kernels = self.view.rows(section.kernels, _KERNELS)
        if kernels:
            self.ranking("kernels.title", len(kernels), section.kernel_type_count)
            table = self.table("", "column.core", "column.calls", "column.total", "column.mean", "column.share")
            for row in kernels:
                table.add_row(
                    name_text(row.op_type, 30),
                    printable(row.core_type or "-"),
                    count_text(row.calls),
                    duration_text(row.total_ns),
                    duration_text(row.mean_ns),
                    "" if row.share_ratio is None else percent_text(row.share_ratio),
                )
            self.show(table)
        operators = self.view.rows(section.operators, _OPERATORS)
        if operators:
            if kernels:
                self.console.print()
            self.ranking("operators.title", len(operators), section.operator_count)
            write_operators(self, operators)
        if not kernels and not operators:
            limit = section.op_time_threshold_ns or 0
            self.absent("operators.title", self.language.text("operators.none-above", limit_ns=limit))

    def _communication(self) -> None:
        section = self.document.communication
        if section.collected and section.total is not None:
            total = section.total
            members = members_text(total, self.language)
            self.heading("communication.title", "communication.members" if members else None, members=members)
            table = self.table(
                "", "column.calls", "column.total", "part.transit_ns", "part.wait_ns", "part.idle_ns", "column.exposed"
            )
            shown = self.view.rows(section.operations, _OPERATIONS)
            for row in shown:
                table.add_row(*self._operation(printable(row.op), row))
            if len(section.operations) > 1:
                table.add_row(*self._operation(self.language.text("communication.all"), total))
            self.show(table)
            undivided = undivided_text(total, self.language)
            if undivided:
                self.indented([undivided])
            if self.view.chosen:
                write_pairs(self, section, self.view)
                write_waits(self, section, self.view)
                write_grades(self, section)
        else:
            self.absent("communication.title", absence_text(section, self.language))
        if section.fused_ns:
            self.indented([self.language.text("communication.fused", fused_ns=section.fused_ns)])
        if self.view.chosen:
            write_phases(self, self.document)

    def _operation(self, name: str, row: Operation) -> list[str]:
        unknown = self.language.text("value.unknown")
        parts = [
            unknown if part is None else f"{duration_text(part)} {share_text(part, row.total_ns):>5}"
            for part in (row.transit_ns, row.wait_ns, row.idle_ns)
        ]
        exposed = "-" if row.exposed_ns is None else duration_text(row.exposed_ns)
        return [name, count_text(row.calls), duration_text(row.total_ns), *parts, exposed]

    def _memory(self) -> None:
        section = self.document.memory
        if not section.collected:
            self.absent("memory.title", absence_text(section, self.language))
            return
        worst = max(section.peaks, key=lambda peak: peak.peak_reserved_bytes or peak.peak_allocated_bytes or 0)
        peaks = [peak for peak in section.peaks if peak.profile_id == worst.profile_id]
        several = len({peak.profile_id for peak in section.peaks}) > 1
        self.heading("memory.title", "memory.highest" if several else None, rank=rank_text(worst.rank, self.language))
        table = self.table("", "column.allocated", "column.reserved", "column.active")
        for peak in peaks[:_PEAKS]:
            sizes = (peak.peak_allocated_bytes, peak.peak_reserved_bytes, peak.peak_active_bytes)
            table.add_row(printable(peak.component), *("-" if size is None else bytes_text(size) for size in sizes))
        self.show(table)
        if self.view.chosen:
            write_memory_details(self, section, self.view)

    def _copies(self) -> None:
        write_copies(self, self.document.copies)

    def _fusion(self) -> None:
        write_fusion(self, self.document.fusion, self.view)

    def _notes(self) -> None:
        lines = turn_on_lines(self.document.health, self.language)
        if lines:
            self.console.print()
            self.labelled("notes.not-collected", lines[:_LINES], "bold")
            self.indented([], more=len(lines) - _LINES)

    def _bar(self, step: MedianStep) -> Text:
        label = rank_text(step.rank, self.language) + "  "
        bar = Text().append(label, style="dim")
        length = self.columns - INDENT - len(label)
        drawn, until = 0, 0
        for name, colour, sign, plain_sign in _PARTS:
            until += getattr(step, name)
            end = round(length * until / step.window_ns) if step.window_ns else 0
            bar.append((plain_sign if self.plain_bars else sign) * (end - drawn), style=colour)
            drawn = end
        return bar
