"""The memory section: peaks per component, thinned-out curves, operators by peak."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.analysis.registry import Missing, Need, missing_needs
from ascend_sn.report.absence import absent
from ascend_sn.report.document import Curve, Memory, MemoryOperator, MemoryPeak

__all__ = ["memory_section"]

_CURVE_POINTS: Final = 240
"""Points of a curve: more than a reader can tell apart on a page."""

_CURVES: Final = 16
"""Curves in the document: those with the highest peaks."""

_PEAKS_LISTED: Final = 1_000

_SAMPLES: Final = """
    with samples as (
        select *
        from memory_sample
        where profile_id || '/' || component in $curves
    ),
    span as (
        select min(ts_ns) as start_ns, greatest(max(ts_ns) - min(ts_ns), 1) as dur_ns
        from samples
    )
    select profile_id, any_value(rank) as rank, component,
           (arg_max(ts_ns, coalesce(allocated_bytes, reserved_bytes)) - any_value(start_ns))::bigint as ts_ns,
           max(allocated_bytes) as allocated_bytes, max(reserved_bytes) as reserved_bytes
    from samples, span
    where coalesce(allocated_bytes, reserved_bytes) is not null
    group by profile_id, component, (ts_ns - start_ns) * $points // dur_ns
    order by profile_id, component, ts_ns
"""


class _Point(msgspec.Struct):
    profile_id: int
    rank: int | None
    component: str
    ts_ns: int
    allocated_bytes: int | None
    reserved_bytes: int | None


def memory_section(facts: Facts, top_k: int) -> Memory:
    """Return the section; absent when neither a curve nor allocations were recorded."""
    peaks = sorted(facts.rows("memory_peak", MemoryPeak), key=_by_rank_and_size)[:_PEAKS_LISTED]
    missing = facts.missing("memory_peak")
    if missing is not None or not peaks:
        missing = _why_absent(facts)
    if missing is not None:
        return absent(Memory, missing)
    operators = facts.query("memory_by_operator", _BY_OPERATOR, MemoryOperator)
    return Memory(
        collected=True,
        state="collected",
        peaks=peaks,
        operators=operators[:top_k],
        operator_count=len(operators),
        curves=_curves(facts, peaks),
    )


def _why_absent(facts: Facts) -> Missing | None:
    """What is said of curves or of allocations, whichever the source can deliver."""
    told = [missing_needs((Need(table),), facts.run.db) for table in ("memory_event", "memory_sample")]
    known = [missing for missing in told if missing is not None]
    return min(known, key=lambda missing: (not missing.turn_on, _TELLING.index(missing.state)), default=None)


_TELLING: Final = ("missing", "damaged", "not_requested", "empty", "unsupported", "collected")

_BY_OPERATOR: Final = """
    select operator_name, arg_max(rank, peak_bytes) as rank, arg_max(retained_bytes, peak_bytes) as retained_bytes,
           max(peak_bytes) as peak_bytes, arg_max(allocation_count, peak_bytes) as allocation_count
    from result
    group by operator_name
    order by peak_bytes desc, operator_name
"""


def _curves(facts: Facts, peaks: list[MemoryPeak]) -> list[Curve]:
    drawn = sorted((peak for peak in peaks if peak.source == "curve"), key=lambda peak: -_size(peak))[:_CURVES]
    if not drawn:
        return []
    wanted = [f"{peak.profile_id}/{peak.component}" for peak in drawn]
    points = facts.table_rows(_SAMPLES, _Point, curves=wanted, points=_CURVE_POINTS)
    curves: dict[tuple[int, str], Curve] = {}
    for point in points:
        curve = curves.setdefault(
            (point.profile_id, point.component),
            Curve(
                profile_id=point.profile_id, rank=point.rank, component=point.component,
                ts_ns=[], allocated_bytes=[], reserved_bytes=[],
            ),
        )  # fmt: skip
        curve.ts_ns.append(point.ts_ns)
        curve.allocated_bytes.append(point.allocated_bytes)
        curve.reserved_bytes.append(point.reserved_bytes)
    return list(curves.values())


def _size(peak: MemoryPeak) -> int:
    return max(peak.peak_allocated_bytes or 0, peak.peak_reserved_bytes or 0)


def _by_rank_and_size(peak: MemoryPeak) -> tuple[bool, int, int, int, str]:
    return peak.rank is None, peak.rank or 0, peak.profile_id, -_size(peak), peak.component
