"""A run as a Chrome trace: JSON that Perfetto, chrome://tracing and every tool of that format open.

Every slice of the run comes out once. Times are microseconds with three decimals since `baseTimeNanoseconds`, since a
number of the reader's cannot hold the nanoseconds of a date. Ranks are moved onto the clock of the first one where the
collectives tell the offset; how far each was moved, or why it could not be, stands in `otherData`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.analysis import Missing, result
from ascend_sn.report.chrome_trace.lanes import Nesting, arguments
from ascend_sn.store import Run
from ascend_sn.store.timeline_lanes import LANES, LaneKind, lane_query

__all__ = ["Window", "chrome_trace"]

Progress = Callable[[int, int, str], None]
"""Called with profiles done, profiles in all, and what is being written."""

_HOST: Final = "host"
_DEVICE: Final = "device"
_ON_DEVICE: Final = ("device", "communication")
"""Sides of the timeline that are drawn as the process of the device."""

_BATCH: Final = 10_000
_MOMENTS: Final = ("counter", "memory_sample", "memory_event")

_COUNTERS: Final = """
    select name || coalesce(' (' || unit || ')', '') as name, ts_ns, [('value', value)] as points
    from counter
    where profile_id = $profile and value is not null
    union all
    select 'Memory, ' || component, ts_ns,
           list_filter([('allocated_bytes', allocated_bytes::double), ('reserved_bytes', reserved_bytes::double),
                        ('active_bytes', active_bytes::double)], lambda point: point[2] is not null)
    from memory_sample
    where profile_id = $profile
    union all
    select 'Allocator' || coalesce(', ' || device, ''), ts_ns,
           list_filter([('allocated_bytes', allocated_bytes::double), ('reserved_bytes', reserved_bytes::double),
                        ('active_bytes', active_bytes::double)], lambda point: point[2] is not null)
    from memory_event
    where profile_id = $profile and allocated_bytes is not null
    order by 1, 2
"""

_LAUNCHES: Final = """
    select 'host_call' as src_table, host_call_id as src_id, 'kernel' as dst_table, kernel_id as dst_id
    from kernel
    where profile_id = $profile and host_call_id is not null
    union
    select 'operator', operator_id, 'kernel', kernel_id
    from kernel
    where profile_id = $profile and host_call_id is null and operator_id is not null
    union
    select src_table, src_id, dst_table, dst_id
    from flow
    where profile_id = $profile and kind is distinct from 'phase'
    order by all
