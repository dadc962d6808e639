"""The memory section: peaks per component, thinned-out curves, operators by peak, who holds the peak."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.analysis.registry import Missing, Need, missing_needs
from ascend_sn.report.assemble.absence import absent
from ascend_sn.report.documents.memory import (
    Curve,
    HotSpots,
    LeakVerdict,
    Memory,
    MemoryHolder,
    MemoryOperator,
    MemoryPeak,
    MemoryTotal,
)

__all__ = ["memory_section"]

_CURVE_POINTS: Final = 240
"""Points of a curve: more than a reader can tell apart on a page."""

_CURVES: Final = 16
"""Curves in the document: those with the highest peaks."""

_HOST: Final = "cpu"

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


def memory_section(facts: Facts, top_k: int, *, in_detail: bool) -> Memory:
    """Return the section; absent when neither a curve nor allocations were recorded.

    Args:
        facts: The analysis results.
        top_k: Rows of each ranking.
        in_detail: With operators, curves and who holds the peak.
    """
    peaks = sorted(facts.rows("memory_peak", MemoryPeak), key=_by_rank_and_size)[:_PEAKS_LISTED]
    missing = facts.missing("memory_peak")
    if missing is not None or not peaks:
        missing = _why_absent(facts)
    if missing is not None:
        return absent(Memory, missing)
    if not in_detail:
        return Memory(collected=True, state="collected", peaks=peaks)
    operators = facts.query("memory_by_operator", _BY_OPERATOR, MemoryOperator)
    total = _total(facts, peaks)
    leaks = sorted(facts.rows("memory_leak", LeakVerdict), key=_by_verdict)
    return Memory(
        collected=True,
        state="collected",
        peaks=peaks,
        operators=operators[:top_k],
        operator_count=len(operators),
        total=total,
        hot_spots=_hot_spots(facts, top_k, None if total is None else total.rank),
        curves=_curves(facts, peaks),
        leak_count=len(leaks),
        leaks=leaks[:top_k],
    )


def _by_verdict(row: LeakVerdict) -> tuple[int, float]:
    return _VERDICTS.index(row.verdict), -(row.growth_bytes or 0.0)


_VERDICTS: Final = ("leak", "cache", "steady", "insufficient")


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


_COUNTS: Final = """
    select profile_id, sum(allocation_count)::bigint as allocation_count
    from result
    group by profile_id
"""

_AT_PEAK: Final = """
    with largest as (
        select profile_id, device
        from result
        order by rank is not distinct from $rank desc, device <> $host desc, device_bytes desc, profile_id, device
        limit 1
    )
    select rank, device, operator_name, module, peak_ts_ns, held_bytes, block_count, device_bytes, share_ratio
    from result
    semi join largest using (profile_id, device)
    order by held_bytes desc, operator_name, module nulls first
"""


class _Count(msgspec.Struct):
    profile_id: int
    allocation_count: int


class _Held(MemoryHolder, kw_only=True):
    rank: int | None
    device: str
    peak_ts_ns: int
    device_bytes: int


def _total(facts: Facts, peaks: list[MemoryPeak]) -> MemoryTotal | None:
    """The highest allocated curve of the profiles whose allocations are known; the host's only where it is alone."""
    counts = {row.profile_id: row.allocation_count for row in facts.query("memory_by_operator", _COUNTS, _Count)}
    known = [peak for peak in peaks if peak.profile_id in counts and peak.peak_allocated_bytes is not None]
    if not known:
        return None
    highest = max(known, key=lambda peak: (peak.component != _HOST, peak.peak_allocated_bytes or 0))
    return MemoryTotal(
        rank=highest.rank,
        component=highest.component,
        retained_bytes=highest.end_allocated_bytes,
        peak_bytes=highest.peak_allocated_bytes,
        allocation_count=counts[highest.profile_id],
    )


def _hot_spots(facts: Facts, top_k: int, rank: int | None) -> HotSpots | None:
    """Who holds the peak, on a device of the given rank where possible."""
    rows = facts.query("memory_at_peak", _AT_PEAK, _Held, rank=rank, host=_HOST)
    if not rows:
        return None
    names = MemoryHolder.__struct_fields__
    return HotSpots(
        rank=rows[0].rank,
        device=rows[0].device,
        peak_ts_ns=rows[0].peak_ts_ns,
        device_bytes=rows[0].device_bytes,
        holder_count=len(rows),
        holders=[MemoryHolder(**{name: getattr(row, name) for name in names}) for row in rows[:top_k]],
    )


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
