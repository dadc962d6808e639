"""`Profiler.summary()`: totals kept while rows are written, and the table made of them."""

from __future__ import annotations

from ascend_sn.collect.recorder import int64_as_double
from ascend_sn.model.trace_schema import (
    COMPUTE_CLASSES,
    DATA_TIME_METRIC,
    FRAME,
    LOST,
    METRIC,
    OPEN_FLAG,
    SPAN,
    SPAN_CLASSES,
    STEP,
    class_of_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.buffer import Columns
    from ascend_sn.collect.names import NameTable

__all__ = ["Totals", "summary_text"]

_CLASS_OF_KIND = {kind: name for name, kind in SPAN_CLASSES}
_PHASES = ("data", "copy", "forward", "backward", "communication", "optimizer", "compute")
_MAX_UNCLAIMED = 512
_MAX_LINES = 30

DATA_BOUND_RATIO = 0.8
"""The input pipeline is the bottleneck when loading takes at least this much of the computing time."""


class _Sum:
    """Calls, total and longest of one name."""

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
    """Sums over the rows of one trace.

    `class_ns` divides the time of every thread among the classes of spans without counting a moment twice:
    an inner span of a class of its own is taken out of the outer one; plain computing inside a phase
    (forward, backward, ...) belongs to the phase.
    """

    def __init__(self, names: NameTable) -> None:
        self.names = names
        self.spans: dict[int, _Sum] = {}
        self.metrics: dict[int, _Sum] = {}
        self.steps = _Sum()
        self.class_ns: dict[str, int] = dict.fromkeys(_PHASES, 0)
        self.lost_count = 0
        self._classes: dict[tuple[int, int], str | None] = {}
        # Per thread, finished spans that no outer span has taken in yet: start, time given to classes, and
        # how much of it was given to plain computing.
        self._unclaimed: dict[int, list[tuple[int, int, int]]] = {}

    @property
    def has_spans(self) -> bool:
        """Whether a span or an operator was counted."""
        return bool(self.spans)

    def add(self, columns: Columns) -> None:
        """Add rows; on each thread inner spans come before the outer ones, as they end first."""
        for kind, thread, name_id, ts_ns, dur_ns, value, _ in zip(*columns, strict=True):
            if SPAN <= kind & ~OPEN_FLAG < FRAME:
                self._add_span(kind & ~OPEN_FLAG, thread, name_id, ts_ns, dur_ns)
            elif kind == METRIC:
                _sum_of(self.metrics, name_id).add(int64_as_double(value))
            elif kind == STEP:
                self.steps.add(dur_ns)
            elif kind == LOST:
                self.lost_count += value

    def _add_span(self, kind: int, thread: int, name_id: int, start_ns: int, dur_ns: int) -> None:
        _sum_of(self.spans, name_id).add(dur_ns)
        try:
            class_name = self._classes[kind, name_id]
        except KeyError:
            class_name = self._classes[kind, name_id] = self._class_of(kind, name_id)
        unclaimed = self._unclaimed.setdefault(thread, [])
        inner_ns = inner_compute_ns = 0
        while unclaimed and unclaimed[-1][0] >= start_ns:
            _, classed_ns, compute_ns = unclaimed.pop()
            inner_ns += classed_ns
            inner_compute_ns += compute_ns
        class_ns = self.class_ns
        if class_name is None:
            classed_ns, compute_ns = inner_ns, inner_compute_ns
        elif class_name == "compute":
            own_ns = max(dur_ns - inner_ns, 0)
            class_ns["compute"] += own_ns
            classed_ns, compute_ns = inner_ns + own_ns, inner_compute_ns + own_ns
        else:
            class_ns["compute"] -= inner_compute_ns
            own_ns = max(dur_ns - inner_ns + inner_compute_ns, 0)
            class_ns[class_name] += own_ns
            classed_ns, compute_ns = inner_ns - inner_compute_ns + own_ns, 0
        if classed_ns:
            unclaimed.append((start_ns, classed_ns, compute_ns))
            if len(unclaimed) > _MAX_UNCLAIMED:
                _merge_oldest(unclaimed)

    def _class_of(self, kind: int, name_id: int) -> str | None:
        class_name = _CLASS_OF_KIND.get(kind)
        if kind == SPAN and 0 <= name_id < len(self.names.texts):
            class_name = class_of_name(self.names.texts[name_id])
        return class_name if class_name in self.class_ns else None


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
    logged = [sums for name_id, sums in totals.metrics.items() if _text(totals, name_id) == DATA_TIME_METRIC]
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
    if not totals.spans:
        return []
    ranked = sorted(totals.spans.items(), key=lambda entry: -entry[1].total)
    lines = ["", _row("operation", "calls", "total ms", "average ms", "longest ms")]
    for name_id, sums in ranked[:_MAX_LINES]:
        average_ms = sums.total / sums.count / 1e6
        lines.append(
            _row(
                _text(totals, name_id),
                str(sums.count),
                f"{sums.total / 1e6:.3f}",
                f"{average_ms:.3f}",
                f"{sums.longest / 1e6:.3f}",
            )
        )
    if len(ranked) > _MAX_LINES:
        lines.append(f"... and {len(ranked) - _MAX_LINES} more")
    return lines


def _metric_lines(totals: Totals) -> list[str]:
    if not totals.metrics:
        return []
    lines = ["", _row("metric", "count", "average", "last")]
    for name_id, sums in list(totals.metrics.items())[:_MAX_LINES]:
        average = sums.total / sums.count
        lines.append(_row(_text(totals, name_id), str(sums.count), f"{average:.6g}", f"{sums.last:.6g}"))
    return lines


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


def _merge_oldest(unclaimed: list[tuple[int, int, int]]) -> None:
    """Make one entry of the older half: only a span that encloses all of it can still take it in."""
    half = len(unclaimed) // 2
    oldest = unclaimed[:half]
    unclaimed[:half] = [(oldest[0][0], sum(entry[1] for entry in oldest), sum(entry[2] for entry in oldest))]