"""


@dataclass(frozen=True)
class Window:
    """What of a run is written: `ranks` and `steps` by number; None is all."""

    ranks: Collection[int] | None = None
    steps: tuple[int, int] | None = None


class _Place(NamedTuple):
    """Where a slice came to stand: process, thread, and its start."""

    pid: int
    tid: int
    ts_ns: int


def chrome_trace(run: Run, window: Window | None = None, *, progress: Progress | None = None) -> Iterator[str]:
    """Write a run as the pieces of a JSON text.

    Args:
        run: An opened run.
        window: Ranks and steps to write. Of the steps, whatever lies in or reaches into their time is written.
        progress: Told which profile is being written.

    Returns:
        The pieces, in their order.
    """
    chosen = window or Window()
    profiles = [one for one in _profiles(run) if chosen.ranks is None or one["rank"] in chosen.ranks]
    offsets = _offsets(run)
    spans = {one["profile_id"]: _span(run, one["profile_id"], chosen.steps) for one in profiles}
    starts = [span[0] - offsets.get(profile_id, {}).get("offset_ns", 0) for profile_id, span in spans.items() if span]
    base_ns = min(starts, default=0)
    head = {
        "displayTimeUnit": "ns",
        "baseTimeNanoseconds": base_ns,
        "otherData": {
            "source": "ascend-sn",
            "profiles": [{**one, **offsets.get(one["profile_id"], {})} for one in profiles],
        },
    }
    yield _text(head)[:-1] + ',\n"traceEvents":[\n'
    first = True
    for number, profile in enumerate(profiles):
        profile_id = profile["profile_id"]
        span = spans[profile_id]
        if progress is not None:
            progress(number, len(profiles), str(profile["source"]))
        if span is None:
            continue
        shift_ns = base_ns + offsets.get(profile_id, {}).get("offset_ns", 0)
        pieces: list[str] = []
        for event in _Writer(run, profile, span, shift_ns).events():
            pieces.append(_text(event))
            if len(pieces) == _BATCH:
                yield ("" if first else ",\n") + ",\n".join(pieces)
                first, pieces = False, []
        if pieces:
            yield ("" if first else ",\n") + ",\n".join(pieces)
            first = False
    yield "\n]}\n"


class _Writer:
    """The events of one profile."""

    def __init__(self, run: Run, profile: Mapping[str, Any], span: tuple[int, int], shift_ns: int) -> None:
        self._run = run
        self._profile = profile
        self._from_ns, self._to_ns = span
        self._shift_ns = shift_ns
        self._pid = {_HOST: 2 * profile["profile_id"] + 1, _DEVICE: 2 * profile["profile_id"] + 2}
        self._places: dict[tuple[str, int], _Place] = {}
        self._lanes = 0
        self._used: set[str] = set()
        self._ends = self._tables_of_arrows()

    def events(self) -> Iterator[dict[str, Any]]:
        for kind in LANES:
            yield from self._slices(kind)
        yield from self._counters()
        yield from self._arrows()
        for side in sorted(self._used):
            yield from self._process(side)

    def _slices(self, kind: LaneKind) -> Iterator[dict[str, Any]]:
        cursor = self._run.db.execute(
            f"""
            select * from ({lane_query(kind)})
            where ts_ns is not null and dur_ns >= 0 and ts_ns <= $to and ts_ns + dur_ns >= $from
            order by lane, ts_ns, dur_ns desc
            """,
            {"profile": self._profile["profile_id"], "from": self._from_ns, "to": self._to_ns},
        )
        columns = [column[0] for column in cursor.description]
        key_at = columns.index(kind.key) if kind.key else -1
        side = _DEVICE if kind.side in _ON_DEVICE else _HOST
        pid = self._pid[side]
        lane, nesting, tids = None, Nesting(is_apart=kind.is_apart), dict[int, int]()
        for row in _fetched(cursor):
            if row[0] != lane:
                lane, nesting, tids = row[0], Nesting(is_apart=kind.is_apart), {}
            ts_ns, dur_ns = row[2], row[3]
            number = nesting.row_of(ts_ns, ts_ns + dur_ns)
            if number not in tids:
                self._lanes += 1
                tids[number] = self._lanes
                self._used.add(side)
                yield from self._lane(pid, self._lanes, row[0] if number == 0 else f"{row[0]}, row {number + 1}")
            tid = tids[number]
            if kind.table in self._ends:
                self._places[kind.table, row[key_at]] = _Place(pid, tid, ts_ns)
            yield {
                "ph": "X",
                "cat": kind.category,
                "name": row[1] or "",
                "pid": pid,
                "tid": tid,
                "ts": self._time(ts_ns),
                "dur": _microseconds(dur_ns),
                "args": dict(arguments(columns, row)),
            }

    def _tables_of_arrows(self) -> set[str]:
        """Tables whose rows are ends of arrows; only their places are kept."""
        query = f"select distinct unnest([src_table, dst_table]) from ({_LAUNCHES})"
        return {name for (name,) in self._run.db.execute(query, {"profile": self._profile["profile_id"]}).fetchall()}

    def _counters(self) -> Iterator[dict[str, Any]]:
        cursor = self._run.db.execute(_COUNTERS, {"profile": self._profile["profile_id"]})
        for name, ts_ns, points in _fetched(cursor):
            if points and ts_ns is not None and self._from_ns <= ts_ns <= self._to_ns:
                self._used.add(_HOST)
                yield {
                    "ph": "C",
                    "name": name,
                    "pid": self._pid[_HOST],
                    "tid": 0,
                    "ts": self._time(ts_ns),
                    "args": dict(points),
                }

    def _arrows(self) -> Iterator[dict[str, Any]]:
        cursor = self._run.db.execute(_LAUNCHES, {"profile": self._profile["profile_id"]})
        for number, (src_table, src_id, dst_table, dst_id) in enumerate(_fetched(cursor)):
            source, target = self._places.get((src_table, src_id)), self._places.get((dst_table, dst_id))
            if source is None or target is None:
                continue
            shared = {"cat": "launch", "name": "launch", "id": f"{self._profile['profile_id']}.{number}"}
            for phase, place in (("s", source), ("f", target)):
                event = {"ph": phase, **shared, "pid": place.pid, "tid": place.tid, "ts": self._time(place.ts_ns)}
                yield {**event, "bp": "e"} if phase == "f" else event

    def _process(self, side: str) -> Iterator[dict[str, Any]]:
        profile = self._profile
        who = f"rank {profile['rank']}" if profile["rank"] is not None else f"process {profile['pid'] or '?'}"
        what = side if side == _HOST else profile["device_kind"] or _DEVICE
        names = {"process_name": {"name": f"{who}, {what}"}, "process_sort_index": {"sort_index": self._pid[side]}}
        for name, args in names.items():
            yield {"ph": "M", "name": name, "pid": self._pid[side], "tid": 0, "args": args}

    def _lane(self, pid: int, tid: int, name: str) -> Iterator[dict[str, Any]]:
        for said, args in (("thread_name", {"name": name}), ("thread_sort_index", {"sort_index": tid})):
            yield {"ph": "M", "name": said, "pid": pid, "tid": tid, "args": args}

    def _time(self, ts_ns: int) -> msgspec.Raw:
        return _microseconds(ts_ns - self._shift_ns)


def _fetched(cursor: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, a batch at a time."""
    while batch := cursor.fetchmany(_BATCH):
        yield from batch


