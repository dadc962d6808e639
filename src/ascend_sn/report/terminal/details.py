"""Sections of the screen that their own switch shows: grades and phases, pairs, who holds memory, copies, fusion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeVar

from ascend_sn.report.documents.communication import Communication
from ascend_sn.report.documents.copies import Copies
from ascend_sn.report.documents.fusion import Fusion, FusionPattern
from ascend_sn.report.documents.memory import Memory
from ascend_sn.report.documents.operators import Operator
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import View
from ascend_sn.report.terminal.blocks import Blocks, known_duration, known_rate, known_share, known_size, name_text
from ascend_sn.report.words.printable import printable
from ascend_sn.report.words.quantities import bytes_text, count_text, duration_text, percent_text
from ascend_sn.report.words.wording import (
    absence_text,
    copies_note,
    copy_text,
    direction_text,
    fusion_gain_text,
    fusion_notes,
    fusion_rate_text,
    hot_spots_note,
    pair_text,
    rank_text,
    ranking_text,
    share_text,
)

__all__ = [
    "write_copies",
    "write_fusion",
    "write_grades",
    "write_memory_details",
    "write_operators",
    "write_pairs",
    "write_phases",
    "write_waits",
]

_ROWS: Final = 6
_OPERATIONS: Final = 6
_RANKS: Final = 8
_PATTERNS: Final = 10
_FUSION: Final = ("calls", "rate", "before", "after", "saving")
_PHASES: Final = ("data", "forward", "backward", "communication", "optimizer", "other")
_PARTS: Final = ("transit", "wait", "idle", "unknown")

_Row = TypeVar("_Row")


def write_operators(blocks: Blocks, operators: Sequence[Operator]) -> None:
    """Write what each operator takes on the device and on the host, and the sizes it reads and writes, where known."""
    sized = any(row.input_bytes is not None or row.output_bytes is not None for row in operators)
    sizes = ("column.input", "column.output") if sized else ()
    columns = ("column.calls", "column.device", "column.mean", "column.host", *sizes, "column.share")
    table = blocks.table("", *columns, gap=1 if sized else 2)
    for row in operators:
        table.add_row(
            name_text(row.name, max(blocks.columns - 56, 20) if sized else 34),
            count_text(row.calls),
            known_duration(row.device_ns),
            known_duration(row.mean_device_ns),
            duration_text(row.host_ns),
            *([known_size(row.input_bytes), known_size(row.output_bytes)] if sized else []),
            "" if row.share_ratio is None else percent_text(row.share_ratio),
        )
    blocks.show(table)


def write_phases(blocks: Blocks, document: Document) -> None:
    """Write the median step by phase; nothing where only communication can be told apart."""
    phases = document.breakdown.phases
    if not any(row.data_ns or row.forward_ns or row.backward_ns or row.optimizer_ns for row in phases):
        return
    shown = _worst(phases, key=[row.communication_ns for row in phases])
    blocks.console.print()
    blocks.ranking("phases.title", len(shown), len(phases))
    table = blocks.table("", *(f"phase.{name}" for name in _PHASES))
    for row in shown:
        values = [getattr(row, f"{name}_ns") for name in _PHASES]
        table.add_row(rank_text(row.rank, blocks.language), *map(duration_text, values))
        table.add_row("", *(share_text(value, row.window_ns) for value in values), style="dim")
    blocks.show(table)


def write_grades(blocks: Blocks, section: Communication) -> None:
    """Write what the exposed communication of each rank is, its grade, and where to look."""
    if not section.grades:
        return
    blocks.console.print()
    blocks.heading("grade.title", "grade.note")
    table = blocks.table("", "column.exposed", *(f"part.{part}_ns" for part in _PARTS), "column.grade")
    shown = _worst(section.grades, key=[row.exposed_share_ratio or 0.0 for row in section.grades])
    for row in shown:
        cells = [share_text(getattr(row, f"exposed_{part}_ns"), row.window_ns) or "-" for part in _PARTS]
        exposed = f"{duration_text(row.exposed_comm_ns)} {share_text(row.exposed_comm_ns, row.window_ns):>4}"
        grade = blocks.language.text(f"grade.{row.grade}" if row.grade else "value.unknown")
        table.add_row(rank_text(row.rank, blocks.language), exposed, *cells, grade)
    blocks.show(table)
    blocks.indented(list(dict.fromkeys(direction_text(row, blocks.language) for row in shown)))


def write_pairs(blocks: Blocks, section: Communication, view: View) -> None:
    """Write the shares of the primitives, and the traffic between pairs of ranks."""
    language = blocks.language
    blocks.console.print()
    blocks.heading("communication.shares")
    table = blocks.table("", "column.mean", "column.share", "column.exposed-share", "column.size")
    rows = list(view.rows(section.operations, _OPERATIONS))
    if section.total is not None and len(section.operations) > 1:
        rows.append(section.total)
    for row in rows:
        table.add_row(
            language.text("communication.all") if row is section.total else printable(row.op),
            duration_text(row.mean_ns),
            known_share(row.share_ratio),
            known_share(row.exposed_share_ratio),
            known_size(row.size_bytes),
        )
    blocks.show(table)
    if not section.links:
        return
    links = view.rows(section.links, _ROWS)
    blocks.console.print()
    blocks.ranking("links.table", len(links), section.link_count)
    table = blocks.table("", "column.transport", "column.size", "column.time", "column.bandwidth", "column.remark")
    for link in links:
        table.add_row(
            f"{link.src_rank} > {link.dst_rank}",
            printable(link.transport or "-"),
            bytes_text(link.size_bytes),
            duration_text(link.dur_ns),
            known_rate(link.bandwidth_bytes_per_s),
            language.text(f"pattern.{link.pattern}") if link.pattern else "",
        )
    blocks.show(table)


def write_waits(blocks: Blocks, section: Communication, view: View) -> None:
    """Write who waits longest for whom, and how well the links between the two are used; nothing without any wait."""
    waiting = [pair for pair in section.pairs if pair.mean_wait_ns]
    if not waiting:
        return
    shown = view.rows(waiting, _ROWS)
    blocks.console.print()
    blocks.noted(
        "waits.title",
        f"{blocks.language.text('waits.note')}; {ranking_text(len(shown), len(waiting), blocks.language)}",
    )
    table = blocks.table("", "column.wait", "column.bandwidth", "column.of-peak")
    for pair in shown:
        table.add_row(
            pair_text(pair, ">", blocks.language),
            known_duration(pair.mean_wait_ns),
            known_rate(pair.bandwidth_bytes_per_s),
            known_share(pair.bandwidth_ratio),
        )
    blocks.show(table)


def write_memory_details(blocks: Blocks, section: Memory, view: View) -> None:
    """Write what each operator keeps, holds at most and allocates, the total, and who holds the peak."""
    language = blocks.language
    if section.operators:
        shown = view.rows(section.operators, _ROWS)
        blocks.console.print()
        blocks.ranking("memory.operators", len(shown), section.operator_count)
        table = blocks.table("", "column.retained", "column.peak", "column.allocations")
        for row in shown:
            name, count = name_text(row.operator_name, 40), count_text(row.allocation_count)
            table.add_row(name, bytes_text(row.retained_bytes), bytes_text(row.peak_bytes), count)
        total = section.total
        if total is not None:
            label = language.text("memory.total", component=printable(total.component))
            count = count_text(total.allocation_count)
            table.add_row(label, known_size(total.retained_bytes), known_size(total.peak_bytes), count)
        blocks.show(table)
    spots = section.hot_spots
    if spots is not None:
        blocks.console.print()
        holders = view.rows(spots.holders, _ROWS)
        blocks.noted("memory.hot-spots", hot_spots_note(spots, len(holders), language))
        table = blocks.table("", "column.held", "column.share", "column.blocks")
        if any(holder.module for holder in holders):
            table.add_column(language.text("column.module"), no_wrap=True)
        for holder in holders:
            cells = [
                name_text(holder.operator_name, 34),
                bytes_text(holder.held_bytes),
                known_share(holder.share_ratio),
            ]
            module = [name_text(holder.module, 24)] if holder.module else []
            table.add_row(*cells, count_text(holder.block_count), *module)
        blocks.show(table)


def write_copies(blocks: Blocks, section: Copies | None) -> None:
    """Write the copies by direction and kind of host memory."""
    if section is None:
        return
    if not section.collected:
        blocks.absent("copies.title", absence_text(section, blocks.language))
        return
    blocks.noted("copies.title", copies_note(section, blocks.language))
    columns = ("calls", "total", "exposed", "share", "beside", "size", "bandwidth")
    table = blocks.table("", *(f"column.{name}" for name in columns), gap=1)
    for row in section.rows:
        table.add_row(
            copy_text(row, blocks.language),
            count_text(row.calls),
            duration_text(row.total_ns),
            duration_text(row.exposed_ns),
            known_share(row.exposed_share_ratio),
            duration_text(row.overlapped_ns),
            known_size(row.size_bytes),
            known_rate(row.bandwidth_bytes_per_s),
        )
    blocks.show(table)


def write_fusion(blocks: Blocks, section: Fusion | None, view: View) -> None:
    """Write fused kernels and candidates: how often, before, after, saving, and what the step would gain."""
    language = blocks.language
    if section is None or not section.collected:
        blocks.absent("fusion.title", "" if section is None else absence_text(section, language))
        return
    if section.fusion_ratio is None:
        blocks.absent("fusion.title", fusion_rate_text(section, language))
        return
    shown = view.rows(section.patterns, _PATTERNS)
    blocks.noted("fusion.title", fusion_rate_text(section, language))
    states: tuple[tuple[Literal["fused", "candidate"], tuple[str, ...]], ...] = (
        ("fused", ()),
        ("candidate", ("column.step-gain",)),
    )
    for state, more in states:
        rows = [row for row in shown if row.state == state]
        if rows:
            blocks.console.print()
            blocks.heading(f"fusion.{state}")
            table = blocks.table("", *(f"column.{name}" for name in _FUSION), *more, gap=1)
            for row in rows:
                table.add_row(*_pattern(row), *([fusion_gain_text(row)] if more else []))
            blocks.show(table)
    blocks.indented(fusion_notes(section, language))


def _pattern(row: FusionPattern) -> list[str]:
    saving = "" if row.saving_ratio is None else f" {percent_text(row.saving_ratio):>4}"
    return [
        name_text(row.pattern, 26),
        count_text(row.instances),
        percent_text(row.fusion_ratio),
        ("~" if row.is_estimate and row.before_ns is not None else "") + known_duration(row.before_ns),
        known_duration(row.after_ns),
        known_duration(row.saving_ns) + saving,
    ]


def _worst(rows: Sequence[_Row], key: Sequence[float]) -> list[_Row]:
    """All rows in their order, or of too many those with the largest keys."""
    if len(rows) <= _RANKS:
        return list(rows)
    largest = sorted(range(len(rows)), key=lambda at: -key[at])[:_RANKS]
    return [rows[at] for at in largest]
