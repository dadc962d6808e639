"""Build the timeline of a run from its tables: profile by profile, lane by lane.

Memory is bounded by the largest lane (about 60 bytes a slice while it is built), or by a few million slices where
lanes are small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection
from numpy.typing import NDArray

from ascend_sn._native import _core
from ascend_sn._native.nesting import deal, deal_apart, nest
from ascend_sn.store.run import Run
from ascend_sn.store.sealed import write_sealed
from ascend_sn.store.timeline_files import (
    META_NAME,
    NO_KEY,
    TIMELINE_VERSION,
    Meta,
    ProfileMeta,
    ProfileWriter,
    Track,
    write_names,
)
from ascend_sn.store.timeline_lanes import COUNTERS, LANES, OVERLAP, CounterKind, LaneKind, kind_query

__all__ = ["ClassLane", "ClassLanes", "build_timeline"]

KINDS: Final = (
    "other", "compute", "communication", "fused", "copy", "sync", "data", "forward", "backward", "optimizer", "step",
    "counter", "exposed_communication", "overlapped_communication", "exposed_copy", "free", "request",
)  # fmt: skip
"""Kinds that every timeline knows; others that the tables name follow."""

_ALL: Final[tuple[LaneKind | CounterKind, ...]] = (*LANES, *COUNTERS)

_KINDS_AT_MOST: Final = 255
_AT_ONCE: Final = 8_000_000
"""Slices that are fetched at once where lanes are small."""

_FARTHEST_NS: Final = 1 << 53
"""Times further apart (104 days) are no times of one capture: a browser's numbers hold no more."""

_LIMIT_NS: Final = 1 << 61

Int64Array = NDArray[np.int64]
Progress = Callable[[int, int, str], None]
"""Called with profiles done, profiles in all, and what is being built."""


class ClassLane(NamedTuple):
    """A lane that is worked out: when a device was in a class of activity, in the profile's own clock, by start."""

    kind: str
    start: Int64Array
    end: Int64Array


ClassLanes = Callable[[DuckDBPyConnection, int], Sequence[ClassLane]]
"""Returns such lanes of a profile from its tables; the store knows no analysis, so whoever builds hands it in."""


class _Lane(NamedTuple):
    """One lane of a table, counted."""

    lane: str
    group: str | None
    label: str | None
    unit: str | None
    slices: int


class _Profile(NamedTuple):
    """One profile and its lanes, before they are written."""

    profile_id: int
    source: str
    origin_ns: int
    dur_ns: int
    small_keys: bool
    lanes: dict[LaneKind | CounterKind, list[_Lane]]


def build_timeline(
    run: Run, folder: Path, *, class_lanes: ClassLanes | None = None, progress: Progress | None = None
) -> Meta:
    """Fill `folder`, which must be empty, with the timeline of a run."""
    db = run.db
    names, kinds = _names(db), _kinds(db)
    profiles = [(int(profile_id), str(source)) for profile_id, source in
                db.execute("select profile_id, source from profile order by profile_id").fetchall()]  # fmt: skip
    made: list[ProfileMeta] = []
    for number, (profile_id, source) in enumerate(profiles):
        if progress is not None:
            progress(number, len(profiles), source)
        with run.only(profile_id) as own:
            if number == 0 or own is not db:
                _keep(own, "timeline_name", names)
                _keep(own, "timeline_kind", kinds)
            profile = _counted(own, profile_id, source)
            made.append(_Builder(own, profile, names, kinds).write(folder, class_lanes))
    for table in ("timeline_name", "timeline_kind", "timeline_lane"):
        db.execute(f"drop table if exists {table}")
    meta = Meta(
        version=TIMELINE_VERSION,
        kinds=list(kinds),
        name_count=len(names),
        slice_count=sum(track.slice_count for profile in made for track in profile.tracks),
        profiles=made,
        names_sum=write_names(folder, list(names)),
    )
    write_sealed(folder / META_NAME, msgspec.json.encode(meta))
    return meta


