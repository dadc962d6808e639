"""Memory curves of the HTML report."""

from __future__ import annotations

from typing import Any, Final

from ascend_sn.report.documents.memory import Curve
from ascend_sn.report.documents.run import Document
from ascend_sn.report.html.figures import Line, Part, even_ticks, line_chart
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.quantities import bytes_text, duration_text
from ascend_sn.report.words.wording import rank_text

__all__ = ["memory_curves"]

_CURVES: Final = 4
_FIGURE_WIDTH: Final = 480


def memory_curves(document: Document, language: Language) -> dict[str, Any]:
    """Return the drawn curves of the components that hold most, with titles."""
    curves = document.memory.curves
    highest = max(curves, key=_height, default=None)
    shown = [curve for curve in curves if highest is not None and curve.profile_id == highest.profile_id]
    # Components with both an allocated and a reserved curve tell most.
    shown.sort(key=lambda curve: (not any(curve.allocated_bytes), -_height(curve)))
    end_ns = max((curve.ts_ns[-1] for curve in shown[:_CURVES] if curve.ts_ns), default=0)
    note = ""
    if highest is not None:
        several = len({peak.profile_id for peak in document.memory.peaks}) > 1
        name = rank_text(highest.rank, language)
        note = language.text("memory.highest", rank=name) if several else name
    return {
        "curves": [{"title": curve.component, "figure": _figure(curve, end_ns, language)} for curve in shown[:_CURVES]],
        "curve_note": note,
        "curve_legend": [
            Part("allocated", language.text("column.allocated"), 0, ""),
            Part("reserved", language.text("column.reserved"), 0, ""),
        ],
    }


def _height(curve: Curve) -> int:
    return max(
        (value for values in (curve.allocated_bytes, curve.reserved_bytes) for value in values if value), default=0
    )


def _figure(curve: Curve, end_ns: int, language: Language) -> Any:
    height = _height(curve)
    unit = 1 << max(0, (height // 4).bit_length() - 1)
    y_ticks = [(float(unit * number), bytes_text(unit * number)) for number in range(height // unit + 1)]
    x_ticks = [(tick, duration_text(tick) if tick else "0") for tick in even_ticks(end_ns)]
    lines = (
        Line("allocated", language.text("column.allocated"), tuple(curve.allocated_bytes)),
        Line("reserved", language.text("column.reserved"), tuple(curve.reserved_bytes)),
    )
    title = f"{language.text('report.memory')} {curve.component} {rank_text(curve.rank, language)}"
    return line_chart(curve.ts_ns, lines, x_ticks, y_ticks, title, width=_FIGURE_WIDTH)
