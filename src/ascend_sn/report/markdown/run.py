"""The document as Markdown, for pull requests and wikis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ascend_sn.report.documents.communication import Operation
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.section import Section
from ascend_sn.report.documents.views import View, telling_ranks
from ascend_sn.report.markdown.blocks import bullets, section_lines, table, table_lines
from ascend_sn.report.markdown.findings import findings_lines
from ascend_sn.report.tables.cluster import cluster_lines, cluster_tables
from ascend_sn.report.tables.inference import inference_tables
from ascend_sn.report.tables.path import path_tables
from ascend_sn.report.tables.text import (
    copies_table,
    data_table,
    fusion_tables,
    grade_table,
    hot_spot_table,
    leak_table,
    phase_table,
    shape_table,
    total_row,
    wait_table,
)
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import markdown_cell, shortened
from ascend_sn.report.words.quantities import bytes_text, count_text, duration_text, percent_text
from ascend_sn.report.words.wording import (
    absence_text,
    coverage_text,
    damage_lines,
    fusion_rate_text,
    health_text,
    members_text,
    rank_text,
    ranking_text,
    share_text,
    subject_parts,
    undivided_text,
)

__all__ = ["markdown_text"]

_RANKS: Final = 32
_ROWS: Final = 20
_NAME_WIDTH: Final = 80
_WHERE_ASKED: Final = ("critical_path", "inference")
_PARTS: Final = ("compute_ns", "exposed_comm_ns", "exposed_copy_ns", "free_ns")


def markdown_text(document: Document, language: Language, view: View) -> str:
    """Return the document as Markdown; names are escaped, so they format nothing."""
    title, *rest = subject_parts(document, language)
    lines = [
        f"<!-- {document.generator} -->",
        "",
        f"# {markdown_cell(title)}",
        "",
        markdown_cell(" \u00b7 ".join(rest)),
    ]
    lines += _health(document, language)
    lines += ["", f"## {language.text('verdict.title')}", ""]
    lines += bullets(statement.text for statement in document.verdict)
    if document.cluster is not None and "breakdown" in view.sections:
        lines += ["", f"## {language.text('cluster.title')}", "", *bullets(cluster_lines(document.cluster, language))]
        lines += section_lines(cluster_tables(document.cluster, language, view))
    writers: dict[str, Callable[[Document, Language, View], list[str]]] = {
        "breakdown": _breakdown,
        "critical_path": _critical_path,
        "findings": _findings,
        "operators": _operators,
        "communication": _communication,
        "memory": _memory,
        "copies": _copies,
        "fusion": _fusion,
        "inference": _inference,
    }
    for name, write in writers.items():
        if name in view.sections and (name not in _WHERE_ASKED or getattr(document, name) is not None):
            title = f"{name}.title" if name in ("breakdown", "critical_path", "findings") else f"report.{name}"
            lines += ["", f"## {language.text(title)}", ""]
            lines += write(document, language, view)
    not_collected = [coverage_text(entry, language) for entry in document.health.not_collected]
    if not_collected:
        lines += ["", f"## {language.text('notes.not-collected')}", "", *bullets(not_collected)]
    return "\n".join(lines) + "\n"


def _health(document: Document, language: Language) -> list[str]:
    health = document.health
    lines = ["", f"## {language.text('health.title')}", "", markdown_cell(health_text(health, language))]
    damage = damage_lines(health, language)[:_ROWS]
    return [*lines, "", *bullets(damage)] if damage else lines


def _breakdown(document: Document, language: Language, view: View) -> list[str]:
    section = document.breakdown
    if not section.collected:
        return _absent(section, language)
    whole = section.scope == "whole capture"
    columns = ["rank", "capture" if whole else "step", *(f"part.{part}" for part in _PARTS), "overlapped", "stage"]
    rows = [
        [
            rank_text(step.rank, language),
            duration_text(step.window_ns),
            *(_share(getattr(step, part), step.window_ns) for part in _PARTS),
            duration_text(step.overlapped_ns),
            "-" if step.stage_ns is None else duration_text(step.stage_ns),
        ]
        for step in telling_ranks(section.ranks, _RANKS)
    ]
    note = language.text("breakdown.of-capture" if whole else "breakdown.of-step")
    lines = [markdown_cell(note), "", *table(columns, rows, language)]
    return lines + section_lines([phase_table(section, language), data_table(section, language)])


def _critical_path(document: Document, language: Language, view: View) -> list[str]:
    section = document.critical_path
    if section is None or not section.collected:
        return [] if section is None else _absent(section, language)
    first, *rest = path_tables(section, language, view)
    return [*table_lines(first), *section_lines(rest)]


def _findings(document: Document, language: Language, view: View) -> list[str]:
    section = document.findings
    return findings_lines(section, language) if section.collected else _absent(section, language)


def _operators(document: Document, language: Language, view: View) -> list[str]:
    section = document.operators
    if not section.collected:
        return _absent(section, language)
    lines = []
    kernels = view.rows(section.kernels, _ROWS)
    if kernels:
        rows = [
            [
                shortened(row.op_type or "-", _NAME_WIDTH),
                row.core_type or "-",
                count_text(row.calls),
                duration_text(row.total_ns),
                duration_text(row.mean_ns),
                "-" if row.share_ratio is None else percent_text(row.share_ratio),
            ]
            for row in kernels
        ]
        lines += [
            f"### {language.text('kernels.title')}",
            "",
            ranking_text(len(rows), section.kernel_type_count, language),
        ]
        lines += ["", *table(["type", "core", "calls", "total", "mean", "share"], rows, language)]
    operators = view.rows(section.operators, _ROWS)
    if operators:
        rows = [
            [
                shortened(row.name, _NAME_WIDTH),
                count_text(row.calls),
                "-" if row.device_ns is None else duration_text(row.device_ns),
                duration_text(row.host_ns),
                "-" if row.mean_device_ns is None else duration_text(row.mean_device_ns),
                "-" if row.input_bytes is None else bytes_text(row.input_bytes),
                "-" if row.output_bytes is None else bytes_text(row.output_bytes),
                "-" if row.share_ratio is None else percent_text(row.share_ratio),
            ]
            for row in operators
        ]
        columns = ["operator", "calls", "device", "host", "mean", "input", "output", "share"]
        lines += ["", f"### {language.text('operators.title')}", ""]
        lines += [ranking_text(len(rows), section.operator_count, language), "", *table(columns, rows, language)]
    lines += section_lines([shape_table(section, language, view)])
    return lines or [language.text("operators.none-above", limit_ns=section.op_time_threshold_ns or 0)]


def _communication(document: Document, language: Language, view: View) -> list[str]:
    section = document.communication
    fused = [] if not section.fused_ns else ["", language.text("communication.fused", fused_ns=section.fused_ns)]
    if not section.collected or section.total is None:
        return [*_absent(section, language), *fused]
    rows = [_operation(row.op, row, language) for row in view.rows(section.operations, _ROWS)]
    if len(section.operations) > 1:
        rows.append(_operation(language.text("communication.all"), section.total, language))
    members = members_text(section.total, language)
    columns = [
        "primitive",
        "calls",
        "total",
        "mean",
        "part.transit_ns",
        "part.wait_ns",
        "part.idle_ns",
        "exposed",
        "share-of-step",
        "exposed-share",
        "size",
    ]
    note = [markdown_cell(language.text("communication.members", members=members)), ""] if members else []
    undivided = undivided_text(section.total, language)
    return [
        *note,
        *table(columns, rows, language),
        *(["", markdown_cell(undivided)] if undivided else []),
        *fused,
        *section_lines([grade_table(section, language), wait_table(section, language, view)]),
    ]


def _operation(name: str, row: Operation, language: Language) -> list[str]:
    unknown = language.text("value.unknown")
    return [
        name,
        count_text(row.calls),
        duration_text(row.total_ns),
        duration_text(row.mean_ns),
        *(
            unknown if part is None else _share(part, row.total_ns)
            for part in (row.transit_ns, row.wait_ns, row.idle_ns)
        ),
        "-" if row.exposed_ns is None else duration_text(row.exposed_ns),
        "-" if row.share_ratio is None else percent_text(row.share_ratio),
        "-" if row.exposed_share_ratio is None else percent_text(row.exposed_share_ratio),
        "-" if row.size_bytes is None else bytes_text(row.size_bytes),
    ]


def _memory(document: Document, language: Language, view: View) -> list[str]:
    section = document.memory
    if not section.collected:
        return _absent(section, language)
    peaks = [
        [rank_text(row.rank, language), row.component]
        + [
            "-" if size is None else bytes_text(size)
            for size in (row.peak_allocated_bytes, row.peak_reserved_bytes, row.peak_active_bytes)
        ]
        for row in view.rows(section.peaks, _ROWS)
    ]
    lines = table(["rank", "component", "allocated", "reserved", "active"], peaks, language)
    operators = [
        [
            shortened(row.operator_name, _NAME_WIDTH),
            bytes_text(row.retained_bytes),
            bytes_text(row.peak_bytes),
            count_text(row.allocation_count),
        ]
        for row in view.rows(section.operators, _ROWS)
    ]
    if operators:
        lines += ["", f"### {language.text('memory.operators')}", ""]
        operators += [list(total_row(section, language))] if section.total else []
        lines += table(["operator", "retained", "peak", "allocations"], operators, language)
    return lines + section_lines([hot_spot_table(section, language, view), leak_table(section, language)])


def _copies(document: Document, language: Language, view: View) -> list[str]:
    section = document.copies
    found = copies_table(section, language)
    if section is None or found is None:
        return [] if section is None else _absent(section, language)
    return table_lines(found)


def _fusion(document: Document, language: Language, view: View) -> list[str]:
    section = document.fusion
    if section is None or not section.collected:
        return [] if section is None else _absent(section, language)
    return [markdown_cell(fusion_rate_text(section, language)), *section_lines(fusion_tables(section, language, view))]


def _inference(document: Document, language: Language, view: View) -> list[str]:
    section = document.inference
    if section is None or not section.collected:
        return [] if section is None else _absent(section, language)
    return section_lines(inference_tables(section, language))


def _absent(section: Section, language: Language) -> list[str]:
    return [markdown_cell(absence_text(section, language))]


def _share(part: int, whole: int) -> str:
    return f"{duration_text(part)} ({share_text(part, whole)})" if whole else duration_text(part)
