"""The timeline of one step as the document holds it: lanes of slices, the short ones merged and counted."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["StepTimeline", "TimelineLane", "TimelineSlice"]


class TimelineSlice(msgspec.Struct, kw_only=True, array_like=True):
    """A slice, placed from the start of the step.

    One that stands for several has the name of the longest; `busy_ns` is theirs together.
    """

    name: str
    kind: str
    depth: int
    start_ns: int
    dur_ns: int
    slice_count: int
    busy_ns: int


class TimelineLane(msgspec.Struct, kw_only=True):
    """A thread of the host, a stream of the device, or a group of the communication; `slice_count` before merging."""

    profile_id: int
    rank: int | None
    place: Literal["host", "device", "communication"]
    lane: str
    slice_count: int
    slices: list[TimelineSlice]


class StepTimeline(msgspec.Struct, kw_only=True):
    """One step of some ranks, each from its own start, reduced to what a page can show."""

    scope: Literal["step", "whole capture"]
    step: int | None
    dur_ns: int
    profile_count: int
    lanes: list[TimelineLane]