class _Builder:
    """Writes one profile."""

    def __init__(
        self, db: DuckDBPyConnection, profile: _Profile, names: Mapping[str, int], kinds: Mapping[str, int]
    ) -> None:
        self._db = db
        self._profile = profile
        self._names = names
        self._kinds = kinds
        self._tracks: list[Track] = []

    def write(self, folder: Path, class_lanes: ClassLanes | None) -> ProfileMeta:
        profile = self._profile
        with ProfileWriter(folder / f"profile={profile.profile_id}", small_keys=profile.small_keys) as writer:
            for side in ("marks", "requests", OVERLAP, "host", "device", "communication"):
                if side == OVERLAP and class_lanes is not None:
                    self._classes(writer, class_lanes(self._db, profile.profile_id))
                for kind in LANES:
                    if kind.side == side:
                        self._slices(writer, kind, profile.lanes[kind])
            slices = len(self._tracks)
            for counter in COUNTERS:
                self._curves(writer, counter, profile.lanes[counter])
        # The curves of a component stand together, whichever column they come from.
        tables = list(dict.fromkeys(counter.table for counter in COUNTERS))
        self._tracks[slices:] = [
            msgspec.structs.replace(track, track=slices + number)
            for number, track in enumerate(
                sorted(self._tracks[slices:], key=lambda track: (tables.index(track.table), _natural(track.group)))
            )
        ]
        return ProfileMeta(
            profile_id=profile.profile_id,
            origin_ns=profile.origin_ns,
            dur_ns=profile.dur_ns,
            small_keys=profile.small_keys,
            tracks=self._tracks,
            sums=writer.sums,
        )

    def _slices(self, writer: ProfileWriter, kind: LaneKind, lanes: list[_Lane]) -> None:
        query = f"""
            select timeline_lane.number::integer as lane, ts_ns, dur_ns, coalesce(key, {NO_KEY})::bigint as key,
                   timeline_name.number::uinteger as name, coalesce(timeline_kind.number, 0)::utinyint as kind
            from ({kind_query(kind)}) slice
            join timeline_lane on slice.lane = timeline_lane.text
            join timeline_name on slice.name = timeline_name.text
            left join timeline_kind on slice.kind = timeline_kind.text
        """
        for lane, columns in self._fetched(query, lanes):
            first = writer.segment_count
            self._deal(writer, kind, columns)
            self._track(kind.side, kind.table, lane, writer, first)

    def _deal(self, writer: ProfileWriter, lane_kind: LaneKind, columns: Mapping[str, NDArray[Any]]) -> None:
        """Write the slices of a lane, a segment per depth."""
        start = self._since(columns["ts_ns"])
        end = start + np.minimum(columns["dur_ns"], _LIMIT_NS)
        order = _drawing_order(start, end, columns["key"])
        start, end = start[order], end[order]
        name, kind, key = (columns[column][order] for column in ("name", "kind", "key"))
        del order
        rows, depths = deal_apart(start, end) if lane_kind.is_apart else deal(start, end)
        if depths <= 1:
            writer.slices(start, end, name, kind, key)
            return
        nested = None if lane_kind.is_apart else nest(np.zeros(len(start), np.int64), start, end - start).self_ns
        by_row = np.empty(len(rows), np.int64)
        _core.order(rows.astype(np.int64), by_row)
        bounds = np.searchsorted(rows[by_row], np.arange(depths + 1)).tolist()
        for first, past in pairwise(bounds):
            here = by_row[first:past]
            self_ns = None if nested is None else nested[here]
            writer.slices(start[here], end[here], name[here], kind[here], key[here], self_ns)

    def _classes(self, writer: ProfileWriter, lanes: Iterable[ClassLane]) -> None:
        for lane in lanes:
            count = len(lane.start)
            if not count:
                continue
            first = writer.segment_count
            name, kind = np.full(count, self._names[lane.kind]), np.full(count, self._kinds[lane.kind])
            start, end = self._since(lane.start), self._since(lane.end)
            writer.slices(start, end, name, kind, np.full(count, NO_KEY))
            self._track(OVERLAP, OVERLAP, _Lane(lane.kind, None, lane.kind, None, count), writer, first)

    def _curves(self, writer: ProfileWriter, counter: CounterKind, lanes: list[_Lane]) -> None:
        query = f"""
            select timeline_lane.number::integer as lane, ts_ns, value
            from ({kind_query(counter)}) point
            join timeline_lane on point.lane = timeline_lane.text
        """
        for lane, columns in self._fetched(query, lanes):
            first = writer.segment_count
            start = self._since(columns["ts_ns"])
            order = np.empty(len(start), np.int64)
            _core.order(start, order)
            start, value = start[order], columns["value"][order]
            end = np.append(start[1:], start[-1:])
            writer.points(start, end, value, self._names[lane.label or ""], self._kinds["counter"])
            self._track("counter", counter.table, lane, writer, first)

    def _fetched(self, query: str, lanes: list[_Lane]) -> Iterator[tuple[_Lane, dict[str, NDArray[Any]]]]:
        """The rows of each lane; those of small lanes are fetched together."""
        db = self._db
        for some in _bunches(lanes):
            _keep(db, "timeline_lane", {lane.lane: number for number, lane in enumerate(some)})
            columns = db.execute(query, {"profile": self._profile.profile_id}).fetchnumpy()
            number = np.asarray(columns.pop("lane"), np.int64)
            found = {name: np.asarray(values) for name, values in columns.items()}
            if len(some) == 1:
                yield some[0], found
                continue
            order = np.empty(len(number), np.int64)
            _core.order(number, order)
            bounds = np.searchsorted(number[order], np.arange(len(some) + 1)).tolist()
            for lane, (first, past) in zip(some, pairwise(bounds), strict=True):
                here = order[first:past]
                yield lane, {name: values[here] for name, values in found.items()}

    def _since(self, ts_ns: NDArray[Any]) -> Int64Array:
        """Times from the origin; one that is absurdly far from it is put at the edge."""
        origin = self._profile.origin_ns
        near = np.clip(np.asarray(ts_ns, np.int64), origin - _LIMIT_NS, origin + _LIMIT_NS)
        return near - np.int64(origin)

    def _track(self, side: Any, table: str, lane: _Lane, writer: ProfileWriter, first: int) -> None:
        self._tracks.append(
            Track(
                track=len(self._tracks),
                side=side,
                table=table,
                group=lane.group,
                label=lane.label,
                unit=lane.unit,
                depths=writer.segment_count - first,
                slice_count=lane.slices,
                first_segment=first,
            )
        )


