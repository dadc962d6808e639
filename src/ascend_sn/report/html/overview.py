"""The first screen of the page: health of the data, what was measured in a few numbers, where the step goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Final

from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import telling_ranks
from ascend_sn.report.html.charts import BREAKDOWN, PHASES
from ascend_sn.report.html.figures import Bar, Part, donut, even_ticks, stacked_bars
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.quantities import bytes_text, count_text, duration_text, percent_text
from ascend_sn.report.words.wording import (
    clocks_text,
    coverage_text,
    damage_lines,
    difference_text,
    health_text,
    rank_text,
    share_text,
)

__all__ = ["health_parts", "overview_parts"]

_WIDE: Final = 1_000
_RANKS: Final = 32
_DAMAGE: Final = 20


@dataclass(frozen=True)
class _Tile:
    kind: str
    label: str
    value: str
    more: str


def health_parts(document: Document, language: Language) -> dict[str, Any]:
    """Return the line on health, what is damaged or differs, remarks, and what was not collected."""
    health = document.health
    damage = damage_lines(health, language)[:_DAMAGE]
    troubled = bool(health.damage_count or health.silent_devices)
    clocks = clocks_text(health.clocks, language)
    return {
        "troubled": troubled,
        "health": health_text(health, language),
        "damage": damage if troubled else [],
        "differences": [difference_text(one, language) for one in health.differences[:_DAMAGE]],
        "health_remarks": [*([] if troubled else damage), *([clocks] if clocks else [])],
        "not_collected": [coverage_text(entry, language) for entry in health.not_collected],
    }


def overview_parts(document: Document, language: Language) -> dict[str, Any]:
    """Return tiles and the drawings of the step; without device work only what can be counted."""
    steps = document.breakdown.ranks
    if not steps:
        return {"ranks": [], "tiles": [], "counted": _counted(document, language), "phases": None}
    shown = telling_ranks(steps, _RANKS)
    whole = document.breakdown.scope == "whole capture"
    window = fmean(step.window_ns for step in steps)
    means = [
        Part(name, language.text(f"part.{name}_ns"), value, percent_text(value / window) if window else "")
        for name in BREAKDOWN
        for value in [fmean(getattr(step, f"{name}_ns") for step in steps)]
    ]
    bars = [Bar(rank_text(step.rank, language), _parts(step, BREAKDOWN, step.window_ns, language)) for step in shown]
    note = [language.text("breakdown.of-capture" if whole else "breakdown.of-step")]
    if len(shown) < len(steps):
        note.append(language.text("breakdown.telling-ranks", count=len(steps)))
    compute = next(part for part in means if part.kind == "compute")
    return {
        "ranks": shown,
        "tiles": _tiles(document, means, language),
        "counted": _counted(document, language),
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
    if not any(getattr(row, f"{name}_ns") for row in rows for name in PHASES if name not in ("communication", "other")):
        return {"phases": None}
    bars = [Bar(rank_text(row.rank, language), _parts(row, PHASES, row.window_ns, language)) for row in rows]
    return {
        "phases": stacked_bars(
            bars, _time_ticks(max(row.window_ns for row in rows)), language.text("phases.title"), width=_WIDE
        ),
        "phase_legend": [Part(name, language.text(f"phase.{name}"), 0, "") for name in PHASES],
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
    return tiles


def _counted(document: Document, language: Language) -> list[_Tile]:
    """Peak of the memory, length of the capture, and how much ran in it; only what was collected."""
    tiles = []
    peaks = [peak for peak in document.memory.peaks if peak.peak_reserved_bytes or peak.peak_allocated_bytes]
    if peaks:
        top = max(peaks, key=lambda peak: peak.peak_reserved_bytes or peak.peak_allocated_bytes or 0)
        size = top.peak_reserved_bytes or top.peak_allocated_bytes or 0
        where = f"{top.component}, {rank_text(top.rank, language)}"
        tiles.append(_Tile("", language.text("memory.title"), bytes_text(size), where))
    if document.capture_ns is not None:
        tiles.append(_Tile("", language.text("tile.capture"), duration_text(document.capture_ns), ""))
    counted = (
        ("tile.operators", document.operators.operator_calls, document.operators.operator_count),
        ("tile.kernels", document.operators.kernel_calls, document.operators.kernel_type_count),
    )
    for label, calls, kinds in counted:
        if calls is not None:
            more = language.text("tile.kinds", count=kinds)
            tiles.append(_Tile("", language.text(label), count_text(calls), more))
    return tiles


def _parts(row: MedianStep | Any, names: Sequence[str], whole_ns: int, language: Language) -> tuple[Part, ...]:
    prefix, suffix = ("part", "_ns") if names is BREAKDOWN else ("phase", "")
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
