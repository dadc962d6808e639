"""Statistics of a range: slices by lane and name, and how the time of each profile divides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn._native.by_name import NameTotals
from ascend_sn.errors import StoreError
from ascend_sn.insight.answers import answer, language
from ascend_sn.insight.asked import Asked, asked_windows
from ascend_sn.insight.class_lanes import COMPUTING, EXPOSED, EXPOSED_COPY, FREE, OVERLAPPED
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.insight.tracks import group_kinds, track_label
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
        totals = NameTotals(opened.timeline.meta.name_count)
        breakdown = []
        for window in asked_windows(request, opened):
            profile = window.profile
            arrays = opened.timeline.arrays(profile.profile_id)
            for track in window.tracks:
                if track.side != "counter":
                    label = track_label(track, served.documents, code, group_kinds(opened))[0]
                    rows += _rows(opened, arrays, track, window, label, totals)
            divided = _divided(profile, arrays, window)
            if divided:
                breakdown.append({"profile_id": profile.profile_id, "window_ns": window.t1 - window.t0, **divided})
        rows.sort(key=lambda row: (-row.total_ns, row.profile_id, row.track, row.name))
        return answer({"rows": rows[:_ROWS], "row_count": len(rows), "breakdown": breakdown})

    return [Route("/runs/{run}/selection", selection)]


def _rows(
    opened: OpenRun, arrays: Arrays, track: Track, window: Asked, label: str, totals: NameTotals
) -> Iterator[Row]:
    for depth in range(track.depths):
        segment = arrays.segment(track.first_segment + depth)
        first, past = _inside(arrays, segment, window)
        for at in range(first, past, _AT_ONCE):
            here = slice(at, min(at + _AT_ONCE, past))
            try:
                totals.add(
                    _part(arrays.start, segment.base, here),
                    _part(arrays.end, segment.base, here),
                    _part(arrays.name, segment.place, here),
                    _part(arrays.kind, segment.place, here),
                    None if segment.self_place == NO_PLACE else _part(arrays.self_ns, segment.self_place, here),
                )
            except ValueError as error:
                raise StoreError(opened.timeline.folder, f"the timeline is damaged: {error}") from error
    for found in totals.taken():
        yield Row(
            profile_id=window.profile.profile_id,
            track=track.track,
            track_label=label,
            name=opened.timeline.name(found.name),
            kind=opened.timeline.kind(found.kind),
            count=found.calls,
            total_ns=found.total_ns,
            self_ns=found.self_ns,
            mean_ns=found.total_ns / found.calls,
            min_ns=found.min_ns,
            max_ns=found.max_ns,
        )


def _part(column: NDArray[Any], begins: int, here: slice) -> NDArray[Any]:
    return column[begins + here.start : begins + here.stop]


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
