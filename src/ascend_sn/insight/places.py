"""From rows of tables to slices of the timeline, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import numpy as np

from ascend_sn.insight.runs import OpenRun
from ascend_sn.store.timeline_files import NO_KEY, Arrays, ProfileMeta, Segment, Track
from ascend_sn.store.timeline_lanes import LANES, OVERLAP, LaneKind, kind_query

__all__ = ["DRAWN_TABLES", "Ref", "key_at", "ref_at", "refs_of_keys", "refs_of_rows", "stretch_at"]

DRAWN_TABLES: Final = tuple(dict.fromkeys(kind.table for kind in LANES))
"""Tables whose rows are slices."""

_NO_SMALL_KEY: Final = (1 << 32) - 1


class Ref(msgspec.Struct, frozen=True):
    """A slice: where it is drawn, and what it is called. `slice` is its place in its depth of the track."""

    profile_id: int
    track: int
    depth: int
    slice: int
    start: int
    dur: int
    name: str


def ref_at(opened: OpenRun, profile: ProfileMeta, track: Track, depth: int, place: int) -> Ref:
    """Return a slice by its place, which must be there."""
    arrays = opened.timeline.arrays(profile.profile_id)
    segment = arrays.segment(track.first_segment + depth)
    start, end = int(arrays.start[segment.base + place]), int(arrays.end[segment.base + place])
    name = opened.timeline.name(int(arrays.name[segment.place + place]))
    return Ref(profile.profile_id, track.track, depth, place, start, end - start, name)


def key_at(profile: ProfileMeta, arrays: Arrays, segment: Segment, place: int) -> int:
    """Return the key of a slice's row; NO_KEY where it has none."""
    key = int(arrays.key[segment.place + place])
    return NO_KEY if profile.small_keys and key == _NO_SMALL_KEY else key


def refs_of_keys(opened: OpenRun, table: str, profile_id: int, keys: Sequence[int]) -> list[Ref]:
    """Return the slices of rows of a table by their keys, in any order; rows without a place are left out."""
    if profile_id not in opened.profiles or not keys:
        return []
    found = []
    for kind in LANES:
        if kind.table == table:
            named = f"({kind_query(kind)}) where key in (select unnest($keys))"
            rows = opened.query(
                f'select "group", label, key, ts_ns, dur_ns from {named}',
                {"profile": profile_id, "keys": list(keys)},
                of=profile_id,
            )
            found += refs_of_rows(opened, kind, profile_id, rows)
    return found


def stretch_at(opened: OpenRun, profile: ProfileMeta, ts_ns: int) -> Ref | None:
    """Return the stretch of a device's activity that begins at a time; the longest, where several do."""
    arrays = opened.timeline.arrays(profile.profile_id)
    start = ts_ns - profile.origin_ns
    found = []
    for track in profile.tracks:
        if track.table == OVERLAP:
            segment = arrays.segment(track.first_segment)
            starts = arrays.start[segment.base : segment.base + segment.slices]
            place = int(np.searchsorted(starts, start))
            if place < segment.slices and int(starts[place]) == start:
                found.append(ref_at(opened, profile, track, 0, place))
    return max(found, key=lambda ref: ref.dur, default=None)


def refs_of_rows(opened: OpenRun, kind: LaneKind, profile_id: int, rows: Iterable[Sequence[Any]]) -> list[Ref]:
    """Return the slices of rows of (group, label, key, ts_ns, dur_ns)."""
    profile = opened.profiles[profile_id]
    lanes = {(track.group, track.label): track for track in profile.tracks if track.table == kind.table}
    found = []
    for group, label, key, ts_ns, dur_ns in rows:
        track = lanes.get((group, label))
        if track is None:
            continue
        start = int(ts_ns) - profile.origin_ns
        place = _place(opened, profile, track, start, start + int(dur_ns), NO_KEY if key is None else int(key))
        if place is not None:
            found.append(ref_at(opened, profile, track, *place))
    return found


def _place(
    opened: OpenRun, profile: ProfileMeta, track: Track, start: int, end: int, key: int
) -> tuple[int, int] | None:
    """Depth and place of the slice of a range and key."""
    arrays = opened.timeline.arrays(profile.profile_id)
    for depth in range(track.depths):
        segment = arrays.segment(track.first_segment + depth)
        starts = arrays.start[segment.base : segment.base + segment.slices]
        first, past = np.searchsorted(starts, [start, start + 1]).tolist()
        for place in range(first, past):
            if int(arrays.end[segment.base + place]) == end and key_at(profile, arrays, segment, place) == key:
                return depth, place
    return None