def _profiles(run: Run) -> list[dict[str, Any]]:
    rows = run.db.execute(
        "select profile_id, rank, host, pid, device_kind, source from profile order by profile_id"
    ).fetchall()
    return [dict(zip(("profile_id", "rank", "host", "pid", "device_kind", "source"), row, strict=True)) for row in rows]


def _offsets(run: Run) -> dict[int, dict[str, Any]]:
    """How far the clock of each profile is moved, what that leaves open, or why it is not moved."""
    found = result(run, "clock_offsets")
    if isinstance(found, Missing):
        return {}
    names = ("profile_id", "offset_ns", "error_ns", "method", "reason")
    rows = [dict(zip(names, row, strict=True)) for row in found.select(", ".join(names)).fetchall()]
    return {row.pop("profile_id"): {name: value for name, value in row.items() if value is not None} for row in rows}


def _span(run: Run, profile_id: int, steps: tuple[int, int] | None) -> tuple[int, int] | None:
    """First and last moment of what is written of a profile, in its own clock; None where there is nothing."""
    if steps is not None:
        query = (
            "select min(ts_ns), max(ts_ns + dur_ns) from step where profile_id = $profile and step between $a and $b"
        )
        found = run.db.execute(query, {"profile": profile_id, "a": steps[0], "b": steps[1]}).fetchall()
    else:
        tables = [f"select ts_ns, dur_ns from {kind.table} where profile_id = $profile" for kind in LANES]
        tables += [f"select ts_ns, 0 from {table} where profile_id = $profile" for table in _MOMENTS]
        query = f"select min(ts_ns), max(ts_ns + dur_ns) from ({' union all '.join(tables)})"
        found = run.db.execute(query, {"profile": profile_id}).fetchall()
    ((first, last),) = found
    return None if first is None or last is None else (int(first), int(last))


def _microseconds(ns: int) -> msgspec.Raw:
    """Nanoseconds as microseconds with three decimals, exactly."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    return msgspec.Raw(f"{sign}{ns // 1000}.{ns % 1000:03d}".encode())


def _text(event: Any) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()
