"""The document as one self-contained HTML page: inline style, static SVG, no script, nothing fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.report.document import Document, Operation
from ascend_sn.report.figures import Bar, Part, donut, even_ticks, split_bar, stacked_bars
from ascend_sn.report.html_communication import link_maps
from ascend_sn.report.html_findings import findings_parts
from ascend_sn.report.html_memory import memory_curves
from ascend_sn.report.language import Language
from ascend_sn.report.printable import printable, shortened
from ascend_sn.report.quantities import bytes_text, count_text, duration_text, percent_text, rate_text
from ascend_sn.report.text_tables import (
    copies_table,
    data_table,
    fusion_tables,
    grade_table,
    hot_spot_table,
    total_row,
    wait_table,
)
from ascend_sn.report.views import View, telling_ranks
from ascend_sn.report.wording import (
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
)

__all__ = ["html_text"]

_TEMPLATES: Final = Path(__file__).parent / "templates"
_WIDE: Final = 1_000
_RANKS: Final = 32
_ROWS: Final = 20
_MOST_ROWS: Final = 1_000
_DAMAGE: Final = 20
_NAME_WIDTH: Final = 90
_BREAKDOWN: Final = ("compute", "exposed_comm", "exposed_copy", "free")
_PHASES: Final = ("data", "forward", "backward", "communication", "optimizer", "other")
_COMMUNICATION: Final = ("transit", "wait", "idle", "unknown")
_TERMS: Final = ("step", "compute", "exposed", "copy", "free", "stage", "transit", "wait", "idle", "kernel", "operator")


@dataclass(frozen=True)
class _Tile:
    kind: str
    label: str
    value: str
    more: str


def html_text(document: Document, language: Language, view: View) -> str:
    """Return the page.

    Rankings show twenty rows unless the view asks for another number, and a thousand at most; of more than 32 ranks
    the telling ones are drawn, so that the page stays below 3 MB whatever the run's size.
    """
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
    )
    return environment.get_template("report.html.j2").render(
        document=document,
        language=language,
        view=view,
        t=language.text,
        style=Markup((_TEMPLATES / "style.css").read_text(encoding="utf-8")),
        absence=lambda section: absence_text(section, language),
        rank=lambda number: rank_text(number, language),
        name=lambda text: shortened(text or "-", _NAME_WIDTH),
        duration=duration_text,
        size=bytes_text,
        percent=percent_text,
        count=count_text,
        rate=rate_text,
        share_text=share_text,
        ranking=lambda rows, total: ranking_text(len(rows), total, language),
        chips=subject_parts(document, language)[1:],
        profiles=len(document.profiles),
        terms=_TERMS,
        **_health(document, language),
        **_overview(document, language),
        **findings_parts(document.findings, language),
        **_rankings(document, view),
        **_communication(document, language),
        **memory_curves(document, language),
        **_tables(document, language, view),
    )


def _health(document: Document, language: Language) -> dict[str, Any]:
    health = document.health
    return {
        "troubled": bool(health.damage_count or health.silent_devices),
        "health": health_text(health, language),
        "damage": damage_lines(health, language)[:_DAMAGE],
        "not_collected": [coverage_text(entry, language) for entry in health.not_collected],
    }


def _overview(document: Document, language: Language) -> dict[str, Any]:
    steps = document.breakdown.ranks
    if not steps:
        return {"ranks": [], "tiles": [], "phases": None}
    shown = telling_ranks(steps, _RANKS)
    whole = document.breakdown.scope == "whole capture"
    window = fmean(step.window_ns for step in steps)
    means = [
        Part(name, language.text(f"part.{name}_ns"), value, percent_text(value / window) if window else "")
        for name in _BREAKDOWN
        for value in [fmean(getattr(step, f"{name}_ns") for step in steps)]
    ]
    bars = [Bar(rank_text(step.rank, language), _parts(step, _BREAKDOWN, step.window_ns, language)) for step in shown]
    note = [language.text("breakdown.of-capture" if whole else "breakdown.of-step")]
    if len(shown) < len(steps):
        note.append(language.text("breakdown.telling-ranks", count=len(steps)))
    compute = next(part for part in means if part.kind == "compute")
    return {
        "ranks": shown,
        "tiles": _tiles(document, means, language),
        "breakdown_note": " \u00b7 ".join(note),
        "bars": stacked_bars(
            bars, _time_ticks(max(step.window_ns for step in shown)), language.text("breakdown.title")
        ),
        "part_legend": [Part(part.kind, part.label, 0, "") for part in means],
        "pie": donut(means, compute.text, compute.label, language.text("report.pie")),
        "pie_legend": means,
        "pie_note": language.text("report.pie-ranks", count=len(steps)) if len(steps) > 1 else "",
        **_phases(document, language, {step.profile_id for step in shown}),
    }


def _phases(document: Document, language: Language, shown: set[int]) -> dict[str, Any]:
    rows = [row for row in document.breakdown.phases if row.profile_id in shown]
    if not any(
        getattr(row, f"{name}_ns") for row in rows for name in _PHASES if name not in ("communication", "other")
    ):
        return {"phases": None}
    bars = [Bar(rank_text(row.rank, language), _parts(row, _PHASES, row.window_ns, language)) for row in rows]
    return {
        "phases": stacked_bars(
            bars, _time_ticks(max(row.window_ns for row in rows)), language.text("phases.title"), width=_WIDE
        ),
        "phase_legend": [Part(name, language.text(f"phase.{name}"), 0, "") for name in _PHASES],
    }


def _tiles(document: Document, means: Sequence[Part], language: Language) -> list[_Tile]:
    steps = document.breakdown.ranks
    whole = document.breakdown.scope == "whole capture"
    low, high = min(step.window_min_ns for step in steps), max(step.window_max_ns for step in steps)
    tiles = [
        _Tile(
            "",
            language.text("column.capture" if whole else "tile.step"),
            duration_text(fmean(step.window_ns for step in steps)),
            "" if low == high else f"{duration_text(low)} - {duration_text(high)}",
        )
    ]
    tiles += [
        _Tile(part.kind, part.label, part.text, duration_text(part.value))
        for part in means
        if part.kind != "exposed_copy" or part.value
    ]
    peaks = [peak for peak in document.memory.peaks if peak.peak_reserved_bytes or peak.peak_allocated_bytes]
    if peaks:
        top = max(peaks, key=lambda peak: peak.peak_reserved_bytes or peak.peak_allocated_bytes or 0)
        size = top.peak_reserved_bytes or top.peak_allocated_bytes or 0
        tiles.append(
            _Tile(
                "", language.text("memory.title"), bytes_text(size), f"{top.component}, {rank_text(top.rank, language)}"
            )
        )
    return tiles


def _rankings(document: Document, view: View) -> dict[str, Any]:
    rows = min(view.top_k or _ROWS, _MOST_ROWS)
    sizes = [
        (max(peak.peak_allocated_bytes or 0, peak.peak_reserved_bytes or 0, peak.peak_active_bytes or 0), peak)
        for peak in document.memory.peaks
    ]
    peaks = [peak for size, peak in sorted(sizes, key=lambda pair: -pair[0]) if size]
    return {
        "kernels": document.operators.kernels[:rows],
        "operators": document.operators.operators[:rows],
        "links": document.communication.links[:rows],
        "memory_operators": document.memory.operators[:rows],
        "peaks": peaks[:rows],
        "peak_count": len(peaks),
    }


def _communication(document: Document, language: Language) -> dict[str, Any]:
    section = document.communication
    rows = [(row, False) for row in section.operations[:_ROWS]]
    if section.total is not None and len(section.operations) > 1:
        rows.append((section.total, True))
    known = [name for name in _COMMUNICATION if section.total is not None and getattr(section.total, f"{name}_ns")]
    return {
        "members": members_text(section.total, language) if section.total is not None else "",
        "operations": [(row, split_bar(_shares(row, language), printable(row.op)), is_sum) for row, is_sum in rows],
        "comm_legend": [Part(name, language.text(f"part.{name}_ns"), 0, "") for name in known],
        "maps": link_maps(section.links, language),
    }


def _tables(document: Document, language: Language, view: View) -> dict[str, Any]:
    fusion = document.fusion
    return {
        "data": data_table(document.breakdown, language),
        "grades": grade_table(document.communication, language),
        "waits": wait_table(document.communication, language, view),
        "memory_total": total_row(document.memory, language),
        "hot_spots": hot_spot_table(document.memory, language, view),
        "copies": copies_table(document.copies, language),
        "fusion_rate": fusion_rate_text(fusion, language) if fusion is not None and fusion.collected else "",
        "fusion": fusion_tables(fusion, language, view),
    }


def _shares(row: Operation, language: Language) -> list[Part]:
    return [
        Part(name, language.text(f"part.{name}_ns"), value, duration_text(value))
        for name in _COMMUNICATION
        for value in [getattr(row, f"{name}_ns") or 0]
    ]


def _parts(row: MedianStep | Any, names: Sequence[str], whole_ns: int, language: Language) -> tuple[Part, ...]:
    prefix = "part" if names is _BREAKDOWN else "phase"
    suffix = "_ns" if names is _BREAKDOWN else ""
    return tuple(
        Part(
            name,
            language.text(f"{prefix}.{name}{suffix}"),
            value,
            f"{duration_text(value)} {share_text(value, whole_ns)}",
        )
        for name in names
        for value in [getattr(row, f"{name}_ns")]
    )


def _time_ticks(end_ns: float) -> list[tuple[float, str]]:
    return [(tick, duration_text(tick) if tick else "0") for tick in even_ticks(end_ns)]
