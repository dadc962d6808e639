"""How large a recording is going to be, held against what there is room for.

Before it starts, from the schedule and an assumed program; after the first steps, from what these took.
"""

from __future__ import annotations

import os
from time import perf_counter

from ascend_sn.collect.backends import TORCH, backend_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.config import ProfilerConfig
    from ascend_sn.collect.faults import FaultLog
    from ascend_sn.collect.schedule import Schedule

__all__ = [
    "ASSUMED_OPERATORS",
    "FORECAST_AFTER_S",
    "SHORT_S",
    "VolumeForecast",
    "expected_text",
    "forecast_text",
    "limit_bytes",
    "planned_steps",
]

FORECAST_AFTER_S = 1.0
"""How long steps are recorded before the size of the whole is estimated."""

ASSUMED_OPERATORS = 20_000
"""Operators of a step before any was seen: those of a transformer of some tens of layers, forward and backward."""

_OPERATOR_BYTES = 41
_MEMORY_BYTES = 2 * _OPERATOR_BYTES  # of an operator: one allocation or free, and the totals behind it

SHORT_S = 600.0
"""A recording without a planned end is spoken of when its room lasts no longer than this."""


class VolumeForecast:
    """What is said of the size of one recording: once before it, and once after its first steps."""

    def __init__(self, faults: FaultLog) -> None:
        self._faults = faults
        self._planned: int | None = None
        self._begin_s, self._begin_bytes = 0.0, 0
        self._has_told = self._has_forecast = False

    def tell_expected(self, config: ProfilerConfig, room_bytes: int) -> None:
        """Say before anything is recorded how large what PyTorch's profiler gives may become."""
        if self._has_told or backend_name(config) != TORCH:
            return
        self._has_told = True
        text, fits = expected_text(planned_steps(config.schedule), max(room_bytes, 0), with_memory=config.enable_memory)
        if fits or config.trace_ops is not None:  # chosen operators are fewer
            self._faults.note(text)
        else:
            self._faults.warning("expected volume", text)

    def begin(self, config: ProfilerConfig, written_bytes: int) -> None:
        """Count from here on: a session begins, with so much on the disk."""
        self._planned = planned_steps(config.schedule)
        self._begin_s, self._begin_bytes = perf_counter(), written_bytes

    @property
    def is_due(self) -> bool:
        """Whether the session has lasted long enough to be estimated by."""
        return perf_counter() > self._begin_s + FORECAST_AFTER_S

    def tell(self, written_bytes: int, limit_bytes: int, step_count: int) -> None:
        """Say, from the second step on, when the recording is going to be larger than its limit."""
        if self._has_forecast or step_count < 2:
            return
        self._has_forecast = True
        text = forecast_text(
            written_bytes - self._begin_bytes,
            step_count,
            perf_counter() - self._begin_s,
            planned=self._planned,
            room_bytes=max(limit_bytes - self._begin_bytes, 0),
        )
        if text is not None:
            self._faults.warning("volume", text)


def limit_bytes(config: ProfilerConfig, path: str, faults: FaultLog) -> int:
    """Return what the files may take: the limit asked for, or what the disk has room for."""
    space = os.statvfs(path)
    free = space.f_bavail * space.f_frsize
    if free >= config.max_size:
        return config.max_size
    size_mb, free_mb = config.max_size / 1e6, free / 1e6
    faults.warning(
        "little space", f"{path} has {free_mb:.0f} MB free, max_size is {size_mb:.0f} MB: recording ends before it"
    )
    return free - free // 20


def planned_steps(schedule: Schedule | None) -> int | None:
    """Return how many steps are to be recorded; None where the end is open."""
    if schedule is None or schedule.repeat == 0:
        return None
    return schedule.active * schedule.repeat


def expected_text(planned: int | None, room_bytes: int, *, with_memory: bool) -> tuple[str, bool]:
    """Return what to say of a framework's recording before it starts, and whether it fits.

    Args:
        planned: Steps that are to be recorded in all; None where the end is open.
        room_bytes: What the recording may take in all.
        with_memory: Whether allocations are recorded too.
    """
    step_bytes = ASSUMED_OPERATORS * (_OPERATOR_BYTES + (_MEMORY_BYTES if with_memory else 0))
    fitting = room_bytes // step_bytes
    if planned is None:
        wanted = f"about {_size(step_bytes)} a step, with no planned end"
    else:
        wanted = f"about {_size(step_bytes * planned)} for the {planned} steps of the schedule"
    text = (
        f"{wanted}, if a step has {ASSUMED_OPERATORS:,} operators; there is room for {_size(room_bytes)}, which is "
        f"{fitting:,} such steps"
    )
    return text, planned is None or fitting >= planned


def forecast_text(
    written_bytes: int, step_count: int, seconds: float, *, planned: int | None, room_bytes: int
) -> str | None:
    """Return what to say of a recording that will not fit; None of one that will.

    Args:
        written_bytes: What the first steps took.
        step_count: How many these were, at least 1.
        seconds: How long they took.
        planned: Steps that are to be recorded in all; None where the end is open.
        room_bytes: What the recording may take in all.
    """
    step_bytes = max(written_bytes, 1) / step_count
    fitting = int(room_bytes / step_bytes)
    each = f"about {_size(step_bytes)} a step"
    if planned is not None:
        if fitting >= planned:
            return None
        return (
            f"{each}: the {planned} steps of the schedule would take {_size(step_bytes * planned)}, there is room for "
            f"{_size(room_bytes)}; recording will end after about {fitting} steps. Record fewer steps or operators, "
            "or raise max_size"
        )
    lasts_s = room_bytes * seconds / max(written_bytes, 1)
    if lasts_s > SHORT_S:
        return None
    return (
        f"{each}: the room of {_size(room_bytes)} lasts for about {fitting} steps or {lasts_s:.0f} s. Give a schedule, "
        "record fewer operators, or raise max_size"
    )


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
