"""How full the memory of each device became, and how much it has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.model.memory_parts import MODULE_PREFIX
from ascend_sn.model.trace_schema import CAPACITY_METRIC

if TYPE_CHECKING:
    from ascend_sn.advisor.rule import Profile

__all__ = ["DeviceMemory", "device_memory", "is_of_device"]

_OF_HOST: Final = ("cpu", "host", "process")


class DeviceMemory(msgspec.Struct, frozen=True, kw_only=True):
    """The fullest moment of one device, as its profile saw it.

    Attributes:
        profile_id: The profile.
        rank: Its rank.
        allocated_bytes: Most that was allocated; absent where only reserved memory was recorded.
        reserved_bytes: Most that the pools, or the whole process, had taken from the device.
        capacity_bytes: What the device has; absent where neither the capture nor the user says it.
        oom_count: Requests that failed.
        failed_bytes: The first of them.
    """

    profile_id: int
    rank: int | None
    allocated_bytes: int | None
    reserved_bytes: int | None
    capacity_bytes: int | None
    oom_count: int
    failed_bytes: int | None

    @property
    def peak_bytes(self) -> int:
        """What the device had to hold: reserved, else allocated."""
        return max(self.reserved_bytes or 0, self.allocated_bytes or 0)

    @property
    def filled_ratio(self) -> float | None:
        """Share of the device's memory; None where it is not known how much that is."""
        return self.peak_bytes / self.capacity_bytes if self.capacity_bytes else None

    @property
    def allocated_ratio(self) -> float | None:
        """Share that was allocated, not only reserved."""
        known = self.capacity_bytes and self.allocated_bytes is not None
        return (self.allocated_bytes or 0) / (self.capacity_bytes or 1) if known else None


class _Peak(msgspec.Struct):
    profile_id: int
    rank: int | None
    component: str
    peak_allocated_bytes: int | None
    peak_reserved_bytes: int | None


class _Failure(msgspec.Struct):
    profile_id: int
    oom_count: int
    failed_bytes: int | None


class _Capacity(msgspec.Struct):
    profile_id: int
    capacity_bytes: int


def device_memory(facts: Facts, profiles: Iterable[Profile], default_capacity_bytes: float = 0) -> list[DeviceMemory]:
    """Return one entry per profile whose device memory was recorded, the fullest first.

    Args:
        facts: The analysis results.
        profiles: The captured processes.
        default_capacity_bytes: Memory of a device where the capture does not say it; 0: not known.
    """
    peaks: dict[int, list[_Peak]] = {}
    for peak in facts.rows("memory_peak", _Peak):
        if is_of_device(peak.component):
            peaks.setdefault(peak.profile_id, []).append(peak)
    failures, logged = _failures(facts), _logged(facts)
    found = []
    for profile in profiles:
        own, failure = peaks.get(profile.profile_id, []), failures.get(profile.profile_id)
        if not own and failure is None:
            continue
        capacity = (
            logged.get(profile.profile_id)
            or _stated(profile.config.get(CAPACITY_METRIC))
            or round(default_capacity_bytes)
            or None
        )
        found.append(
            DeviceMemory(
                profile_id=profile.profile_id,
                rank=profile.rank,
                allocated_bytes=_most(peak.peak_allocated_bytes for peak in own),
                reserved_bytes=_most(peak.peak_reserved_bytes for peak in own),
                capacity_bytes=capacity or round(default_capacity_bytes) or None,
                oom_count=0 if failure is None else failure.oom_count,
                failed_bytes=None if failure is None else failure.failed_bytes,
            )
        )
    return sorted(found, key=lambda one: (-one.oom_count, -(one.filled_ratio or 0.0), -one.peak_bytes, one.profile_id))


def is_of_device(component: str) -> bool:
    """Whether a memory component, or device, is memory of an accelerator and not a part of another component."""
    return not component.lower().startswith((*_OF_HOST, MODULE_PREFIX))


@asked_once
def _failures(facts: Facts) -> dict[int, _Failure]:
    """Requests for memory that failed, by profile; they are allocation events."""
    if not facts.has_rows("memory_event"):
        return {}
    return {row.profile_id: row for row in facts.table_rows(_FAILURES, _Failure)}


@asked_once
def _logged(facts: Facts) -> dict[int, int]:
    """Capacities that programs or recorders logged, by profile."""
    if not facts.has_rows("metric"):
        return {}
    return {row.profile_id: row.capacity_bytes for row in facts.table_rows(_LOGGED, _Capacity, name=CAPACITY_METRIC)}


def _most(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _stated(stated: object) -> int | None:
    return stated if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0 else None


_FAILURES: Final = """
    select profile_id, count(*) as oom_count, arg_min(size_bytes, ts_ns) as failed_bytes
    from memory_event
    where kind = 'oom'
    group by profile_id
"""
_LOGGED: Final = """
    select profile_id, max(value)::bigint as capacity_bytes
    from metric
    where name = $name and value between 1 and 1e18
    group by profile_id
"""
