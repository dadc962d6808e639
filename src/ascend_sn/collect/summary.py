"""`Profiler.summary()`: totals kept while rows are written, and the table made of them."""

from __future__ import annotations

from ascend_sn._native.span_totals import BY_NAME, KINDS, NO_CLASS, PLAIN_CLASS, SpanTotals
from ascend_sn.collect.recorder import int64_as_double
from ascend_sn.model.trace_schema import (
    COMPUTE_CLASSES,
    DATA_TIME_METRIC,
    LOST,
    METRIC,
    OPEN_FLAG,
    SPAN,
    SPAN_CLASSES,
    STEP,
    SURROUNDINGS,
    class_of_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.buffer import Columns
    from ascend_sn.collect.names import NameTable

__all__ = ["Totals", "summary_text"]

_PHASES = ("data", "copy", "forward", "backward", "communication", "optimizer", "compute")
_NUMBER_OF_CLASS = {"compute": PLAIN_CLASS} | {name: 2 + place for place, name in enumerate(_PHASES[:-1])}
_MAX_LINES = 30

DATA_BOUND_RATIO = 0.8
"""The input pipeline is the bottleneck when loading takes at least this much of the computing time."""


class _Sum:
    """Count, total and longest of a series, and its last value."""

    __slots__ = ("count", "last", "longest", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total: float = 0
        self.longest: float = 0
        self.last: float = 0

    def add(self, value: float) -> None:
        self.count += 1
        self.total += value
        self.last = value
        if value > self.longest:
            self.longest = value


class Totals:
    """Sums over the rows of one trace."""

    def __init__(self, names: NameTable) -> None:
        self.names = names
        self.metrics: dict[int, _Sum] = {}
        self.steps = _Sum()
        self.lost_count = 0
        class_of_kind = bytearray([NO_CLASS] * KINDS)
        class_of_kind[0] = BY_NAME  # a plain SPAN
        for class_name, kind in SPAN_CLASSES:
            class_of_kind[kind - SPAN] = _NUMBER_OF_CLASS.get(class_name, NO_CLASS)
        self._spans = SpanTotals(SPAN, OPEN_FLAG, bytes(class_of_kind))
        self._class_of_name = bytearray()

    @property
    def has_spans(self) -> bool:
        """Whether a span or an operator was counted."""
        return bool(self._spans.names())

    @property
    def spans(self) -> list[tuple[int, int, int, int]]:
        """Number of the name, calls, total ns and longest ns of every name."""
        return self._spans.names()

    @property
    def class_ns(self) -> dict[str, int]:
        """The time of every thread, divided among the classes of spans without counting a moment twice.

        An inner span of a class of its own is taken out of the outer one; plain computing inside a phase (forward,
        backward, ...) belongs to the phase.
        """
        by_number = self._spans.classes()
        return {name: by_number[_NUMBER_OF_CLASS[name]] for name in _PHASES}

    def add(self, columns: Columns) -> None:
        """Add rows; on each thread inner spans come before the outer ones, as they end first."""
        known, texts = self._class_of_name, self.names.texts
        for number in range(len(known), len(texts)):
            known.append(_NUMBER_OF_CLASS.get(class_of_name(texts[number]) or "", NO_CLASS))
        kinds, _, name_ids, _, durs_ns, values, _ = columns
        for place in self._spans.add(columns, known):
            kind = kinds[place]
            if kind == METRIC:
                _sum_of(self.metrics, name_ids[place]).add(int64_as_double(values[place]))
            elif kind == STEP:
                self.steps.add(durs_ns[place])
            elif kind == LOST:
                self.lost_count += values[place]


def summary_text(totals: Totals, *, title: str) -> str:
    """Return the table: phases, the data-or-compute verdict, operations by total time, metrics."""
    lines = [title]
    if totals.steps.count:
        count, longest_ms = totals.steps.count, totals.steps.longest / 1e6
        mean_ms = totals.steps.total / count / 1e6
        lines.append(f"steps: {count}, average {mean_ms:.3f} ms, longest {longest_ms:.3f} ms")
    if totals.lost_count:
        lines.append(f"rows lost: {totals.lost_count}")
    lines += _phase_lines(totals)
    lines += _operation_lines(totals)
    lines += _metric_lines(totals)
    return "\n".join(lines)


def _phase_lines(totals: Totals) -> list[str]:
    phase_ns: dict[str, float] = dict(totals.class_ns)
    logged = [sums for name_id, sums in _metrics(totals) if _text(totals, name_id) == DATA_TIME_METRIC]
    if logged:  # the program measured loading itself: its figure is the data phase, beside no other
        phase_ns["data"] = sum(sums.total for sums in logged) * 1e9
    whole_ns = sum(phase_ns.values())
    if not whole_ns > 0:
        return []
    lines = ["", _row("phase", "total ms", "share %")]
    for phase, ns in phase_ns.items():
        if ns:
            lines.append(_row(phase, f"{ns / 1e6:.3f}", f"{ns / whole_ns * 100:.1f}"))
    data_ns = phase_ns["data"]
    compute_ns = sum(phase_ns[name] for name in COMPUTE_CLASSES)
    if data_ns and compute_ns:
        bottleneck = "data" if data_ns >= DATA_BOUND_RATIO * compute_ns else "compute"
        shares = f"data {data_ns / 1e6:.3f} ms, compute {compute_ns / 1e6:.3f} ms"
        lines.append(f"bottleneck: {bottleneck} ({shares})")
    return lines


def _operation_lines(totals: Totals) -> list[str]:
    ranked = sorted(totals.spans, key=lambda entry: -entry[2])
    if not ranked:
        return []
    lines = ["", _row("operation", "calls", "total ms", "average ms", "longest ms")]
    for name_id, count, total_ns, longest_ns in ranked[:_MAX_LINES]:
        total_ms = total_ns / 1e6
        cells = (f"{total_ms:.3f}", f"{total_ms / count:.3f}", f"{longest_ns / 1e6:.3f}")
        lines.append(_row(_text(totals, name_id), str(count), *cells))
    if len(ranked) > _MAX_LINES:
        lines.append(f"... and {len(ranked) - _MAX_LINES} more")
    return lines


def _metric_lines(totals: Totals) -> list[str]:
    shown = [pair for pair in _metrics(totals) if _text(totals, pair[0]) not in SURROUNDINGS]
    if not shown:
        return []
    lines = ["", _row("metric", "count", "average", "last")]
    for name_id, sums in shown[:_MAX_LINES]:
        average = sums.total / sums.count
        lines.append(_row(_text(totals, name_id), str(sums.count), f"{average:.6g}", f"{sums.last:.6g}"))
    return lines


def _metrics(totals: Totals) -> list[tuple[int, _Sum]]:
    """The metrics so far; a signal handler may log the first value of another one while they are being written."""
    return [pair for pair in list(totals.metrics.items()) if pair[1].count]


def _row(first: str, *cells: str) -> str:
    return f"{first:<32}" + "".join(f"{cell:>14}" for cell in cells)


def _text(totals: Totals, name_id: int) -> str:
    texts = totals.names.texts
    return texts[name_id] if 0 <= name_id < len(texts) else "(further names)"


def _sum_of(sums: dict[int, _Sum], name_id: int) -> _Sum:
    found = sums.get(name_id)
    if found is None:
        found = sums[name_id] = _Sum()
    return found
