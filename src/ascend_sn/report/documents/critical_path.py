"""The critical path of the document (A25): what holds the median step, and how much slack the operators have."""

from __future__ import annotations

from typing import Literal

import msgspec

from ascend_sn.report.documents.section import Section

__all__ = [
    "CriticalPathSection",
    "OperatorSlack",
    "PathClass",
    "PathSlice",
    "TimeClassName",
]

TimeClassName = Literal[
    "data_loading",
    "host",
    "launch",
    "sync",
    "allocator",
    "gc",
    "compile",
    "profiler",
    "compute",
    "communication",
    "wait",
    "copy",
    "kernel_gap",
    "contention",
    "other_device",
    "rank_skew",
    "earlier_step",
    "unknown",
]


class PathClass(msgspec.Struct, kw_only=True):
    """Time of one class on the path; together the classes are the step.

    Besides what slices do: `launch` is also the latency of launches, `kernel_gap` a stream between two kernels,
    `wait` waiting for members that are not in the capture or moving nothing, `contention` waiting for other streams of
    the device, `rank_skew` one rank beginning its step later than another, `unknown` what no dependency explains.
    """

    time_class: TimeClassName
    dur_ns: int
    share_ratio: float


class PathSlice(msgspec.Struct, kw_only=True):
    """A slice on the path; `start_ns` since the step began, `table` and `row_id` name the row it stands for."""

    profile_id: int
    rank: int | None
    start_ns: int
    dur_ns: int
    time_class: TimeClassName
    name: str
    table: str
    row_id: int


class OperatorSlack(msgspec.Struct, kw_only=True):
    """All calls of one operator or kernel name in the step.

    `criticality_ratio` is the share of the step that they are on the path; `slack_ns` how much longer the tightest of
    them could take without making the step longer, 0 on the path.
    """

    name: str
    time_class: TimeClassName
    total_ns: int
    on_path_ns: int
    criticality_ratio: float
    slack_ns: int


class CriticalPathSection(Section, kw_only=True):
    """What holds the median step: the longest path through its dependencies, over host, device, links and ranks.

    Attributes:
        scope: What was followed: `step`, `inferred step` or `whole capture`.
        ranks: Ranks that were followed together.
        step_ns: Length of the step; the classes add up to it.
        identity_error_ratio: How far the replayed step is off the captured one.
        classes: Time on the path by class, most first.
        slice_count: Slices on the path; `slices` are the longest hundred of them, in order.
        operator_count: Operators and kernel names of the step; `operators` are those with most time on the path.
        remarks: What limits the confidence in the path.
    """

    scope: str = ""
    ranks: list[int | None] = []
    step_ns: int | None = None
    identity_error_ratio: float | None = None
    classes: list[PathClass] = []
    slice_count: int = 0
    slices: list[PathSlice] = []
    operator_count: int = 0
    operators: list[OperatorSlack] = []
    remarks: list[str] = []
