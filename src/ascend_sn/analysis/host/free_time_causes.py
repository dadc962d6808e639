"""A04: why a device was free: what the kernel that ends each free stretch was still waiting for."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import gaps, intersect, subtract, union
from ascend_sn.analysis.activity import Activity, activities, grouped
from ascend_sn.analysis.host.host_calls import classify_calls
from ascend_sn.analysis.host.launches import Launches, launches
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, worked_out_once
from ascend_sn.analysis.window_rows import WINDOW_TYPES, lengths_within, window_identity
from ascend_sn.model.rows import Int64
from ascend_sn.model.trace_schema import COLLECTIONS_METRIC

__all__ = ["ANALYSIS", "CAUSES", "free_time_causes"]

CAUSES: Final = (
    "data_wait",
    "copy_call",
    "host_python",
    "dispatch",
    "launch_call",
    "launch_latency",
    "host_sync",
    "event_wait",
    "allocator",
    "gc",
    "gc_guess",
    "compile",
    "profiler_flush",
    "unknown",
)
"""Every cause; see `free_time_causes` for what each means."""

SILENT_HOST_NS: Final = 200_000_000
"""A stretch of host time without any recorded call or operator that is at least so long looks like a garbage
collection, where collections were not recorded."""

_FROM_CALLS: Final = (
    ("gc", "gc"),
    ("allocator", "allocator"),
    ("compile", "compile"),
    ("profiler_flush", "profiler_flush"),
    ("copy", "copy_call"),
    ("sync", "host_sync"),
)
"""Classes of host calls and the cause each is, the one that takes the time first."""

_TYPES: Final = {
    **WINDOW_TYPES,
    "cause": "varchar",
    "cause_ns": "bigint",
    "free_ns": "bigint",
    "window_ns": "bigint",
    "share_ratio": "double",
}

Intervals = tuple[Int64, Int64]
_NOTHING: Final[Intervals] = (np.zeros(0, np.int64), np.zeros(0, np.int64))


def free_time_causes(db: DuckDBPyConnection) -> Result:
    """Split the free time of each window by its cause; the causes sum to the free time exactly.

    A free stretch ends with the start of a kernel. Going back from there: after the host call that launched the
    kernel it is launch_latency (event_wait while the kernel's stream executes a wait or record); during that call
    launch_call; from the start of the operator that asked for the kernel to the call dispatch; before that, the host
    had not come to it: data_wait while a thread that launches work is in a data phase, host_python otherwise. On the
    host's side of the launch a recorded garbage collection (gc), allocation, compilation, profiler_flush, blocking
    copy (copy_call) or synchronisation (host_sync) takes the time first, in this order; the ranges that torch.compile
    draws around its parts are compilation too. Where collections were
    not recorded, a stretch of 200 ms without any host event is gc_guess. A kernel whose launch is not known leaves
    unknown. Behind the last kernel nothing was asked for, which is the host's time.

    Args:
        db: A connection with the tables `kernel`, `host_call`, `operator`, `span`, `step`, `metric`.

    Returns:
        One row per window and cause that took any time: profile_id, rank, step_id, step, scope, cause, cause_ns
        (free time laid to it), free_ns and window_ns (of the window, as in `step_breakdown`), share_ratio =
        cause_ns / free_ns; sorted by profile, time and cause_ns, the largest first.
    """
    return listed(db, _rows(db), _TYPES)


@worked_out_once
def _rows(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    launched = launches(db)
    host = _HostSide(db)
    rows: list[dict[str, Any]] = []
    for activity in activities(db):
        rows.extend(_rows_of(activity, _attributed(activity, launched[activity.profile_id], host)))
    return rows


def _rows_of(activity: Activity, causes: dict[str, Intervals]) -> list[dict[str, Any]]:
    windows = activity.windows
    taken = {cause: lengths_within(*part, windows.start, windows.end) for cause, part in causes.items()}
    free = sum(taken.values(), np.zeros(len(windows), np.int64))
    rows = []
    for at in range(len(windows)):
        found = [(int(lengths[at]), cause) for cause, lengths in taken.items() if lengths[at]]
        for length, cause in sorted(found, key=lambda pair: (-pair[0], pair[1])):
            rows.append(
                {
                    **window_identity(activity, at),
                    "cause": cause,
                    "cause_ns": length,
                    "free_ns": int(free[at]),
                    "window_ns": int(windows.end[at] - windows.start[at]),
                    "share_ratio": length / int(free[at]),
                }
            )
    return rows


def _attributed(activity: Activity, launched: Launches, host: _HostSide) -> dict[str, Intervals]:
    """Disjoint interval sets by cause; together they are the free time from the first to the last window."""
    windows = activity.windows
    if not len(windows):
        return {}
    free = gaps(activity.start, activity.end, int(windows.start.min()), int(windows.end.max()))
    next_kernel = np.searchsorted(activity.start, free[1], side="left")
    begin, call, launch = _cuts(free, next_kernel, launched)
    causes: dict[str, Intervals] = {}
    late = _nonempty(launch, free[1])
    causes["event_wait"] = _waiting_streams(activity.profile_id, launch, free[1], next_kernel, launched, host)
    causes["launch_latency"] = subtract(*late, *causes["event_wait"])
    known = np.append(launched.asked()[2], bool(launched.asked()[2].any()))[next_kernel]
    before = _nonempty(free[0], launch)
    for class_name, cause in _FROM_CALLS:
        causes[cause] = intersect(*before, *host.calls(activity.profile_id, class_name))
        before = subtract(*before, *causes[cause])
    causes["launch_call"] = intersect(*before, *_nonempty(call, launch))
    causes["dispatch"] = intersect(*before, *_nonempty(begin, call))
    waiting = intersect(*before, *_nonempty(free[0], begin))
    causes["data_wait"] = intersect(*waiting, *host.data(activity.profile_id))
    waiting = subtract(*waiting, *causes["data_wait"])
    causes["host_python"] = intersect(*waiting, *_nonempty(free[0][known], begin[known]))
    causes["unknown"] = subtract(*waiting, *causes["host_python"])
    causes["gc_guess"] = host.silent(activity.profile_id, causes["host_python"])
    causes["host_python"] = subtract(*causes["host_python"], *causes["gc_guess"])
    return causes


def _cuts(free: Intervals, next_kernel: Int64, launched: Launches) -> tuple[Int64, Int64, Int64]:
    """Return where in each free stretch the asking begins, the launching call begins, and the launch is done.

    Behind the last kernel, and where the launch is not known, all three are the end of the stretch.
    """
    start, end = free
    begin, done, known = launched.asked()
    call_start = np.where(launched.has_call, launched.call_start, done)
    never = np.iinfo(np.int64).max
    cut = [
        np.append(np.where(known, moment, never), never)[next_kernel].clip(start, end)
        for moment in (begin, call_start, done)
    ]
    return cut[0], np.maximum(cut[0], cut[1]), np.maximum(cut[1], cut[2])


def _waiting_streams(
    profile_id: int, launch: Int64, end: Int64, next_kernel: Int64, launched: Launches, host: _HostSide
) -> Intervals:
    """The latency during which the stream of the next kernel executed a wait."""
    waits = host.waits(profile_id)
    lane = np.append(launched.lane, -1)[next_kernel]
    found: list[Intervals] = []
    for number, key in enumerate(launched.lanes):
        if key in waits and bool((chosen := lane == number).any()):
            found.append(intersect(*_nonempty(launch[chosen], end[chosen]), *waits[key]))
    if not found:
        return _NOTHING
    return union(np.concatenate([part[0] for part in found]), np.concatenate([part[1] for part in found]))


def _nonempty(start: Int64, end: Int64) -> Intervals:
    kept = start < end
    return start[kept], end[kept]


class _HostSide:
    """What the hosts of all profiles did, as interval sets that are looked up by profile."""

    def __init__(self, db: DuckDBPyConnection) -> None:
        self._db = db
        classified = classify_calls(db)
        self._calls = _unions(
            db,
            f"""
            select profile_id, class as name, ts_ns as start_ns, ts_ns + dur_ns as end_ns
            from {classified}
            where class <> 'launch'
            union all
            select profile_id, 'profiler_flush', ts_ns, ts_ns + dur_ns
            from span
            where domain = 'overhead'
            union all
            select profile_id, 'compile', ts_ns, ts_ns + dur_ns
            from operator
            where name like '%(dynamo_timed)'
            """,
        )
        self._data = _unions(
            db,
            """
            select profile_id, 'data' as name, ts_ns as start_ns, ts_ns + dur_ns as end_ns
            from operator
            where phase = 'data'
              and ((profile_id, thread) in (
                       select (operator.profile_id, operator.thread)
                       from kernel
                       join operator using (profile_id, operator_id)
                       union all
                       select (host_call.profile_id, host_call.thread)
                       from kernel
                       join host_call using (profile_id, host_call_id)
                   )
                   or profile_id not in (
                       select profile_id
                       from kernel
                       where operator_id is not null or host_call_id is not null
                   ))
            """,
        )
        self._with_collections = {
            profile_id
            for (profile_id,) in db.execute(
                "select distinct profile_id from metric where name = $name", {"name": COLLECTIONS_METRIC}
            ).fetchall()
        }
        self._waits: dict[int, dict[tuple[int | None, str | None], Intervals]] = {}
        for profile_id, device, stream, start, end in db.execute("""
            select profile_id, device_id, stream, list(ts_ns order by ts_ns), list(ts_ns + dur_ns order by ts_ns)
            from kernel
            where kind = 'sync' and dur_ns > 0
            group by profile_id, device_id, stream
        """).fetchall():
            key = (device, stream)
            self._waits.setdefault(profile_id, {})[key] = union(np.array(start), np.array(end))

    def calls(self, profile_id: int, class_name: str) -> Intervals:
        return self._calls.get(profile_id, {}).get(class_name, _NOTHING)

    def data(self, profile_id: int) -> Intervals:
        return self._data.get(profile_id, {}).get("data", _NOTHING)

    def waits(self, profile_id: int) -> dict[tuple[int | None, str | None], Intervals]:
        return self._waits.get(profile_id, {})

    def silent(self, profile_id: int, python: Intervals) -> Intervals:
        """The parts of host time that look like unrecorded garbage collections."""
        long_python = python[1] - python[0] >= SILENT_HOST_NS
        recorded = "gc" in self._calls.get(profile_id, {}) or profile_id in self._with_collections
        if recorded or not bool(long_python.any()):
            return _NOTHING
        moments = self._db.execute(
            """
            select unnest([ts_ns, ts_ns + dur_ns]) as at_ns from host_call where profile_id = $profile
            union
            select unnest([ts_ns, ts_ns + dur_ns]) from operator where profile_id = $profile
            order by at_ns
            """,
            {"profile": profile_id},
        ).fetchnumpy()
        at = np.unique(np.concatenate([python[0][:1], np.asarray(moments["at_ns"], np.int64), python[1][-1:]]))
        quiet = intersect(*python, *_nonempty(at[:-1], at[1:]))
        long = quiet[1] - quiet[0] >= SILENT_HOST_NS
        return quiet[0][long], quiet[1][long]


def _unions(db: DuckDBPyConnection, query: str) -> dict[int, dict[str, Intervals]]:
    """Merge the intervals of each profile and name."""
    found = db.execute(f"select * from ({query}) order by profile_id, start_ns").fetchnumpy()
    sets: dict[int, dict[str, Intervals]] = {}
    for profile_id, part in grouped(found["profile_id"]).items():
        name = np.asarray(found["name"][part])
        start, end = np.asarray(found["start_ns"][part]), np.asarray(found["end_ns"][part])
        sets[profile_id] = {one: union(start[name == one], end[name == one]) for one in np.unique(name).tolist()}
    return sets


ANALYSIS = Analysis(
    code="A04",
    name="free_time_causes",
    title="Free time by cause",
    per_profile=free_time_causes,
    needs=(Need("kernel"),),
)
