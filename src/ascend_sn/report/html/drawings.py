"""Drawings of those charts of the page that a table stands beside: what print and a page without script show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from markupsafe import Markup

from ascend_sn.report.html.chart_data import Chart, HeatChart, LinesChart, RankingChart, StackChart, Unit
from ascend_sn.report.html.figures import (
    Bar,
    Cell,
    Line,
    Part,
    even_ticks,
    heat_map,
    line_chart,
    ranked_bars,
    stacked_bars,
)
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.quantities import bytes_text, count_text, duration_text, percent_text, rate_text

__all__ = ["drawings_of"]

_TITLES: Final = {
    "kernels": "kernels.title",
    "operations": "communication.by-primitive",
    "waits": "waits.title",
    "steps": "steps.title",
    "peak": "memory.hot-spots",
    "latency": "latency.parts",
}
_LINES: Final = 4
_SAID: Final[Mapping[Unit, Callable[[float], str]]] = {
    "ns": duration_text,
    "bytes": bytes_text,
    "bytes_per_s": rate_text,
    "ratio": percent_text,
    "count": lambda value: count_text(round(value)),
}


def drawings_of(charts: Mapping[str, Chart], language: Language) -> dict[str, Markup]:
    """Return a static drawing of each chart that has none elsewhere, by its name."""
    return {name: _drawn(charts[name], language.text(title)) for name, title in _TITLES.items() if name in charts}


def _drawn(chart: Chart, title: str) -> Markup:
    if isinstance(chart, RankingChart):
        said = _SAID[chart.unit]
        return ranked_bars([(row.label, row.value, said(row.value)) for row in chart.rows], chart.kind, title)
    if isinstance(chart, StackChart):
        return _stacked(chart, title)
    if isinstance(chart, HeatChart):
        return _heat(chart, title)
    assert isinstance(chart, LinesChart)
    return _lines(chart, title)


def _stacked(chart: StackChart, title: str) -> Markup:
    said = _SAID[chart.unit]
    bars = [
        Bar(
            category,
            tuple(
                Part(part.kind, part.label, value, said(value)) for part in chart.parts if (value := part.values[at])
            ),
        )
        for at, category in enumerate(chart.categories)
    ]
    longest = max((sum(part.value for part in bar.parts) for bar in bars), default=0.0)
    return stacked_bars(bars, [(tick, said(tick) if tick else "0") for tick in even_ticks(longest)], title)


def _heat(chart: HeatChart, title: str) -> Markup:
    """The first metric; a pair without it is left empty."""
    said = _SAID[chart.metrics[0].unit]
    cells = [
        Cell(
            int(row),
            int(column),
            value,
            said(value),
            f"{chart.rows[int(row)]} - {chart.columns[int(column)]}: {said(value)}",
        )
        for row, column, value in ((cell[0] or 0, cell[1] or 0, cell[2]) for cell in chart.cells)
        if value is not None
    ]
    return heat_map(chart.rows, chart.columns, cells, title)


def _lines(chart: LinesChart, title: str) -> Markup:
    shown = [line for group in chart.groups for line in group.lines][:_LINES]
    xs = sorted({x for line in shown for x in line.x})
    lines = []
    for line in shown:
        known = dict(zip(line.x, line.y, strict=True))
        lines.append(Line("series", line.label, tuple(known.get(x) for x in xs)))
    said, placed = _SAID[chart.unit], _SAID[chart.x_unit]
    highest = max((y for line in shown for y in line.y if y is not None), default=0)
    last = xs[-1] if xs else 0
    x_ticks = [(tick, placed(tick)) for tick in even_ticks(last) if tick <= last]
    return line_chart(xs, lines, x_ticks, [(tick, said(tick) if tick else "0") for tick in even_ticks(highest)], title)
