"""Memory over time per profile and component, whatever recorded it."""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.model.rows import Int64
from ascend_sn.model.trace_schema import RESIDENT_COUNTER

__all__ = ["ENDS", "PROCESS", "MemoryCurve", "memory_curves"]

PROCESS: Final = "process"
"""Component that stands for the resident memory of the process."""

ENDS: Final = """
    ends as (
        select profile_id, component
        from (select profile_id, component from memory_sample group by profile_id, component having count(*) = 1)
        join (select distinct profile_id, coalesce(device, 'device') as component
              from memory_event where kind in ('alloc', 'free')) using (profile_id, component)
    )
"""
"""A part of a query: devices with events whose only sample is a level, as the state at the end of a snapshot.

Their curve is that of their events.
"""


class MemoryCurve(msgspec.Struct, frozen=True, eq=False):
    """Levels of one component: a level holds from its moment to the next one.

    Attributes:
        profile_id: The profile.
        rank: Its rank.
        component: Who holds the memory: a component of `memory_sample`, a device, or `process` (resident memory).
        source: curve (sampled), totals (of the allocator, with its events) or events (summed up from an unknown level
            taken as 0).
        ts: Moments, ascending.
        allocated: Bytes that are in use.
    """

    profile_id: int
    rank: int | None
    component: str
    source: str
    ts: Int64
    allocated: Int64

    def lowest(self, start: Int64, end: Int64) -> npt.NDArray[np.float64]:
        """Return the lowest level in each window [start, end), the one it begins with included; NaN where unknown."""
        if not len(self.ts):
            return np.full(len(start), np.nan)
        first = np.searchsorted(self.ts, start, side="right") - 1
        last = np.searchsorted(self.ts, end, side="left")
        lows = np.full(len(start), np.nan)
        for at, (low, high) in enumerate(zip(np.maximum(first, 0).tolist(), last.tolist(), strict=True)):
            if high > low:
                lows[at] = float(self.allocated[low:high].min())
        return lows

    def level(self, moment: Int64) -> Int64:
        """Return the level at each moment; before the first one, that one."""
        at = np.maximum(np.searchsorted(self.ts, moment, side="right") - 1, 0)
        return self.allocated[at]


def memory_curves(db: DuckDBPyConnection) -> list[MemoryCurve]:
    """Return every curve of allocated memory, by profile and component.

    Sampled curves first; in a profile without any, those of its allocation events per device; in one without either,
    the resident memory of the process. One sample is a level and no curve: beside it, the events of its device count.

    Args:
        db: A connection with the tables `memory_sample`, `memory_event`, `counter`.
    """
    rows = db.execute(
        f"""
        with {ENDS},
        sampled as (
            select profile_id, rank, component, 'curve' as source, ts_ns, allocated_bytes as bytes, 0 as place
            from memory_sample
            where allocated_bytes is not null
            qualify count(*) over (partition by profile_id, component) > 1
        ),
        events as (
            select profile_id, rank, coalesce(device, 'device') as component, ts_ns, allocated_bytes,
                   sum(case kind when 'alloc' then size_bytes else -size_bytes end) over (
                       partition by profile_id, device order by ts_ns, kind desc, address
                       rows between unbounded preceding and current row)::bigint as running_bytes,
                   count(allocated_bytes) over (partition by profile_id, device) > 0 as has_totals,
                   row_number() over (partition by profile_id, device order by ts_ns, kind desc, address) as place
            from memory_event
            where kind in ('alloc', 'free')
              and (profile_id not in (select profile_id from sampled)
                   or (profile_id, coalesce(device, 'device')) in (select (profile_id, component) from ends))
        ),
        resident as (
            select profile_id, rank, $process as component, 'curve' as source, ts_ns, value::bigint as bytes, 0 as
            place from counter where name = $resident and value between 0 and 1e18
              and profile_id not in (select profile_id from sampled union all select profile_id from events)
        )
        select * from sampled
        union all
        select profile_id, rank, component, case when has_totals then 'totals' else 'events' end, ts_ns,
               case when has_totals then allocated_bytes else running_bytes end, place
        from events
        where not has_totals or allocated_bytes is not null
        union all
        select * from resident
        order by profile_id, component, ts_ns, place, bytes
        """,
        {"resident": RESIDENT_COUNTER, "process": PROCESS},
    ).fetchnumpy()
    return [_curve(rows, part) for part in _runs(rows)]


def _runs(rows: dict[str, Any]) -> list[slice]:
    profile, component = np.asarray(rows["profile_id"]), np.asarray(rows["component"], object)
    if not len(profile):
        return []
    cuts = np.flatnonzero((profile[1:] != profile[:-1]) | (component[1:] != component[:-1])) + 1
    bounds = [0, *cuts.tolist(), len(profile)]
    return [slice(bounds[at], bounds[at + 1]) for at in range(len(bounds) - 1)]


def _curve(rows: dict[str, Any], part: slice) -> MemoryCurve:
    rank = rows["rank"][part.start]
    return MemoryCurve(
        profile_id=int(rows["profile_id"][part.start]),
        rank=None if rank is np.ma.masked else int(rank),
        component=str(rows["component"][part.start]),
        source=str(rows["source"][part.start]),
        ts=np.asarray(rows["ts_ns"][part], np.int64),
        allocated=np.asarray(rows["bytes"][part], np.int64),
    )