def _bunches(lanes: list[_Lane]) -> Iterator[list[_Lane]]:
    """The lanes in their order, as many together as are fetched at once."""
    some: list[_Lane] = []
    held = 0
    for lane in lanes:
        if some and held + lane.slices > _AT_ONCE:
            yield some
            some, held = [], 0
        some.append(lane)
        held += lane.slices
    if some:
        yield some


def _drawing_order(start: Int64Array, end: Int64Array, key: NDArray[Any]) -> Int64Array:
    """The order by start, the longer slice first, and of two alike the one with the lower key."""
    order = np.empty(len(start), np.int64)
    _core.order(start, order)
    ordered = start[order]
    if not bool((ordered[1:] == ordered[:-1]).any()):
        return order
    by = np.empty(len(start), np.int64)
    _core.order(np.ascontiguousarray(key, np.int64), order)
    for values in (-end, start):
        _core.order(values[order], by)
        order = order[by]
    return order


def _counted(db: DuckDBPyConnection, profile_id: int, source: str) -> _Profile:
    """Count the lanes of a profile, and find where its time begins."""
    lanes: dict[LaneKind | CounterKind, list[_Lane]] = {}
    firsts, lasts, keys = [], [], []
    for kind in _ALL:
        is_counter = isinstance(kind, CounterKind)
        counted = db.execute(
            f"""
            select lane, any_value("group"), any_value(label), {"any_value(unit)" if is_counter else "null"}, count(*),
                   min(ts_ns), max(ts_ns::hugeint{"" if is_counter else " + dur_ns"}),
                   {"0, 0" if is_counter else "min(key), max(key)"}
            from ({kind_query(kind)})
            group by lane
            """,
            {"profile": profile_id},
        ).fetchall()
        found = [_Lane(*row[:5]) for row in counted]
        lanes[kind] = sorted(found, key=lambda lane: (_natural(lane.group), _natural(lane.label), _natural(lane.lane)))
        firsts += [int(row[5]) for row in counted]
        lasts += [int(row[6]) for row in counted]
        keys += [int(key) for row in counted for key in row[7:] if key is not None]
    first, last = min(firsts, default=0), max(lasts, default=0)
    if last - first > _FARTHEST_NS:
        first, last = _likely_span(db, profile_id, first, last)
    return _Profile(
        profile_id=profile_id,
        source=source,
        origin_ns=first,
        dur_ns=min(last - first, _LIMIT_NS),
        small_keys=min(keys, default=0) >= 0 and max(keys, default=0) < (1 << 32) - 1,
        lanes=lanes,
    )


