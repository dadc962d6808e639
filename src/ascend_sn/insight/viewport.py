"""What is in a window of the timeline: at most two rows a pixel and depth, each saying how many slices it stands for.

The answer is binary, little endian: 16 bytes of head (magic, version, blocks, rows), 32 bytes for each block (one depth
of one track: profile, track, depth, rows, slices shown, slices in all), then columns over all rows.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn._native.pyramid import highest, views
from ascend_sn.insight.answers import integer
from ascend_sn.insight.asked import Asked, asked_windows
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.store.timeline_files import Arrays

__all__ = ["BLOCK", "HEAD", "MAGIC", "VERSION", "frame", "viewport_routes"]

MAGIC: Final = 0x31565341
VERSION: Final = 1
HEAD: Final = np.dtype([("magic", "<u4"), ("version", "<u4"), ("blocks", "<u4"), ("rows", "<u4")])
BLOCK: Final = np.dtype(
    [("profile_id", "<u4"), ("track", "<u4"), ("depth", "<u4"), ("rows", "<u4"), ("slices", "<f8"), ("in_lane", "<f8")]
)
COLUMNS: Final = (
    ("start", "<f8"), ("end", "<f8"), ("busy", "<f8"), ("slice", "<f8"), ("count", "<u4"), ("name", "<u4"),
    ("kind", "u1"),
)  # fmt: skip

_PIXELS: Final = 8192
_ROWS: Final = 2_000_000
"""Rows of one answer; where more would come, pixels are made wider."""


def viewport_routes(served: Served) -> list[Route]:
    """Return the route of the viewport."""

    def viewport(request: Request) -> Response:
        """What is in windows of lanes, reduced to `px` pixels; binary.

        Parameters: `q` = `P:t0:t1:track,track;...` (ns from the profile's origin), `px` (default 1200).
        """
        opened = served.opened(request.path_params["run"])
        content = frame(opened, asked_windows(request, opened), integer(request, "px", 1200, low=1, high=_PIXELS))
        return Response(content, media_type="application/octet-stream")

    return [Route("/runs/{run}/viewport", viewport)]


class _Part(NamedTuple):
    """Blocks and columns of one window."""

    blocks: NDArray[np.void]
    columns: dict[str, NDArray[Any]]


def frame(opened: OpenRun, asked: list[Asked], pixels: int) -> bytes:
    """Return the answer for windows."""
    segments = sum(track.depths for window in asked for track in window.tracks)
    most = min(2 * pixels + 1, max(2, _ROWS // max(segments, 1)))
    parts = [_part(opened.timeline.arrays(window.profile.profile_id), window, most) for window in asked]
    blocks = np.concatenate([part.blocks for part in parts])
    head = np.array([(MAGIC, VERSION, len(blocks), int(blocks["rows"].sum()))], HEAD)
    columns = (
        np.concatenate([part.columns[name] for part in parts]).astype(type_, copy=False) for name, type_ in COLUMNS
    )
    return b"".join([head.tobytes(), blocks.tobytes(), *(column.tobytes() for column in columns)])


def _part(arrays: Arrays, window: Asked, most: int) -> _Part:
    depths = np.array([track.depths for track in window.tracks], np.int64)
    depth = _ramp(depths)
    number = np.repeat([track.first_segment for track in window.tracks], depths).astype(np.int64) + depth
    base, upper, slices, place, _, value = (np.ascontiguousarray(column) for column in arrays.segments[number].T)
    found = views(arrays.levels, base, upper, slices, window.t0, window.t1, most)
    rows = found.rows
    # A damaged file may name a slice that is none.
    longest = np.clip(found.place, 0, np.repeat(slices, rows) - 1)
    at = np.repeat(place, rows) + longest
    busy = found.busy.astype(np.float64)
    first = np.concatenate([[0], np.cumsum(rows)])
    for block in np.flatnonzero((value >= 0) & (rows > 0)).tolist():
        here = slice(int(first[block]), int(first[block + 1]))
        begins = found.first[here]
        busy[here] = highest(arrays.value, int(value[block]), int(slices[block]), begins, begins + found.count[here])
    blocks = np.zeros(len(number), BLOCK)
    blocks["profile_id"] = window.profile.profile_id
    blocks["track"] = np.repeat([track.track for track in window.tracks], depths)
    blocks["depth"] = depth
    blocks["rows"] = rows
    shown = np.concatenate([[0], np.cumsum(found.count)])
    blocks["slices"] = shown[first[1:]] - shown[first[:-1]]
    blocks["in_lane"] = slices
    columns: dict[str, NDArray[Any]] = {
        "start": found.start, "end": found.end, "busy": busy, "slice": longest, "count": found.count,
        "name": arrays.name[at], "kind": arrays.kind[at],
    }  # fmt: skip
    return _Part(blocks, columns)


def _ramp(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """0, 1, 2, ... anew for each length."""
    total = int(lengths.sum())
    return np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
