"""Peaks, curves, owners and leaks."""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.report.documents.section import Section

__all__ = [
    "Curve",
    "HotSpots",
    "LeakVerdict",
    "Memory",
    "MemoryHolder",
    "MemoryOperator",
    "MemoryPeak",
    "MemoryTotal",
]


class MemoryPeak(msgspec.Struct, kw_only=True):
    """The highest memory of one component of one profile."""

    profile_id: int
    rank: int | None
    component: str
    peak_allocated_bytes: int | None
    peak_reserved_bytes: int | None
    peak_active_bytes: int | None
    peak_ts_ns: int | None
    source: str
    end_allocated_bytes: int | None = None


class MemoryOperator(msgspec.Struct, kw_only=True):
    """What an operator holds at the end, the most it held at once, and how often it allocated, on its worst rank."""

    rank: int | None
    operator_name: str
    retained_bytes: int
    peak_bytes: int
    allocation_count: int


class MemoryTotal(msgspec.Struct, kw_only=True):
    """The curve behind the operators, on the rank that holds most: it is not the sum of their rows."""

    rank: int | None
    component: str
    retained_bytes: int | None
    peak_bytes: int | None
    allocation_count: int


class MemoryHolder(msgspec.Struct, kw_only=True):
    """What an operator, in a module, holds at the peak."""

    operator_name: str
    module: str | None
    held_bytes: int
    block_count: int
    share_ratio: float | None


class HotSpots(msgspec.Struct, kw_only=True):
    """Who holds the memory at the peak, on the device that holds most; what was there before the capture is not in it.

    `device_bytes` is what all of them hold.
    """

    rank: int | None
    device: str
    peak_ts_ns: int
    device_bytes: int
    holder_count: int
    holders: list[MemoryHolder]


class LeakVerdict(msgspec.Struct, kw_only=True):
    """What the lowest memory level of each step does over the steps, for one component of one profile.

    `verdict` is leak, cache, steady or insufficient; the onset is null unless it leaks, `steps_left` unless the
    capacity is known as well.
    """

    profile_id: int
    rank: int | None
    component: str
    source: str
    verdict: Literal["leak", "cache", "steady", "insufficient"]
    steps: int
    slope_bytes_per_step: float | None
    growth_bytes: float | None
    onset_step: int | None
    phase: str | None
    steps_left: float | None


class Curve(msgspec.Struct, kw_only=True):
    """A memory curve, thinned out to its highest point per interval; times from the start of the curves."""

    profile_id: int
    rank: int | None
    component: str
    ts_ns: list[int]
    allocated_bytes: list[int | None]
    reserved_bytes: list[int | None]


class Memory(Section, kw_only=True):
    """Memory peaks, curves of the first ranks, operators by peak with the total, who holds the peak, leaks or none."""

    peaks: list[MemoryPeak] = []
    operators: list[MemoryOperator] = []
    operator_count: int = 0
    total: MemoryTotal | None = None
    hot_spots: HotSpots | None = None
    curves: list[Curve] = []
    leak_count: int = 0
    leaks: list[LeakVerdict] = []
