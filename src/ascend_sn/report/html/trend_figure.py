"""The chart of a trend: a point for each run, a line for each level, as static SVG."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup, escape

from ascend_sn.report.documents.history import MetricTrend, metric_value
from ascend_sn.report.words.printable import printable

__all__ = ["trend_chart"]

_WIDTH: Final = 1_000
_HEIGHT: Final = 230
_LEFT: Final = 84
_RIGHT: Final = 16
_TOP: Final = 14
_BOTTOM: Final = 30
_TICKS: Final = 4
_LABELS: Final = 12
_ROOM: Final = 0.08
_LEAST: Final = 0.01
"""Room above and below, as a share of the span, and at least of the highest value."""


def trend_chart(trend: MetricTrend, title: str) -> Markup:
    """Draw a metric over its runs; the axis spans the values and does not begin at zero."""
    values = [point.value for point in trend.points]
    low, high = min(values), max(values)
    room = max(_ROOM * (high - low), _LEAST * abs(high)) or 1.0
    low, high = low - room, high + room
    last = max(len(values) - 1, 1)

    def x(place: float) -> float:
        return _LEFT + place / last * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    pieces = []
    for tick in range(_TICKS + 1):
        value = low + (high - low) * tick / _TICKS
        ends = f'x1="{_LEFT}" y1="{y(value):.1f}" x2="{_WIDTH - _RIGHT}" y2="{y(value):.1f}"'
        pieces.append(f'<line class="grid" {ends}/>')
        label = _text(metric_value(trend.metric, value))
        pieces.append(f'<text class="tick" x="{_LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{label}</text>')
    every = -(-len(values) // _LABELS)
    for place, point in list(enumerate(trend.points))[::every]:
        label = f"#{point.run}"
        pieces.append(f'<text class="tick" x="{x(place):.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{label}</text>')
    pieces += [
        f'<line class="level" x1="{x(begin):.1f}" y1="{y(value):.1f}" x2="{x(end):.1f}" y2="{y(value):.1f}"/>'
        for begin, end, value in _levels(trend)
    ]
    points = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in enumerate(values))
    pieces.append(f'<polyline class="line-allocated" points="{points}"/>')
    for place, point in enumerate(trend.points):
        kind = "failed" if point.verdict == "failed" else "pinned" if point.pinned else "run"
        said = _text(f"{point.label}: {metric_value(trend.metric, point.value)}")
        pieces.append(
            f'<circle class="point {kind}" cx="{x(place):.1f}" cy="{y(point.value):.1f}" r="4">'
            f"<title>{said}</title></circle>"
        )
    head = f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{_text(title)}">'
    return Markup("".join([head, *pieces, "</svg>"]))  # every text in a piece was escaped by `_text`


def _levels(trend: MetricTrend) -> list[tuple[int, int, float]]:
    """First and last place of each level between changes, and its median; nothing where nothing changed."""
    if not trend.changes:
        return []
    places = {point.run: place for place, point in enumerate(trend.points)}
    cuts = [0, *(places[change.run] for change in trend.changes), len(trend.points)]
    medians = [trend.changes[0].before, *(change.after for change in trend.changes)]
    return [(begin, end - 1, value) for begin, end, value in zip(cuts[:-1], cuts[1:], medians, strict=True)]


def _text(text: str) -> str:
    return str(escape(printable(text)))
