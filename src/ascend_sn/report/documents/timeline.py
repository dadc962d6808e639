"""The timeline of one step as the document holds it: lanes of slices, the short ones merged and counted."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["StepTimeline", "TimelineLane", "TimelineSlice"]


class TimelineSlice(msgspec.Struct, kw_only=True, array_like=True):
    """A slice, placed from the start of the timeline.

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
    """One step of some ranks, reduced to what a page can show.

    The ranks stand on one clock where `is_aligned`, `error_ns` being what the alignment leaves open (null where they
    share a clock); else each begins at the start of its own step.
    """

    scope: Literal["step", "whole capture"]
    step: int | None
    dur_ns: int
    profile_count: int
    is_aligned: bool
    error_ns: int | None
    lanes: list[TimelineLane]
