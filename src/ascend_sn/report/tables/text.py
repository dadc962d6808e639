"""Tables of the guides' reports as text, for pages: phases, data, grades, who holds memory, copies, fusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Final

from ascend_sn.report.documents.communication import Communication
from ascend_sn.report.documents.copies import Copies
from ascend_sn.report.documents.fusion import Fusion, FusionPattern
from ascend_sn.report.documents.memory import LeakVerdict, Memory
from ascend_sn.report.documents.operators import Operators
from ascend_sn.report.documents.steps import Breakdown, Steps
from ascend_sn.report.documents.views import View
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import shortened
from ascend_sn.report.words.quantities import bytes_text, count_text, duration_text, percent_text, rate_text
from ascend_sn.report.words.wording import (
    copies_note,
    copy_text,
    direction_text,
    fusion_gain_text,
    fusion_notes,
    hot_spots_note,
    pair_text,
    rank_text,
    ranking_text,
    share_text,
)

__all__ = [
    "TextTable",
    "columns_of",
    "copies_table",
    "data_table",
    "fusion_tables",
    "grade_table",
    "hot_spot_table",
    "leak_table",
    "phase_table",
    "shape_table",
    "share_cell",
    "step_table",
    "text_table",
    "total_row",
    "wait_table",
]

_RANKS: Final = 32
_ROWS: Final = 20
_MOST_ROWS: Final = 1_000
_NAME_WIDTH: Final = 80
_SHAPE_WIDTH: Final = 40
_PHASES: Final = ("data", "forward", "backward", "communication", "optimizer", "other")
_PARTS: Final = ("transit", "wait", "idle", "unknown")


@dataclass(frozen=True)
class TextTable:
    """A table ready to be written; names in it are not escaped.

    Its first column stands on the left, and so do those of `left`.
    """

    title: str
    note: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...] = ()
    left: tuple[int, ...] = ()


def phase_table(section: Breakdown, language: Language) -> TextTable | None:
    """The median step of each rank by phase."""
    rows = [
        (
            rank_text(row.rank, language),
            duration_text(row.window_ns),
            *(_of(getattr(row, f"{name}_ns"), row.window_ns) for name in _PHASES),
        )
        for row in section.phases[:_RANKS]
    ]
    columns = ("column.rank", "column.window", *(f"phase.{name}" for name in _PHASES))
    return text_table("phases.title", language.text("phases.note"), columns, rows, language)


def data_table(section: Breakdown, language: Language) -> TextTable | None:
    """How long each rank waits for its data, and whether that limits it."""
    rows = [
        (
            rank_text(row.rank, language),
            count_text(row.steps),
            duration_text(row.data_ns),
            duration_text(row.compute_ns),
            percent_text(row.data_share_ratio),
            language.text(f"waiting.{row.grade}"),
            language.text(f"bottleneck.{row.bottleneck}"),
        )
        for row in section.input_pipeline[:_RANKS]
    ]
    words = ("rank", "steps", "data", "rest", "share", "grade", "bottleneck")
    return text_table("input.title", "", columns_of(*words), rows, language)


def grade_table(section: Communication, language: Language) -> TextTable | None:
    """What the exposed communication of each rank is, its grade, and where to look."""
    shown = section.grades[:_RANKS]
    rows = [
        (
            rank_text(row.rank, language),
            _of(row.exposed_comm_ns, row.window_ns),
            *(share_text(getattr(row, f"exposed_{part}_ns"), row.window_ns) or "-" for part in _PARTS),
            language.text(f"grade.{row.grade}" if row.grade else "value.unknown"),
        )
        for row in shown
    ]
    columns = ("column.rank", "column.exposed", *(f"part.{part}_ns" for part in _PARTS), "column.grade")
    said = dict.fromkeys(direction_text(row, language) for row in shown)
    return text_table("grade.title", language.text("grade.note"), columns, rows, language, said)


def wait_table(section: Communication, language: Language, view: View) -> TextTable | None:
    """Who waits for whom, and how well the links between the two are used."""
    shown = view.rows(section.pairs, _ROWS)[:_MOST_ROWS]
    rows = [
        (
            pair_text(row, "\u2192", language),
            _time(row.mean_wait_ns),
            row.transports or "-",
            _size(row.size_bytes),
            "-" if row.bandwidth_bytes_per_s is None else rate_text(row.bandwidth_bytes_per_s),
            share_cell(row.bandwidth_ratio),
        )
        for row in shown
    ]
    note = f"{language.text('waits.note')} \u00b7 {ranking_text(len(shown), section.pair_count, language)}"
    words = ("pair", "wait", "transport", "size", "bandwidth", "of-peak")
    return text_table("waits.title", note, columns_of(*words), rows, language)


def step_table(section: Steps, language: Language) -> TextTable | None:
    """How long the marked steps took: their number, shortest, middle and longest, per rank."""
    by_profile: dict[int, list[int]] = {}
    ranks: dict[int, int | None] = {}
    for step in section.rows:
        if step.origin != "inferred":
            by_profile.setdefault(step.profile_id, []).append(step.dur_ns)
            ranks[step.profile_id] = step.rank
    rows = [
        (
            rank_text(ranks[profile_id], language),
            count_text(len(times)),
            duration_text(min(times)),
            duration_text(median_low(times)),
            duration_text(max(times)),
        )
        for profile_id, times in list(by_profile.items())[:_RANKS]
        if len(times) > 1
    ]
    words = ("rank", "steps", "min", "median", "max")
    return text_table("steps.title", language.text("steps.note"), columns_of(*words), rows, language)


def shape_table(section: Operators, language: Language, view: View) -> TextTable | None:
    """Kernels by the shapes of their inputs."""
    shown = view.rows(section.shapes, _ROWS)[:_MOST_ROWS]
    rows = [
        (
            shortened(row.op_type, _SHAPE_WIDTH),
            shortened(row.input_shapes.replace(";", "; "), _NAME_WIDTH),
            shortened("; ".join(dict.fromkeys((row.input_dtypes or "-").split(";"))), _SHAPE_WIDTH),
            count_text(row.calls),
            duration_text(row.total_ns),
            duration_text(row.mean_ns),
            duration_text(row.max_ns),
            share_cell(row.share_ratio),
        )
        for row in shown
    ]
    note = ranking_text(len(shown), section.shape_count, language)
    words = ("type", "shapes", "dtypes", "calls", "total", "mean", "max", "share")
    return text_table("shapes.title", note, columns_of(*words), rows, language, left=(1, 2))


def leak_table(section: Memory, language: Language) -> TextTable | None:
    """Whether the memory of each component leaks, the worst first; one row says that none could be judged."""
    judged = [row for row in section.leaks if row.verdict != "insufficient"]
    rows = [
        (
            f"{rank_text(row.rank, language)} \u00b7 {row.component}",
            language.text(f"leak.{row.verdict}"),
            count_text(row.steps),
            _size_per_step(row),
            "-" if row.growth_bytes is None else bytes_text(row.growth_bytes),
            "-" if row.onset_step is None else count_text(row.onset_step),
            "-" if row.steps_left is None else count_text(round(row.steps_left)),
        )
        for row in judged[:_RANKS]
    ]
    note = language.text("leak.note", judged_count=len(judged), all_count=section.leak_count)
    words = ("component", "verdict", "steps", "growth-per-step", "growth", "onset", "steps-left")
    if section.leaks and not rows:
        return TextTable(language.text("leak.title"), language.text("leak.insufficient"), (), ())
    return text_table("leak.title", note, columns_of(*words), rows, language)


def _size_per_step(row: LeakVerdict) -> str:
    return "-" if row.slope_bytes_per_step is None else bytes_text(row.slope_bytes_per_step)


def total_row(section: Memory, language: Language) -> tuple[str, ...]:
    """The row of the total below the operators: name, retained, peak, allocations; empty where it is not known."""
    total = section.total
    if total is None:
        return ()
    name = language.text("memory.total", component=total.component)
    return (name, _size(total.retained_bytes), _size(total.peak_bytes), count_text(total.allocation_count))


def hot_spot_table(section: Memory, language: Language, view: View) -> TextTable | None:
    """Who holds the memory at the peak."""
    spots = section.hot_spots
    if spots is None:
        return None
    shown = view.rows(spots.holders, _ROWS)[:_MOST_ROWS]
    rows = [
        (
            shortened(row.operator_name, _NAME_WIDTH),
            bytes_text(row.held_bytes),
            share_cell(row.share_ratio),
            count_text(row.block_count),
            shortened(row.module or "", _NAME_WIDTH),
        )
        for row in shown
    ]
    note = hot_spots_note(spots, len(shown), language)
    return text_table(
        "memory.hot-spots", note, columns_of("operator", "held", "share", "blocks", "module"), rows, language
    )


def copies_table(section: Copies | None, language: Language) -> TextTable | None:
    """The copies by direction and kind of host memory."""
    if section is None or not section.collected:
        return None
    rows = [
        (
            copy_text(row, language),
            count_text(row.calls),
            duration_text(row.total_ns),
            duration_text(row.mean_ns),
            duration_text(row.exposed_ns),
            share_cell(row.exposed_share_ratio),
            duration_text(row.overlapped_ns),
            _size(row.size_bytes),
            "-" if row.bandwidth_bytes_per_s is None else rate_text(row.bandwidth_bytes_per_s),
        )
        for row in section.rows
    ]
    words = ("direction", "calls", "total", "mean", "exposed", "share", "beside", "size", "bandwidth")
    return text_table("copies.title", copies_note(section, language), columns_of(*words), rows, language)


def fusion_tables(section: Fusion | None, language: Language, view: View) -> list[TextTable]:
    """Fused kernels, and candidates with what fusing them would gain."""
    if section is None:
        return []
    shown = view.rows(section.patterns, _ROWS)[:_MOST_ROWS]
    note = ranking_text(len(shown), section.pattern_count, language)
    columns = columns_of("pattern", "calls", "rate", "before", "after", "saving")
    found = [
        text_table("fusion.fused", note, columns, [_pattern(row) for row in shown if row.state == "fused"], language),
        text_table(
            "fusion.candidate",
            note,
            (*columns, "column.step-gain"),
            [(*_pattern(row), fusion_gain_text(row)) for row in shown if row.state == "candidate"],
            language,
            fusion_notes(section, language),
        ),
    ]
    return [table for table in found if table is not None]


def _pattern(row: FusionPattern) -> tuple[str, ...]:
    estimated = "~" if row.is_estimate and row.before_ns is not None else ""
    saving = "" if row.saving_ratio is None else f" ({percent_text(row.saving_ratio)})"
    return (
        shortened(row.pattern, _NAME_WIDTH),
        count_text(row.instances),
        percent_text(row.fusion_ratio),
        estimated + _time(row.before_ns),
        _time(row.after_ns),
        _time(row.saving_ns) + saving,
    )


def text_table(
    title: str,
    note: str,
    columns: Sequence[str],
    rows: Sequence[tuple[str, ...]],
    language: Language,
    remarks: Sequence[str] | dict[str, None] = (),
    left: tuple[int, ...] = (),
) -> TextTable | None:
    """Return a table with its words in a language; None without rows."""
    if not rows:
        return None
    return TextTable(language.text(title), note, tuple(map(language.text, columns)), tuple(rows), tuple(remarks), left)


def columns_of(*words: str) -> tuple[str, ...]:
    """Return the ids of the messages that head these columns."""
    return tuple(f"column.{word}" for word in words)


def _of(part: int, whole: int) -> str:
    return f"{duration_text(part)} ({share_text(part, whole)})" if whole else duration_text(part)


def _time(ns: float | None) -> str:
    return "-" if ns is None else duration_text(ns)


def _size(size_bytes: int | None) -> str:
    return "-" if size_bytes is None else bytes_text(size_bytes)


def share_cell(ratio: float | None) -> str:
    """Return a share in percent; a dash where it is not known."""
    return "-" if ratio is None else percent_text(ratio)
