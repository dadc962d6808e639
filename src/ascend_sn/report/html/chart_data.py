"""What a chart is made of, as the front end reads it (`frontend/src/report/data.ts`); texts are ready to be shown."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = [
    "Chart",
    "HeatChart",
    "HeatMetric",
    "LineGroup",
    "LineSeries",
    "LinesChart",
    "RankingChart",
    "RankingRow",
    "ReportData",
    "ShareChart",
    "Slice",
    "StackChart",
    "StackPart",
    "TimelineData",
    "TimelineLaneData",
    "Unit",
]

Unit = Literal["ns", "bytes", "bytes_per_s", "ratio", "count"]


class StackPart(msgspec.Struct):
    """One part of every bar; `kind` names its colour."""

    kind: str
    label: str
    values: list[float | None]


class StackChart(msgspec.Struct, tag="stack", tag_field="type"):
    """Bars one below the other, each divided into parts."""

    unit: Unit
    categories: list[str]
    parts: list[StackPart]


class Slice(msgspec.Struct):
    """A part of a ring."""

    kind: str
    label: str
    value: float


class ShareChart(msgspec.Struct, tag="share", tag_field="type"):
    """One whole divided into parts, with two lines of text in the middle."""

    unit: Unit
    slices: list[Slice]
    middle: str
    below: str


class RankingRow(msgspec.Struct):
    """A bar, and what is said beside its value."""

    label: str
    value: float
    note: str = ""


class RankingChart(msgspec.Struct, tag="ranking", tag_field="type", rename={"cumulative_label": "cumulativeLabel"}):
    """Bars by size, with the share that each and those above it make together."""

    unit: Unit
    kind: str
    label: str
    rows: list[RankingRow]
    cumulative: list[float | None]
    cumulative_label: str


class HeatMetric(msgspec.Struct, rename={"low_is_bad": "lowIsBad"}):
    """What the colour of a heat map shows; the worse end is dark, and reaches to the worst value if it is `wide`."""

    label: str
    unit: Unit
    low_is_bad: bool
    wide: bool = False


class HeatChart(msgspec.Struct, tag="heat", tag_field="type"):
    """A matrix; a cell is its row, its column, and a value per metric."""

    rows: list[str]
    columns: list[str]
    metrics: list[HeatMetric]
    cells: list[list[float | None]]


class LineSeries(msgspec.Struct):
    """A curve; without `kind` it takes the next colour."""

    kind: str
    label: str
    x: list[int]
    y: list[int | None]


class LineGroup(msgspec.Struct):
    """Curves that are shown together."""

    label: str
    lines: list[LineSeries]


class LinesChart(msgspec.Struct, tag="lines", tag_field="type", rename={"x_unit": "xUnit"}):
    """Curves over one axis, one group at a time."""

    x_unit: Unit
    unit: Unit
    stepped: bool
    groups: list[LineGroup]


Chart = StackChart | ShareChart | RankingChart | HeatChart | LinesChart


class TimelineLaneData(msgspec.Struct):
    """A lane; a slice is seven numbers: start, duration, depth, name, kind, count, busy time."""

    group: str
    label: str
    depths: int
    total: int
    slices: list[int]


class TimelineData(msgspec.Struct, rename={"kind_labels": "kindLabels"}):
    """The lanes of one step; names and kinds by number."""

    dur_ns: int
    names: list[str]
    kinds: list[str]
    kind_labels: list[str]
    lanes: list[TimelineLaneData]


class ReportData(msgspec.Struct):
    """Everything that the script of the page gets."""

    language: str
    labels: dict[str, str]
    charts: dict[str, Chart]
    timeline: TimelineData | None
