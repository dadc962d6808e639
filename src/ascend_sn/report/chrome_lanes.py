"""Lanes of an exported trace: one table query per kind of lane, and slices kept from crossing each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["DEVICE", "HOST", "LANES", "LaneKind", "Nesting", "arguments"]

HOST: Final = "host"
DEVICE: Final = "device"


@dataclass(frozen=True)
class LaneKind:
    """Lanes made of one table.

    `category` is none of PyTorch's words: a reader must not take the trace for one of its profiler.
    `query` gives per slice: lane (its name), name, ts_ns, dur_ns, and further columns that become arguments; it is
    ordered by lane, time, and the longer slice first. `$profile` is the profile. `links` names the column in which a
    slice is named by the arrows of `flows`.
    """

    table: str
    side: str
    category: str
    query: str
    key: str


LANES: Final = (
    LaneKind(
        "step",
        HOST,
        "steps",
        """
        select 'Steps' as lane, coalesce('step ' || step, 'step') as name, ts_ns, dur_ns, step_id, origin, epoch
        from step
        where profile_id = $profile
        """,
        "step_id",
    ),
    LaneKind(
        "span",
        HOST,
        "marks",
        """
        select 'Marks' || coalesce(' ' || domain, '') || coalesce(' (thread ' || thread || ')', '') as lane,
               name, ts_ns, dur_ns, span_id, kind
        from span
        where profile_id = $profile
        """,
        "span_id",
    ),
    LaneKind(
        "operator",
        HOST,
        "operators",
        """
        select 'Operators' || coalesce(' (thread ' || thread || ')', '') as lane,
               name, ts_ns, dur_ns, operator_id, phase, module, input_shapes, input_dtypes
        from operator
        where profile_id = $profile
        """,
        "operator_id",
    ),
    LaneKind(
        "host_call",
        HOST,
        "calls",
        """
        select coalesce(level, 'Calls') || coalesce(' (thread ' || thread || ')', '') as lane,
               name, ts_ns, dur_ns, host_call_id
        from host_call
        where profile_id = $profile
        """,
        "host_call_id",
    ),
    LaneKind(
        "kernel",
        DEVICE,
        "kernels",
        """
        select 'Device ' || coalesce(device_id, 0) || coalesce(', stream ' || stream, '') as lane,
               name, ts_ns, dur_ns, kernel_id, op_type, kind, core_type, step_id, wait_ns, input_shapes, input_dtypes,
               input_formats, copy_direction, size_bytes
        from kernel
        where profile_id = $profile
        """,
        "kernel_id",
    ),
    LaneKind(
        "collective",
        DEVICE,
        "collectives",
        """
        select 'Communication' || coalesce(', group ' || group_id, '') as lane,
               coalesce(name, op) as name, ts_ns, dur_ns, collective_id, op, group_id, sequence, size_bytes, dtype,
               wait_ns, transit_ns, idle_ns
        from collective
        where profile_id = $profile
        """,
        "collective_id",
    ),
    LaneKind(
        "comm_task",
        DEVICE,
        "tasks",
        """
        select 'Communication tasks' || coalesce(', stream ' || stream, '') as lane,
               name, ts_ns, dur_ns, collective_id, size_bytes, src_rank, dst_rank, transport
        from comm_task
        where profile_id = $profile
        """,
        "",
    ),
)
"""In the order in which they are drawn."""


class Nesting:
    """Slices of one lane, dealt to as few rows as needed so that two of a row are nested or apart, never crossing.

    Slices come by start, the longer one first.
    """

    def __init__(self) -> None:
        self._rows: list[list[int]] = []  # ends of the slices that are open, outermost first

    def row_of(self, start_ns: int, end_ns: int) -> int:
        """Return the row of the next slice, from 0."""
        for number, open_ends in enumerate(self._rows):
            while open_ends and open_ends[-1] <= start_ns:
                open_ends.pop()
            if not open_ends or end_ns <= open_ends[-1]:
                open_ends.append(end_ns)
                return number
        self._rows.append([end_ns])
        return len(self._rows) - 1


def arguments(columns: list[str], row: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """The columns behind lane, name, ts_ns and dur_ns that hold something."""
    for name, value in zip(columns[4:], row[4:], strict=True):
        if value is not None:
            yield name, value
