"""Static SVG figures of the HTML report. Colours come from the page's style sheet by class, texts are escaped."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, log2, pi, sin
from statistics import median
from typing import Final

from markupsafe import Markup, escape

from ascend_sn.report.words.printable import printable, shortened

__all__ = [
    "Bar",
    "Cell",
    "Line",
    "Part",
    "Strip",
    "donut",
    "even_ticks",
    "heat_map",
    "lane_strips",
    "line_chart",
    "ranked_bars",
    "share_bar",
    "split_bar",
    "stacked_bars",
    "standalone",
]

_WIDTH: Final = 720
_WIDE: Final = 1_000
_LABEL: Final = 76
_BAR_HEIGHTS: Final = ((2, 46), (4, 34), (8, 26))
_BAR_HEIGHT: Final = 20
_BAR_GAP: Final = 10
_TICKS: Final = 5

# Viridis at nine places: readable with every kind of colour vision, and in grey.
_VIRIDIS: Final = (
    (68, 1, 84), (71, 45, 123), (59, 82, 139), (44, 114, 142), (33, 145, 140), (40, 174, 128), (94, 201, 98),
    (173, 220, 48), (253, 231, 37),
)  # fmt: skip

_ALONE: Final = {
    "compute": 'fill="#0072b2"',
    "exposed_comm": 'fill="#d55e00"',
    "exposed_copy": 'fill="#cc79a7"',
    "free": 'fill="#d5d8dc"',
    "on on-compute": 'fill="#fff" font-size="11.5"',
    "on on-exposed_comm": 'fill="#000" font-size="11.5"',
    "on on-exposed_copy": 'fill="#000" font-size="11.5"',
    "on on-free": 'fill="#000" font-size="11.5"',
    "tick": 'fill="currentColor" font-size="11.5"',
    "label": 'fill="currentColor" font-size="12.5"',
    "grid": 'stroke="#8888" stroke-width="1"',
}
"""What the style sheet of the page says of the classes of `stacked_bars`."""


@dataclass(frozen=True)
class Part:
    """A part of a bar or pie; `kind` is the class of its colour."""

    kind: str
    label: str
    value: float
    text: str


@dataclass(frozen=True)
class Bar:
    """A labelled bar of parts."""

    label: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Cell:
    """A cell of a heat map: row and column number, value, and what is said about it."""

    row: int
    column: int
    value: float
    text: str
    title: str


@dataclass(frozen=True)
class Strip:
    """A lane of a timeline: kind, start and length of what ran in it."""

    label: str
    slices: tuple[tuple[str, float, float], ...]


@dataclass(frozen=True)
class Line:
    """A line of a chart; a None is a gap."""

    kind: str
    label: str
    values: tuple[float | None, ...]


def stacked_bars(bars: Sequence[Bar], ticks: Sequence[tuple[float, str]], title: str, *, width: int = _WIDTH) -> Markup:
    """Bars one below the other on one scale.

    Args:
        bars: From top to bottom.
        ticks: Positions on the scale (values) with their labels.
        title: What the figure shows, for screen readers.
        width: Width in the units that texts are sized in.
    """
    longest = max([sum(part.value for part in bar.parts) for bar in bars] + [tick for tick, _ in ticks]) or 1.0
    scale = (width - _LABEL - 24) / longest
    thick = next((size for count, size in _BAR_HEIGHTS if len(bars) <= count), _BAR_HEIGHT)
    height = len(bars) * (thick + _BAR_GAP)
    pieces = []
    for value, label in ticks:
        x = _LABEL + value * scale
        pieces.append(f'<line class="grid" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}"/>')
        pieces.append(f'<text class="tick" x="{x:.1f}" y="{height + 16}" text-anchor="middle">{_text(label)}</text>')
    for number, bar in enumerate(bars):
        y = number * (thick + _BAR_GAP) + _BAR_GAP / 2
        pieces.append(
            f'<text class="label" x="{_LABEL - 10}" y="{y + thick / 2 + 4:.1f}" text-anchor="end">'
            f"{_text(shortened(bar.label, 12))}</text>"
        )
        x = float(_LABEL)
        for part in bar.parts:
            long = part.value * scale
            if long <= 0:
                continue
            pieces.append(
                f'<rect class="{part.kind}" x="{x:.2f}" y="{y:.1f}" width="{long:.2f}" height="{thick}">'
                f"<title>{_text(f'{part.label}: {part.text}')}</title></rect>"
            )
            if long > 7 * len(part.text) + 10:
                middle, base = x + long / 2, y + thick / 2 + 4
                pieces.append(
                    f'<text class="on on-{part.kind}" x="{middle:.1f}" y="{base:.1f}" text-anchor="middle">'
                    f"{_text(part.text)}</text>"
                )
            x += long
    return _svg(width, height + 22, title, pieces)


def ranked_bars(rows: Sequence[tuple[str, float, str]], kind: str, title: str, *, width: int = _WIDE) -> Markup:
    """Bars by size, one below the other, each with its name before and its value behind it.

    Args:
        rows: Name, value and how the value is written, the largest first.
        kind: Class of their colour.
        title: What the figure shows, for screen readers.
        width: Width in the units that texts are sized in.
    """
    left, behind, row = 300, 90, 22
    longest = max((value for _, value, _ in rows), default=0.0) or 1.0
    pieces = []
    for number, (label, value, text) in enumerate(rows):
        y = number * row + 3
        long = (width - left - behind) * max(value, 0.0) / longest
        pieces.append(
            f'<text class="label" x="{left - 10}" y="{y + 12}" text-anchor="end">{_text(shortened(label, 44))}</text>'
            f'<rect class="{kind}" x="{left}" y="{y}" width="{long:.2f}" height="16"/>'
            f'<text class="tick" x="{left + long + 8:.1f}" y="{y + 12}">{_text(text)}</text>'
        )
    return _svg(width, len(rows) * row + 4, title, pieces)


def standalone(drawing: Markup) -> Markup:
    """Return a drawing of `stacked_bars` that needs no style sheet, as wide as it was drawn at most."""
    coloured = re.sub(r'class="([^"]*)"', lambda match: _ALONE[match[1]], str(drawing))
    return Markup(
        re.sub(
            r'viewBox="0 0 (\S+) (\S+)"', r'width="\1" height="\2" font-family="sans-serif" \g<0>', coloured, count=1
        )
    )


def donut(parts: Sequence[Part], middle: str, below: str, title: str) -> Markup:
    """A ring of parts, clockwise from the top, with two lines of text in its middle."""
    total = sum(part.value for part in parts) or 1.0
    pieces, angle = [], -pi / 2
    for part in parts:
        turn = 2 * pi * part.value / total
        if turn <= 0:
            continue
        pieces.append(
            f'<path class="{part.kind}" d="{_ring(angle, turn)}">'
            f"<title>{_text(f'{part.label}: {part.text}')}</title></path>"
        )
        angle += turn
    pieces.append(f'<text class="big" x="110" y="108" text-anchor="middle">{_text(middle)}</text>')
    pieces.append(f'<text class="tick" x="110" y="130" text-anchor="middle">{_text(below)}</text>')
    return _svg(220, 220, title, pieces)


def split_bar(parts: Sequence[Part], title: str) -> Markup:
    """A thin bar that fills a table cell."""
    total = sum(part.value for part in parts) or 1.0
    pieces, x = [], 0.0
    for part in parts:
        width = 100 * part.value / total
        if width > 0:
            pieces.append(
                f'<rect class="{part.kind}" x="{x:.2f}" y="0" width="{width:.2f}" height="10">'
                f"<title>{_text(f'{part.label}: {part.text}')}</title></rect>"
            )
        x += width
    return _svg(100, 10, title, pieces, stretch=True)


def share_bar(ratio: float) -> Markup:
    """A bar beside a share that is written as well."""
    width = 60 * min(max(ratio, 0.0), 1.0)
    bar = f'<rect class="compute" width="{max(width, 0.5):.1f}" height="8" rx="2"/>'
    return Markup(f'<svg class="bar" width="{max(width, 1):.0f}" height="8" aria-hidden="true">{bar}</svg>')


def lane_strips(
    strips: Sequence[Strip], end: float, ticks: Sequence[tuple[float, str]], title: str, *, width: int = _WIDE
) -> Markup:
    """Lanes one below the other; what would be narrower than a line of the drawing is drawn once per line."""
    left, row = 250, 20
    scale = (width - left - 16) / (end or 1.0)
    height = len(strips) * row
    pieces = []
    for value, label in ticks:
        x = left + value * scale
        pieces.append(f'<line class="grid" x1="{x:.1f}" y1="0" x2="{x:.1f}" y2="{height}"/>')
        pieces.append(f'<text class="tick" x="{x:.1f}" y="{height + 16}" text-anchor="middle">{_text(label)}</text>')
    for number, strip in enumerate(strips):
        y = number * row + 3
        pieces.append(f'<text class="tick" x="0" y="{y + 11}">{_text(shortened(strip.label, 40))}</text>')
        drawn: dict[str, dict[int, int]] = {}
        for kind, start, dur in strip.slices:
            first, last = int(start * scale * 2), max(int((start + dur) * scale * 2), int(start * scale * 2) + 1)
            ends = drawn.setdefault(kind, {})
            ends[first] = max(ends.get(first, 0), last)
        for kind, ends in drawn.items():
            path = "".join(f"M{left + a / 2:g} {y}h{(b - a) / 2:g}v14h-{(b - a) / 2:g}z" for a, b in _joined(ends))
            pieces.append(f'<path class="{kind}" d="{path}"/>')
    return _svg(width, height + 22, title, pieces)


def heat_map(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Cell], title: str) -> Markup:
    """A matrix of coloured cells; the larger the value, the darker.

    The middle of the scale is the median of all cells; half of it or less is lightest, twice of it or more darkest, so
    that small differences look small.
    """
    size = max(14, min(54, 640 // max(len(columns), 1)))
    left, top = 56, 30
    middle = median(cell.value for cell in cells) if cells else 1.0
    every = -(-22 // size)
    pieces = [f'<rect class="hole" x="{left}" y="{top}" width="{len(columns) * size}" height="{len(rows) * size}"/>']
    for number, label in list(enumerate(columns))[::every]:
        x = left + number * size + size / 2
        pieces.append(f'<text class="tick" x="{x:.1f}" y="{top - 8}" text-anchor="middle">{_text(label)}</text>')
    for number, label in list(enumerate(rows))[::every]:
        y = top + number * size + size / 2 + 4
        pieces.append(f'<text class="tick" x="{left - 8}" y="{y:.1f}" text-anchor="end">{_text(label)}</text>')
    for cell in cells:
        place = 0.5 + 0.5 * log2(cell.value / middle) if cell.value > 0 and middle > 0 else 0.0
        place = min(max(place, 0.0), 1.0)
        x, y = left + cell.column * size, top + cell.row * size
        pieces.append(
            f'<rect x="{x}" y="{y}" width="{size - 1}" height="{size - 1}" fill="{_viridis(1 - place)}">'
            f"<title>{_text(cell.title)}</title></rect>"
        )
        if size >= 40:
            ground = "light" if place < 0.58 else "dark"
            pieces.append(
                f'<text class="cell on-{ground}" x="{x + size / 2:.1f}" y="{y + size / 2 + 3:.1f}" '
                f'text-anchor="middle">{_text(cell.text)}</text>'
            )
    return _svg(left + len(columns) * size + 10, top + len(rows) * size + 10, title, pieces, natural=True)


def line_chart(
    xs: Sequence[float],
    lines: Sequence[Line],
    x_ticks: Sequence[tuple[float, str]],
    y_ticks: Sequence[tuple[float, str]],
    title: str,
    *,
    width: int = _WIDTH,
) -> Markup:
    """Lines over one axis of positions; the first line is filled down to the axis."""
    left, top, right, bottom, height = 70, 8, 16, 24, 190
    x_end = max([*xs, *(tick for tick, _ in x_ticks)], default=1.0) or 1.0
    y_end = (
        max([value for line in lines for value in line.values if value is not None] + [t for t, _ in y_ticks]) or 1.0
    )
    plot_width, plot_height = width - left - right, height - top - bottom

    def at(x: float, y: float) -> str:
        return f"{left + x / x_end * plot_width:.1f},{top + plot_height * (1 - y / y_end):.1f}"

    pieces = []
    for value, label in y_ticks:
        y = top + plot_height * (1 - value / y_end)
        pieces.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{width - right}" y2="{y:.1f}"/>')
        pieces.append(f'<text class="tick" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{_text(label)}</text>')
    for value, label in x_ticks:
        x = left + value / x_end * plot_width
        pieces.append(f'<text class="tick" x="{x:.1f}" y="{height - 6}" text-anchor="middle">{_text(label)}</text>')
    for number, line in enumerate(lines):
        known = [(x, value) for x, value in zip(xs, line.values, strict=True) if value is not None]
        if not known:
            continue
        points = " ".join(at(x, value) for x, value in known)
        if number == 0:
            area = f"{at(known[0][0], 0)} {points} {at(known[-1][0], 0)}"
            pieces.append(f'<polygon class="area-{line.kind}" points="{area}"/>')
        pieces.append(
            f'<polyline class="line-{line.kind}" points="{points}"><title>{_text(line.label)}</title></polyline>'
        )
    return _svg(width, height, title, pieces)


def even_ticks(end: float) -> list[float]:
    """Return round positions from 0 to about `end`."""
    if end <= 0:
        return [0.0]
    raw = end / _TICKS
    magnitude = 10.0 ** (len(f"{raw:.0f}") - 1) if raw >= 1 else 1.0
    step = next(factor * magnitude for factor in (1, 2, 5, 10) if factor * magnitude >= raw)
    return [step * number for number in range(int(end / step) + 1)]


def _joined(ends: dict[int, int]) -> list[tuple[int, int]]:
    """Join what touches."""
    joined: list[tuple[int, int]] = []
    for first, last in sorted(ends.items()):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], last))
        else:
            joined.append((first, last))
    return joined


def _ring(angle: float, turn: float) -> str:
    outer, inner, middle = 96.0, 62.0, 110.0
    turn = min(turn, 2 * pi - 1e-4)  # a full circle would begin where it ends and show nothing
    end, large = angle + turn, int(turn > pi)

    def point(radius: float, where: float) -> str:
        return f"{middle + radius * cos(where):.2f} {middle + radius * sin(where):.2f}"

    return (
        f"M{point(outer, angle)}A{outer:g} {outer:g} 0 {large} 1 {point(outer, end)}"
        f"L{point(inner, end)}A{inner:g} {inner:g} 0 {large} 0 {point(inner, angle)}Z"
    )


def _viridis(place: float) -> str:
    position = min(max(place, 0.0), 1.0) * (len(_VIRIDIS) - 1)
    first = min(int(position), len(_VIRIDIS) - 2)
    rest = position - first
    red, green, blue = (
        round(low + (high - low) * rest) for low, high in zip(_VIRIDIS[first], _VIRIDIS[first + 1], strict=True)
    )
    return f"rgb({red},{green},{blue})"


def _svg(
    width: float, height: float, title: str, pieces: Sequence[str], *, stretch: bool = False, natural: bool = False
) -> Markup:
    ratio = ' preserveAspectRatio="none"' if stretch else ""
    size = f' width="{width:g}" height="{height:g}"' if natural else ""
    head = f'<svg viewBox="0 0 {width:g} {height:g}"{size}{ratio} role="img" aria-label="{_text(title)}">'
    return Markup("".join([head, *pieces, "</svg>"]))  # every text in a piece was escaped by `_text`


def _text(text: str) -> str:
    return str(escape(printable(text)))