def _likely_span(db: DuckDBPyConnection, profile_id: int, first: int, last: int) -> tuple[int, int]:
    """First and last moment around the middle one: a time stamp of zero must not stretch the axis over decades."""
    times = " union all ".join(f"select ts_ns from ({kind_query(kind)})" for kind in _ALL)
    ((low, high),) = db.execute(
        f"""
        with times as ({times}),
        middle as (select quantile_disc(ts_ns, 0.5)::hugeint as ts_ns from times)
        select min(times.ts_ns), max(times.ts_ns)
        from times, middle
        where abs(times.ts_ns::hugeint - middle.ts_ns) < {_FARTHEST_NS // 2}
        """,
        {"profile": profile_id},
    ).fetchall()
    return (int(low), int(high)) if low is not None else (first, last)


def _natural(text: str | None) -> tuple[bool, list[tuple[int, str]]]:
    """Sorts stream 10 behind stream 9, and what has no name last."""
    parts = re.findall(r"\d{1,18}|\D+|\d+", text or "")
    return text is None, [(int(part), "") if part.isdecimal() and len(part) < 19 else (-1, part) for part in parts]


def _names(db: DuckDBPyConnection) -> dict[str, int]:
    """Every name of the run with its number."""
    slices = [f"select coalesce({kind.name}, '') as name from {kind.table}" for kind in LANES]
    counters = [f"select ({counter.label})::varchar as name from {counter.table}" for counter in COUNTERS]
    rows = db.execute(f"select distinct name from ({' union all '.join(slices + counters)})").fetchall()
    found = sorted({"", *KINDS, *(name for (name,) in rows if name is not None)})
    return {name: number for number, name in enumerate(found)}


def _kinds(db: DuckDBPyConnection) -> dict[str, int]:
    """Every kind of slice with its number; those beyond what a byte holds are `other`."""
    queries = [f"select {kind.kind} as kind from {kind.table} where {kind.condition}" for kind in LANES]
    rows = db.execute(
        f"""
        select kind
        from ({" union all ".join(queries)})
        where kind is not null
        group by kind
        order by count(*) desc, kind
        """
    ).fetchall()
    found = dict.fromkeys([*KINDS, *(str(kind) for (kind,) in rows)])
    return {kind: number for number, kind in enumerate(list(found)[:_KINDS_AT_MOST])}


def _keep(db: DuckDBPyConnection, table: str, numbers: Mapping[str, int]) -> None:
    """Make texts with their numbers a table to join with."""
    texts = np.array(list(numbers), dtype=object)
    listed = {"text": texts, "number": np.fromiter(numbers.values(), np.int64, len(numbers))}
    db.register("timeline_listed", listed)
    db.execute(f"create or replace temp table {table} as select text::varchar as text, number from timeline_listed")
    db.unregister("timeline_listed")
