"""Device memory at a moment over HTTP: stacks as nested parts, segments with their blocks and gaps; also as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.analysis import worked_out
from ascend_sn.analysis.memory.memory_moment import Segment, live_blocks, pool_segments
from ascend_sn.analysis.registry import Missing, Need, missing_needs
from ascend_sn.insight.answers import ApiError, answer, integer, parameter
from ascend_sn.insight.tables.answer import RunTables
from ascend_sn.model.printable import harmless
from ascend_sn.store import Run

__all__ = ["Moment", "Part", "Pool", "moment_of", "moment_routes", "parts_of"]

_FAR: Final = 1 << 62
_DEEPEST: Final = 64
_PARTS: Final = 2_000
_SEGMENTS: Final = 200
_BLOCKS: Final = 20_000

_RESERVED: Final = """
    select arg_max(allocated_bytes, ts_ns), arg_max(reserved_bytes, ts_ns) from memory_event
    where profile_id = $profile and coalesce(device, 'device') = $device and ts_ns <= $at
"""


class Part(msgspec.Struct, frozen=True):
    """Blocks whose stacks begin with the same frames; parts lie within the one above them, at `offset_bytes`."""

    name: str
    depth: int
    offset_bytes: int
    held_bytes: int
    block_count: int


class Pool(msgspec.Struct, frozen=True):
    """A segment: `blocks` are offset, bytes and innermost frame; what lies between them is free."""

    address: str
    stream: str
    size_bytes: int
    free_bytes: int
    largest_free_bytes: int
    block_count: int
    blocks: list[tuple[int, int, str]]


class Moment(msgspec.Struct, kw_only=True):
    """Memory of a device at a moment, ns from the begin of the profile; `state` says why there is none.

    `held_bytes` are those of seen blocks, `allocated_bytes` and `reserved_bytes` what the allocator itself recorded:
    the rest is from before the recording.
    """

    state: str = "collected"
    reason: str = ""
    turn_on: str = ""
    devices: list[str] = []
    device: str = ""
    at_ns: int = 0
    peak_ns: int = 0
    held_bytes: int = 0
    block_count: int = 0
    allocated_bytes: int | None = None
    reserved_bytes: int | None = None
    parts: list[Part] = []
    part_count: int = 0
    segments: list[Pool] = []
    segment_count: int = 0


def moment_of(run: Run, profile_id: int, device: str, at_ns: int | None) -> Moment:
    """Return the memory of a device at a moment, at its peak where none is given; of the largest device where empty.

    Raises:
        ApiError: The profile has no such device.
    """
    missing = missing_needs((Need("memory_event"), Need("memory_event", "address")), run.db)
    peaks = missing or worked_out(run, "memory_at_peak")
    if isinstance(peaks, Missing):
        # The table itself came, the column that is needed did not.
        state = "missing" if peaks.state == "collected" else peaks.state
        return Moment(state=state, reason=peaks.reason, turn_on=peaks.turn_on)
    of_device: dict[str, tuple[int, int]] = {
        row["device"]: (row["device_bytes"], row["peak_ts_ns"])
        for row in peaks.dicts()
        if row["profile_id"] == profile_id
    }
    if not of_device:
        return Moment(state="empty")
    device = device or max(of_device, key=lambda one: of_device[one][0])
    if device not in of_device:
        raise ApiError(404, "no_device", f"profile {profile_id} has no memory of a device {device[:40]!r}")
    ((origin,),) = run.db.execute("select origin_ns from page_origin where profile_id = ?", [profile_id]).fetchall()
    peak = of_device[device][1]
    at = peak if at_ns is None else origin + at_ns
    live = live_blocks(run.db, profile_id=profile_id, device=device, at_ns=at)
    rows = [(size, frames) for _, size, _, _, frames in live.fetchall()]
    segments = pool_segments(run.db, profile_id=profile_id, device=device, at_ns=at)
    chosen = {"profile": profile_id, "device": device, "at": at}
    ((allocated, reserved),) = run.db.execute(_RESERVED, chosen).fetchall()
    parts = parts_of(rows)
    return Moment(
        devices=sorted(of_device),
        device=device,
        at_ns=at - origin,
        peak_ns=peak - origin,
        held_bytes=sum(size for size, _ in rows),
        block_count=len(rows),
        allocated_bytes=allocated,
        reserved_bytes=reserved,
        parts=parts,
        part_count=len(parts),
        segments=_pools(segments, [_site(frames) for _, frames in rows]),
        segment_count=len(segments),
    )


def parts_of(blocks: list[tuple[int, str]]) -> list[Part]:
    """Nest blocks (bytes, frames innermost first) by their stacks: outermost frame first, larger parts first."""
    held: dict[tuple[str, ...], list[int]] = {}
    for size, frames in blocks:
        path = tuple(reversed(frames.split("\n")))[:_DEEPEST]
        for depth in range(1, len(path) + 1):
            sums = held.setdefault(path[:depth], [0, 0])
            sums[0] += size
            sums[1] += 1
    below: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in held:
        below.setdefault(path[:-1], []).append(path)
    found: list[Part] = []
    waiting: list[tuple[tuple[str, ...], int]] = [((), 0)]
    while waiting:
        above, offset = waiting.pop(0)
        for path in sorted(below.get(above, ()), key=lambda one: (-held[one][0], one)):
            size, count = held[path]
            found.append(Part(path[-1], len(path) - 1, offset, size, count))
            waiting.append((path, offset))
            offset += size
    return found


def moment_routes(tables_of: Callable[[str], RunTables]) -> list[Route]:
    """Return the route of memory at a moment, relative to the API."""

    def moment(request: Request) -> Response:
        """Memory of a device at a moment: its live blocks by stack, and the segments of its pool.

        Parameters: `profile`, `device` (that with most memory where not given), `at_ns` (from the origin; the peak
        where not given), `format=csv` with `part=stacks` or `part=segments`. JSON holds the 2,000 outermost parts, the
        200 largest segments and their 20,000 largest blocks; CSV all parts and segments.
        """
        profile = integer(request, "profile")
        at = integer(request, "at_ns", low=-_FAR) if "at_ns" in request.query_params else None
        device, form = parameter(request, "device", ""), parameter(request, "format", "json")
        part = parameter(request, "part", "stacks")
        if form not in ("json", "csv") or part not in ("stacks", "segments"):
            raise ApiError(400, "bad_parameter", "format is json or csv, part is stacks or segments")
        found = tables_of(request.path_params["run"]).use(lambda run: moment_of(run, profile, device, at), of=profile)
        if form == "csv":
            name = f"memory_{part}.csv"
            headers = {"Content-Disposition": f'attachment; filename="{name}"'}
            return Response(_csv(found, part), media_type="text/csv; charset=utf-8", headers=headers)
        return answer(_shortened(found))

    return [Route("/runs/{run}/memory-moment", moment, methods=["GET"])]


def _pools(segments: list[Segment], sites: list[str]) -> list[Pool]:
    return [
        Pool(
            str(one.address), one.stream, one.size_bytes, one.free_bytes, one.largest_free_bytes, len(one.blocks),
            [(address - one.address, size, sites[place]) for address, size, place in one.blocks],
        )
        for one in sorted(segments, key=lambda one: (-one.size_bytes, one.address))
    ]  # fmt: skip


def _site(frames: str) -> str:
    return frames.partition("\n")[0]


def _shortened(found: Moment) -> Moment:
    """Leave out what nobody could see: the innermost parts, small segments, small blocks (their place is not free)."""
    segments = found.segments[:_SEGMENTS]
    sizes = sorted((size for one in segments for _, size, _ in one.blocks), reverse=True)
    least = sizes[_BLOCKS - 1] if len(sizes) > _BLOCKS else 0
    short = [
        msgspec.structs.replace(one, blocks=[block for block in one.blocks if block[1] >= least]) for one in segments
    ]
    return msgspec.structs.replace(found, parts=found.parts[:_PARTS], segments=short)


def _csv(found: Moment, part: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    rows: list[Any] = list(found.parts if part == "stacks" else found.segments)
    names: tuple[str, ...] = ("depth", "name", "offset_bytes", "held_bytes", "block_count")
    if part == "segments":
        names = ("address", "stream", "size_bytes", "free_bytes", "largest_free_bytes", "block_count")
    writer.writerow(names)
    writer.writerows([harmless(getattr(row, name)) for name in names] for row in rows)
    return "\ufeff" + text.getvalue()
