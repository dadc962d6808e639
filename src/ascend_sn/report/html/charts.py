"""The charts of the page: the figures of the document, arranged for the front end."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any, Final

from ascend_sn.report.documents.communication import RankPair
from ascend_sn.report.documents.inference import Inference
from ascend_sn.report.documents.memory import Curve
from ascend_sn.report.documents.run import Document
from ascend_sn.report.documents.views import telling_ranks
from ascend_sn.report.html.chart_data import (
    Chart,
    HeatChart,
    HeatMetric,
    LineGroup,
    LinesChart,
    LineSeries,
    RankingChart,
    RankingRow,
    ShareChart,
    Slice,
    StackChart,
    StackPart,
)
from ascend_sn.report.html.communication import LinkSums
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable, shortened
from ascend_sn.report.words.quantities import count_text, percent_text
from ascend_sn.report.words.wording import rank_text

__all__ = ["BREAKDOWN", "LATENCY", "PARTS", "PHASES", "charts_of"]

BREAKDOWN: Final = ("compute", "exposed_comm", "exposed_copy", "free")
PHASES: Final = ("data", "forward", "backward", "communication", "optimizer", "other")
PARTS: Final = ("transit", "wait", "idle", "unknown")
LATENCY: Final = ("copy_in", "inference", "copy_out", "gap")

_RANKS: Final = 256
_PRIMITIVES: Final = 20
_RANKED: Final = 15
_SERIES: Final = 16
_SIDE: Final = 32
_NAME_WIDTH: Final = 60


def charts_of(document: Document, language: Language, links: Sequence[LinkSums]) -> dict[str, Chart]:
    """Return the charts by the name of their figure in the template; a figure without data has none."""
    found: dict[str, Chart | None] = {
        "breakdown": _breakdown(document, language),
        "share": _share(document, language),
        "phases": _phases(document, language),
        "steps": _steps(document, language),
        "kernels": _kernels(document, language),
        "operations": _operations(document, language),
        "waits": _waits(document.communication.pairs, language),
        "memory": _curves(document.memory.curves, language),
        "peak": _peak(document, language),
        "latency": _latency(document.inference, language),
        **{f"links-{number}": _links(sums, language) for number, sums in enumerate(links)},
    }
    return {name: chart for name, chart in found.items() if chart is not None}


def _breakdown(document: Document, language: Language) -> Chart | None:
    rows = telling_ranks(document.breakdown.ranks, _RANKS)
    return _stack(rows, [(name, f"{name}_ns", f"part.{name}_ns") for name in BREAKDOWN], language)


def _phases(document: Document, language: Language) -> Chart | None:
    rows = document.breakdown.phases[:_RANKS]
    return _stack(rows, [(name, f"{name}_ns", f"phase.{name}") for name in PHASES], language)


def _stack(rows: Sequence[Any], parts: Sequence[tuple[str, str, str]], language: Language) -> Chart | None:
    """Bars of rows with a rank; parts that are nowhere are left out."""
    if not rows:
        return None
    return StackChart(
        unit="ns",
        categories=[rank_text(row.rank, language) for row in rows],
        parts=[
            StackPart(kind, language.text(label), [getattr(row, field) for row in rows])
            for kind, field, label in parts
            if any(getattr(row, field) for row in rows)
        ],
    )


def _share(document: Document, language: Language) -> Chart | None:
    steps = document.breakdown.ranks
    if not steps:
        return None
    window = fmean(step.window_ns for step in steps)
    means = {name: fmean(getattr(step, f"{name}_ns") for step in steps) for name in BREAKDOWN}
    return ShareChart(
        unit="ns",
        slices=[Slice(name, language.text(f"part.{name}_ns"), value) for name, value in means.items() if value],
        middle=percent_text(means["compute"] / window) if window else "",
        below=language.text("part.compute_ns"),
    )


def _steps(document: Document, language: Language) -> Chart | None:
    """How long each step took, per rank; two steps make a line."""
    by_profile: dict[int, LineSeries] = {}
    for row in document.steps.rows:
        if row.origin == "inferred":
            continue
        line = by_profile.setdefault(row.profile_id, LineSeries("", rank_text(row.rank, language), [], []))
        line.x.append(row.step if row.step is not None else row.step_id)
        line.y.append(row.dur_ns)
    lines = [line for line in by_profile.values() if len(line.x) > 2][:_SERIES]
    if not lines:
        return None
    return LinesChart(x_unit="count", unit="ns", stepped=False, groups=[LineGroup("", lines)])


def _kernels(document: Document, language: Language) -> Chart | None:
    rows = document.operators.kernels[:_RANKED]
    if not rows:
        return None
    calls = language.text("column.calls")
    return RankingChart(
        unit="ns",
        kind="compute",
        label=language.text("column.total"),
        rows=[RankingRow(_name(row.op_type or "-"), row.total_ns, f"{calls} {count_text(row.calls)}") for row in rows],
        cumulative=[row.cumulative_ratio for row in rows],
        cumulative_label=language.text("column.cumulative"),
    )


def _operations(document: Document, language: Language) -> Chart | None:
    rows = document.communication.operations[:_PRIMITIVES]
    if not rows:
        return None
    parts = [
        StackPart(part, language.text(f"part.{part}_ns"), [getattr(row, f"{part}_ns") for row in rows])
        for part in PARTS
        if any(getattr(row, f"{part}_ns") for row in rows)
    ]
    return StackChart(unit="ns", categories=[_name(row.op) for row in rows], parts=parts) if parts else None


def _links(sums: LinkSums, language: Language) -> Chart:
    return HeatChart(
        rows=[str(rank) for rank in sums.senders],
        columns=[str(rank) for rank in sums.receivers],
        metrics=[
            HeatMetric(language.text("column.time"), "ns", False),
            HeatMetric(language.text("column.bandwidth"), "bytes_per_s", True),
            HeatMetric(language.text("column.size"), "bytes", False),
        ],
        cells=[
            [sums.senders.index(source), sums.receivers.index(target), dur, size * 1e9 / dur if dur else None, size]
            for (source, target), (dur, size) in sums.pairs.items()
        ],
    )


def _waits(pairs: Sequence[RankPair], language: Language) -> Chart | None:
    """Who waits for whom, of the communicator (or the ranks of the job) in which most is waited."""
    waited: dict[str | None, int] = {}
    for pair in pairs:
        waited[pair.group_id] = waited.get(pair.group_id, 0) + (pair.mean_wait_ns or 0)
    if not any(waited.values()):
        return None
    group = max(waited, key=lambda group_id: waited[group_id])
    shown = [pair for pair in pairs if pair.group_id == group and pair.src_rank != pair.dst_rank]
    by_rank: dict[int, int] = {}
    for pair in shown:
        for rank in (pair.src_rank, pair.dst_rank):
            by_rank[rank] = by_rank.get(rank, 0) + (pair.mean_wait_ns or 0)
    ranks = sorted(sorted(by_rank, key=lambda rank: -by_rank[rank])[:_SIDE])
    shown = [pair for pair in shown if pair.src_rank in ranks and pair.dst_rank in ranks]
    sources, targets = sorted({pair.src_rank for pair in shown}), sorted({pair.dst_rank for pair in shown})
    metrics = [HeatMetric(language.text("column.wait"), "ns", False, wide=True)]
    with_peak = any(pair.bandwidth_ratio is not None for pair in shown)
    if with_peak:
        metrics.append(HeatMetric(language.text("column.of-peak"), "ratio", True))
    return HeatChart(
        rows=list(map(str, sources)),
        columns=list(map(str, targets)),
        metrics=metrics,
        cells=[
            [
                sources.index(pair.src_rank),
                targets.index(pair.dst_rank),
                pair.mean_wait_ns,
                *([pair.bandwidth_ratio] if with_peak else []),
            ]
            for pair in shown
        ],
    )


def _curves(curves: Sequence[Curve], language: Language) -> Chart | None:
    """A group per component of a rank, the highest first; those with both curves tell most."""
    if not curves:
        return None
    shown = sorted(curves, key=lambda curve: (not any(curve.allocated_bytes), -_height(curve)))[:_SERIES]
    several = len({curve.profile_id for curve in curves}) > 1
    groups = []
    for curve in shown:
        lines = [
            LineSeries(kind, language.text(f"column.{kind}"), curve.ts_ns, values)
            for kind, values in (("allocated", curve.allocated_bytes), ("reserved", curve.reserved_bytes))
            if any(value is not None for value in values)
        ]
        name = printable(shortened(curve.component, 24))
        groups.append(LineGroup(f"{name}, {rank_text(curve.rank, language)}" if several else name, lines))
    return LinesChart(x_unit="ns", unit="bytes", stepped=True, groups=groups)


def _height(curve: Curve) -> int:
    return max((value or 0 for values in (curve.allocated_bytes, curve.reserved_bytes) for value in values), default=0)


def _peak(document: Document, language: Language) -> Chart | None:
    spots = document.memory.hot_spots
    if spots is None or not spots.holders:
        return None
    rows = spots.holders[:_RANKED]
    held, cumulative = 0, []
    for row in rows:
        held += row.held_bytes
        cumulative.append(held / spots.device_bytes if spots.device_bytes else None)
    return RankingChart(
        unit="bytes",
        kind="allocated",
        label=language.text("column.held"),
        rows=[RankingRow(_name(row.operator_name), row.held_bytes, _name(row.module or "")) for row in rows],
        cumulative=list(cumulative),
        cumulative_label=language.text("column.cumulative"),
    )


def _latency(section: Inference | None, language: Language) -> Chart | None:
    """The mean request of each profile by stage."""
    if section is None or not section.stages:
        return None
    profiles = list(dict.fromkeys((row.profile_id, row.rank) for row in section.stages))[:_RANKS]
    means = {(row.profile_id, row.stage): row.mean_ns for row in section.stages}
    return StackChart(
        unit="ns",
        categories=[rank_text(rank, language) for _, rank in profiles],
        parts=[
            StackPart(
                stage, language.text(f"latency.{stage}"), [means.get((profile, stage)) for profile, _ in profiles]
            )
            for stage in LATENCY
        ],
    )


def _name(text: str) -> str:
    return printable(shortened(text, _NAME_WIDTH))
