"""Statistics of a range: slices by lane and name, and how the time of each profile divides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn._native import _core
from ascend_sn.insight.answers import answer, language
from ascend_sn.insight.asked import Asked, asked_windows
from ascend_sn.insight.class_lanes import COMPUTING, EXPOSED, EXPOSED_COPY, FREE, OVERLAPPED
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.insight.tracks import track_label
from ascend_sn.store.timeline_files import NO_PLACE, Arrays, ProfileMeta, Segment, Track
from ascend_sn.store.timeline_lanes import OVERLAP

__all__ = ["selection_routes"]

_ROWS: Final = 1_000
_AT_ONCE: Final = 2_000_000

_PARTS: Final = {
    "compute_ns": COMPUTING, "exposed_comm_ns": EXPOSED, "overlapped_ns": OVERLAPPED, "exposed_copy_ns": EXPOSED_COPY,
    "free_ns": FREE,
}  # fmt: skip


class Row(msgspec.Struct, frozen=True):
    """Slices of one name on one lane that reach into the range, each with its whole length."""

    profile_id: int
    track: int
    track_label: str
    name: str
    kind: str
    count: int
    total_ns: int
    self_ns: int | None
    mean_ns: float
    min_ns: int
    max_ns: int


class _Sum(NamedTuple):
    """Figures of one name, added up."""

    kind: int
    calls: int
    total: int
    own: int
    low: int
    high: int

    def plus(self, other: _Sum) -> _Sum:
        return _Sum(
            self.kind,
            self.calls + other.calls,
            self.total + other.total,
            self.own + other.own,
            min(self.low, other.low),
            max(self.high, other.high),
        )


def selection_routes(served: Served) -> list[Route]:
    """Return the route of the selection."""

    def selection(request: Request) -> Response:
        """Slices that reach into the windows of `q`, by lane and name, with their whole lengths, longest total first.

        At most 1,000 rows; `row_count` is that of all. `breakdown` divides each window: compute + exposed communication
        + exposed copies + free is the window where steps (or the capture) cover it. Parameters: `q`, `lang`.
        """
        opened = served.opened(request.path_params["run"])
        code = language(request)
        rows: list[Row] = []
        breakdown = []
        for window in asked_windows(request, opened):
            profile = window.profile
            arrays = opened.timeline.arrays(profile.profile_id)
            for track in window.tracks:
                if track.side != "counter":
                    label = track_label(track, served.documents, code)[0]
                    rows += _rows(opened, profile, arrays, track, window, label)
            divided = _divided(profile, arrays, window)
            if divided:
                breakdown.append({"profile_id": profile.profile_id, "window_ns": window.t1 - window.t0, **divided})
        rows.sort(key=lambda row: (-row.total_ns, row.profile_id, row.track, row.name))
        return answer({"rows": rows[:_ROWS], "row_count": len(rows), "breakdown": breakdown})

    return [Route("/runs/{run}/selection", selection)]


def _rows(
    opened: OpenRun, profile: ProfileMeta, arrays: Arrays, track: Track, window: Asked, label: str
) -> Iterator[Row]:
    sums: dict[int, _Sum] = {}
    for depth in range(track.depths):
        segment = arrays.segment(track.first_segment + depth)
        for name, found in _by_name(arrays, segment, window):
            known = sums.get(name)
            sums[name] = found if known is None else known.plus(found)
    kinds = opened.timeline.meta.kinds
    for number, found in sums.items():
        yield Row(
            profile_id=profile.profile_id,
            track=track.track,
            track_label=label,
            name=opened.timeline.name(number),
            kind=kinds[found.kind],
            count=found.calls,
            total_ns=found.total,
            self_ns=found.own,
            mean_ns=found.total / found.calls,
            min_ns=found.low,
            max_ns=found.high,
        )


def _by_name(arrays: Arrays, segment: Segment, window: Asked) -> Iterator[tuple[int, _Sum]]:
    first, past = _inside(arrays, segment, window)
    for at in range(first, past, _AT_ONCE):
        here = slice(at, min(at + _AT_ONCE, past))
        base, place = segment.base, segment.place
        dur = arrays.end[base + here.start : base + here.stop] - arrays.start[base + here.start : base + here.stop]
        name = arrays.name[place + here.start : place + here.stop].astype(np.int64)
        kind = arrays.kind[place + here.start : place + here.stop]
        own = dur
        if segment.self_place != NO_PLACE:
            own = arrays.self_ns[segment.self_place + here.start : segment.self_place + here.stop]
        order = np.empty(len(name), np.int64)
        _core.order(name, order)
        ordered = name[order]
        begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        dur, own = dur[order], own[order]
        columns: list[NDArray[Any]] = [
            kind[order[begins]],
            np.diff(np.append(begins, len(name))),
            np.add.reduceat(dur, begins),
            np.add.reduceat(own, begins),
            np.minimum.reduceat(dur, begins),
            np.maximum.reduceat(dur, begins),
        ]
        for number, *values in zip(ordered[begins].tolist(), *(column.tolist() for column in columns), strict=True):
            yield number, _Sum(*values)


def _inside(arrays: Arrays, segment: Segment, window: Asked) -> tuple[int, int]:
    """Places of the slices that reach into a window; they do not overlap, so that ends ascend as starts do."""
    starts = arrays.start[segment.base : segment.base + segment.slices]
    ends = arrays.end[segment.base : segment.base + segment.slices]
    first = min(np.searchsorted(ends, window.t0, side="right"), np.searchsorted(starts, window.t0))
    return int(first), int(np.searchsorted(starts, window.t1))


def _divided(profile: ProfileMeta, arrays: Arrays, window: Asked) -> dict[str, int]:
    """The time of each class inside the window; empty where the profile has no classes."""
    lanes = {track.label: track for track in profile.tracks if track.side == OVERLAP}
    if not lanes:
        return {}
    found = {}
    for part, kind in _PARTS.items():
        track = lanes.get(kind)
        found[part] = 0 if track is None else _covered(arrays, arrays.segment(track.first_segment), window)
    return found


def _covered(arrays: Arrays, segment: Segment, window: Asked) -> int:
    first, past = _inside(arrays, segment, window)
    total = 0
    for at in range(first, past, _AT_ONCE):
        here = slice(segment.base + at, segment.base + min(at + _AT_ONCE, past))
        ends, starts = arrays.end[here], arrays.start[here]
        total += int((np.minimum(ends, window.t1) - np.maximum(starts, window.t0)).sum())
    return total
