"""One slice: everything that its row says, its neighbours, and the slices that it is linked with."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ascend_sn.analysis.steps.inference_latency import Divided, divided_requests
from ascend_sn.errors import UnknownNameError
from ascend_sn.insight.answers import ApiError, answer, exact, integer, parameter
from ascend_sn.insight.asked import track_of
from ascend_sn.insight.links import Link, beneath_stretch, links_of
from ascend_sn.insight.places import DRAWN_TABLES, Ref, key_at, ref_at, refs_of_keys, stretch_at
from ascend_sn.insight.ranks import Part
from ascend_sn.insight.runs import OpenRun, Served
from ascend_sn.model.requests import REQUEST_DOMAIN
from ascend_sn.store.timeline_files import NO_KEY, NO_PLACE, ProfileMeta, Track
from ascend_sn.store.timeline_lanes import OVERLAP, lane_of

__all__ = ["SliceDetail", "slice_routes"]

_TEXT_AT_MOST: Final = 20_000
_SAID_ELSEWHERE: Final = frozenset({"profile_id", "rank", "ts_ns", "dur_ns", "self_ns", "name"})


class SliceDetail(msgspec.Struct, frozen=True, kw_only=True):
    """A slice in full; times in ns from the origin of its profile, `ts_ns` in its own clock.

    `stages` divides a request (A33): copy_in, inference, copy_out and gap sum to its length; null for other slices,
    and where no kernels were recorded.
    """

    profile_id: int
    track: int
    depth: int
    slice: int
    name: str
    kind: str
    table: str
    key: str | None
    start: int
    dur: int
    ts_ns: str
    self_ns: int | None
    step: int | None
    arguments: dict[str, Any]
    stages: dict[str, int] | None
    previous: Ref | None
    next: Ref | None
    links: list[Link]


def slice_routes(served: Served) -> list[Route]:
    """Return the routes that look at one slice."""

    def slice_(request: Request) -> Response:
        """One slice with its arguments, neighbours and links.

        Parameters: `profile`, `track`, `depth`, `slice` (the number that the viewport gives).
        """
        opened = served.opened(request.path_params["run"])
        profile = opened.profile(integer(request, "profile"))
        track = track_of(profile, integer(request, "track"))
        depth, place = integer(request, "depth"), integer(request, "slice")
        return answer(_detail(opened, profile, track, depth, place))

    def find(request: Request) -> Response:
        """The slice of a row of a table.

        Parameters: `table` (`overlap` for a stretch of a device's activity), `profile`, `key` (of a stretch its begin
        in ns in the profile's own clock).
        """
        opened = served.opened(request.path_params["run"])
        table = parameter(request, "table")
        if table not in (*DRAWN_TABLES, OVERLAP):
            raise UnknownNameError("table with slices", table[:40], (*DRAWN_TABLES, OVERLAP), None)
        profile = opened.profile(integer(request, "profile"))
        key = integer(request, "key")
        if table == OVERLAP:
            stretch = stretch_at(opened, profile, key)
            found = [] if stretch is None else [stretch]
        else:
            found = refs_of_keys(opened, table, profile.profile_id, [key])
        if not found:
            raise ApiError(404, "no_slice", f"no slice of the timeline comes from the row {key} of the table {table}")
        return answer(found[0])

    return [Route("/runs/{run}/slice", slice_), Route("/runs/{run}/find", find)]


def _detail(opened: OpenRun, profile: ProfileMeta, track: Track, depth: int, place: int) -> SliceDetail:
    arrays = opened.timeline.arrays(profile.profile_id)
    if depth >= track.depths:
        raise ApiError(404, "no_slice", f"the track has {track.depths} depths")
    segment = arrays.segment(track.first_segment + depth)
    if place >= segment.slices:
        raise ApiError(404, "no_slice", f"there are {segment.slices} slices at this depth")
    own = ref_at(opened, profile, track, depth, place)
    key = key_at(profile, arrays, segment, place)
    is_counter = segment.value != NO_PLACE
    row = {} if is_counter else _row(opened, profile, track, own, key)
    if is_counter:
        arguments = {"value": float(arrays.value[segment.value + place]), "unit": track.unit}
    else:
        arguments = _arguments(opened, profile, track, row, key)
    if segment.self_place != NO_PLACE:
        self_ns: int | None = int(arrays.self_ns[segment.self_place + place])
    else:
        self_ns = None if is_counter else own.dur
    # Requests that run at a time lie below each other, and none inside another.
    is_apart = is_counter or track.side == "requests"
    enclosing = None if is_apart else _enclosing(opened, profile, track, own)
    beneath = beneath_stretch(opened, profile, own) if track.table == OVERLAP else None
    return SliceDetail(
        profile_id=profile.profile_id,
        track=track.track,
        depth=depth,
        slice=place,
        name=own.name,
        kind=opened.timeline.kind(int(arrays.kind[segment.place + place])),
        table=track.table,
        key=None if key == NO_KEY else str(key),
        start=own.start,
        dur=own.dur,
        ts_ns=str(own.start + profile.origin_ns),
        self_ns=self_ns,
        step=_step(opened, profile, own, row),
        arguments=arguments,
        stages=_stages(opened, profile, row),
        previous=ref_at(opened, profile, track, depth, place - 1) if place else None,
        next=ref_at(opened, profile, track, depth, place + 1) if place + 1 < segment.slices else None,
        links=[
            *([Link("parent", enclosing)] if enclosing else []),
            *([beneath] if beneath else []),
            *links_of(opened, profile, track.table, row, key),
        ],
    )


def _row(opened: OpenRun, profile: ProfileMeta, track: Track, own: Ref, key: int) -> dict[str, Any]:
    """The row of a slice by its key, or, where it has none of its own, by its time and name."""
    kind = lane_of(track.table, track.side)
    if kind is None:
        return {}
    parameters: dict[str, Any] = {"profile": profile.profile_id, "ts": own.start + profile.origin_ns, "dur": own.dur}
    condition = "ts_ns = $ts and dur_ns = $dur"
    if kind.key and key != NO_KEY:
        condition += f" and {kind.key} = $key"
        parameters["key"] = key
    else:
        condition += f" and coalesce({kind.name}, '') = $name"
        parameters["name"] = own.name
    names, rows = opened.columns(
        f"select * from {kind.table} where profile_id = $profile and {condition} limit 1",
        parameters,
        of=profile.profile_id,
    )
    return dict(zip(names, rows[0], strict=True)) if rows else {}


def _arguments(opened: OpenRun, profile: ProfileMeta, track: Track, row: dict[str, Any], key: int) -> dict[str, Any]:
    """What the row says beyond what every slice has; the call stack and hardware figures in the place of their keys."""
    kind = lane_of(track.table, track.side)
    left_out = {*_SAID_ELSEWHERE, *([kind.key] if kind else [])}
    found = {name: _shown(value) for name, value in row.items() if value is not None and name not in left_out}
    if "stack_id" in found:
        frames = opened.query(
            "select frames from stack where profile_id = $profile and stack_id = $stack limit 1",
            {"profile": profile.profile_id, "stack": row["stack_id"]},
            of=profile.profile_id,
        )
        if frames and frames[0][0]:
            found["stack"] = _shown(frames[0][0])
            del found["stack_id"]
    if track.table == "kernel":
        metrics = opened.query(
            "select metric, value from kernel_metric where profile_id = $profile and kernel_id = $key order by metric",
            {"profile": profile.profile_id, "key": key},
            of=profile.profile_id,
        )
        found.update({str(metric): value for metric, value in metrics if value is not None})
    return found


def _stages(opened: OpenRun, profile: ProfileMeta, row: dict[str, Any]) -> dict[str, int] | None:
    """What a request is made of."""
    if row.get("domain") != REQUEST_DOMAIN:
        return None
    part = opened.part(profile.profile_id)
    of = "" if part is opened.across else f" of {profile.profile_id}"
    divided = opened.once(f"request stages{of}", lambda: _divided(part))
    found = divided.get(profile.profile_id)
    return None if found is None else found.of(int(row["ts_ns"]), int(row["dur_ns"]))


def _divided(part: Part) -> dict[int, Divided]:
    with part.lock:
        return divided_requests(part.run.db)


def _shown(value: Any) -> Any:
    return value[:_TEXT_AT_MOST] if isinstance(value, str) else exact(value)


def _step(opened: OpenRun, profile: ProfileMeta, own: Ref, row: dict[str, Any]) -> int | None:
    """Number of the step that launched the slice, else of the one it begins in."""
    condition, parameters = "ts_ns <= $ts and ts_ns + dur_ns > $ts", {"ts": own.start + profile.origin_ns}
    if row.get("step_id") is not None:
        condition, parameters = "step_id = $step", {"step": row["step_id"]}
    rows = opened.query(
        f"select coalesce(step, step_id) from step where profile_id = $profile and {condition} limit 1",
        {"profile": profile.profile_id, **parameters},
        of=profile.profile_id,
    )
    return int(rows[0][0]) if rows and rows[0][0] is not None else None


def _enclosing(opened: OpenRun, profile: ProfileMeta, track: Track, own: Ref) -> Ref | None:
    """The innermost slice of the lane that contains this one."""
    arrays = opened.timeline.arrays(profile.profile_id)
    for depth in range(own.depth - 1, -1, -1):
        segment = arrays.segment(track.first_segment + depth)
        starts = arrays.start[segment.base : segment.base + segment.slices]
        place = int(np.searchsorted(starts, own.start, side="right")) - 1
        if place >= 0 and int(arrays.end[segment.base + place]) >= own.start + own.dur:
            return ref_at(opened, profile, track, depth, place)
    return None
