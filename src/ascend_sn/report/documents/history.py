"""The documents of the history: `history list`, `history show` and `history trend --format json` are these, encoded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from ascend_sn._version import __version__
from ascend_sn.compare.history.level_changes import FEWEST, level_changes
from ascend_sn.compare.history.record import Record
from ascend_sn.compare.metrics import METRICS
from ascend_sn.report.words.language import Code, Language
from ascend_sn.report.words.quantities import bytes_text, duration_text, percent_text

__all__ = [
    "HISTORY_SCHEMA",
    "TREND_SCHEMA",
    "HistoryDocument",
    "LevelChange",
    "MetricTrend",
    "TrendDocument",
    "TrendPoint",
    "history_document",
    "metric_value",
    "trend_document",
]

HISTORY_SCHEMA: Final = "ascend-sn/history/1"
TREND_SCHEMA: Final = "ascend-sn/trend/1"

_UNITS: Final = {metric.name: metric.unit for metric in METRICS}


class HistoryDocument(msgspec.Struct, kw_only=True):
    """Runs of a history.

    Attributes:
        where: File or URL of the history, without password.
        series: Names of its series.
        runs: The runs, the oldest first.
        removed_count: Runs that were pruned; null where nothing was asked to be.
    """

    schema: Literal["ascend-sn/history/1"]
    generator: str
    language: Code
    where: str
    series: list[str]
    runs: list[Record]
    removed_count: int | None = None


class TrendPoint(msgspec.Struct, kw_only=True):
    """One run of a trend; `value` in ns, bytes or as a ratio."""

    run: int
    label: str
    recorded_ns: int
    value: float
    verdict: Literal["passed", "unsure", "possible", "failed"] | None
    pinned: bool


class LevelChange(msgspec.Struct, kw_only=True):
    """A lasting change of a metric.

    Attributes:
        run: First run after it.
        previous: Last run before it.
        before: Median before it, back to the change before.
        after: Median after it, up to the next change.
        change: Relative change.
        chance: Probability that runs which do not differ look like that.
        is_worse: Whether the metric got worse.
    """

    run: int
    previous: int
    before: float
    after: float
    change: float
    chance: float
    is_worse: bool


class MetricTrend(msgspec.Struct, kw_only=True):
    """One metric over the runs that have it, the oldest first."""

    metric: str
    unit: Literal["ns", "bytes", "ratio"]
    worse: Literal["up", "down"]
    points: list[TrendPoint]
    changes: list[LevelChange]


class TrendDocument(msgspec.Struct, kw_only=True):
    """How the metrics of a series developed.

    Attributes:
        where: File or URL of the history, without password.
        series: The series.
        setup: Device, ranks and structure of the newest run; only runs of this setup are looked at.
        other_setup_count: Runs of another setup, which are left out.
        fewest: Runs of a metric below which no change is looked for.
        metrics: The metrics.
    """

    schema: Literal["ascend-sn/trend/1"]
    generator: str
    language: Code
    where: str
    series: str
    setup: str
    other_setup_count: int
    fewest: int
    metrics: list[MetricTrend]


def history_document(
    where: str, series: Sequence[str], runs: Sequence[Record], language: Language, *, removed: int | None = None
) -> HistoryDocument:
    """Return the document of some runs."""
    return HistoryDocument(
        schema="ascend-sn/history/1",
        generator=_generator(),
        language=language.code,
        where=where,
        series=list(series),
        runs=list(runs),
        removed_count=removed,
    )


def trend_document(
    where: str, series: str, records: Sequence[Record], language: Language, metrics: Sequence[str] = ()
) -> TrendDocument:
    """Return how metrics developed over the runs of a series; without names all that any run has."""
    setup = records[-1].setup if records else ""
    alike = [one for one in records if one.setup == setup]
    trends = [
        _trend(metric.name, metric.worse, alike) for metric in METRICS if not metrics or metric.name in set(metrics)
    ]
    return TrendDocument(
        schema="ascend-sn/trend/1",
        generator=_generator(),
        language=language.code,
        where=where,
        series=series,
        setup=setup,
        other_setup_count=len(records) - len(alike),
        fewest=FEWEST,
        metrics=[trend for trend in trends if trend.points],
    )


def metric_value(metric: str, value: float) -> str:
    """A value in the unit of its metric."""
    unit = _UNITS.get(metric, "ratio")
    if unit == "ns":
        return duration_text(value)
    return bytes_text(value) if unit == "bytes" else percent_text(value)


def _trend(name: str, worse: Literal["up", "down"], records: Sequence[Record]) -> MetricTrend:
    known = [one for one in records if name in one.values]
    values = [one.values[name] for one in known]
    changes = [
        LevelChange(
            run=known[one.place].id,
            previous=known[one.place - 1].id,
            before=one.before,
            after=one.after,
            change=one.after / one.before - 1 if one.before else 0.0,
            chance=one.chance,
            is_worse=(one.after > one.before) == (worse == "up"),
        )
        for one in level_changes(values)
    ]
    points = [
        TrendPoint(
            run=one.id,
            label=one.label,
            recorded_ns=one.recorded_ns,
            value=one.values[name],
            verdict=one.verdict,
            pinned=one.pinned,
        )
        for one in known
    ]
    return MetricTrend(metric=name, unit=_UNITS[name], worse=worse, points=points, changes=changes)


def _generator() -> str:
    return f"generated by ascend-sn {__version__}"
