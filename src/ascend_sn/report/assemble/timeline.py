"""The timeline of one step for the HTML report: slices that are too short to be seen are merged, and counted."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.median_step import MedianStep
from ascend_sn.report.documents.timeline import StepTimeline, TimelineLane, TimelineSlice

__all__ = ["capture_length", "timeline_of"]

_PROFILES: Final = 4
_LANES: Final = 12
"""Lanes of one kind and profile: those with most slices."""

_DEPTHS: Final = 4
_BUCKETS: Final = 1_500
"""A slice shorter than this part of the step is merged with those that start in the same part."""

_SLICES: Final = 12_000
"""Slices of the whole timeline; lanes are merged more coarsely until they fit."""

_COARSER: Final = (1, 3, 10, 30)

_WINDOW: Final = """
    select ts_ns, dur_ns
    from step
    where profile_id = $profile_id
      and (step_id = $step_id and $step is null or step = $step)
    order by ts_ns
    limit 1
"""
_WHOLE: Final = """
    select min(ts_ns) as ts_ns, max(ts_ns + dur_ns) - min(ts_ns) as dur_ns
    from kernel
    where profile_id = $profile_id and kind <> 'sync'
    having count(*) > 0
"""

# Each source gives lane, depth, name, kind, ts_ns, dur_ns of what lies in the window.
_SOURCES: Final[tuple[tuple[Literal["host", "device", "communication"], str], ...]] = (
    (
        "host",
        """
        select coalesce(thread, '?') as lane, depth, coalesce(name, '?') as name, phase as kind, ts_ns, dur_ns
        from operator
        where profile_id = $profile_id and depth < $depths
        """,
    ),
    (
        "device",
        """
        select coalesce(stream::varchar, '?') as lane, 0 as depth, coalesce(op_type, name, '?') as name, kind,
               ts_ns, dur_ns
        from kernel
        where profile_id = $profile_id and kind <> 'sync'
        """,
    ),
    (
        "communication",
        """
        select coalesce(group_id, '?') as lane, 0 as depth, coalesce(op, name, '?') as name, 'communication' as kind,
               ts_ns, dur_ns
        from collective
        where profile_id = $profile_id
        """,
    ),
)

_REDUCED: Final = """
    with shown as (
        {source}
    ),
    inside as (
        select lane, depth, name, coalesce(kind, 'other') as kind,
               greatest(ts_ns, $from_ns) as ts_ns,
               least(ts_ns + dur_ns, $to_ns) - greatest(ts_ns, $from_ns) as dur_ns
        from shown
        where ts_ns < $to_ns and ts_ns + dur_ns > $from_ns
    ),
    lanes as (
        select lane, count(*) as total_count
        from inside
        group by lane
        order by total_count desc, lane
        limit $lanes
    ),
    merged as (
        select lane, depth, total_count,
               case when dur_ns >= $shortest_ns then ts_ns else -1 - (ts_ns - $from_ns) // $shortest_ns end as place,
               arg_max(kind, dur_ns)         as kind,
               arg_max(name, dur_ns)         as name,
               min(ts_ns) - $from_ns         as start_ns,
               max(ts_ns + dur_ns) - min(ts_ns) as dur_ns,
               count(*)                      as slice_count,
               sum(dur_ns)::bigint           as busy_ns
        from inside
        join lanes using (lane)
        group by lane, depth, total_count, place
    )
    select lane, total_count, depth, name, kind, start_ns, dur_ns, slice_count, least(busy_ns, dur_ns) as busy_ns
    from merged
    order by total_count desc, lane, start_ns, depth
"""


_CAPTURE: Final = """
    with placed as (
        select profile_id, min(ts_ns) as start_ns, max(ts_ns + dur_ns) as end_ns from kernel group by profile_id
        union all
        select profile_id, min(ts_ns), max(ts_ns + dur_ns) from operator group by profile_id
        union all
        select profile_id, min(ts_ns), max(ts_ns + dur_ns) from step group by profile_id
    ),
    lengths as (
        select max(end_ns) - min(start_ns) as length_ns
        from placed
        group by profile_id
    )
    select max(length_ns) as length_ns
    from lengths
"""


class _Length(msgspec.Struct):
    length_ns: int | None


class _Window(msgspec.Struct):
    ts_ns: int
    dur_ns: int


class _Offset(msgspec.Struct):
    profile_id: int
    offset_ns: int | None
    error_ns: int | None
    method: str


class _Clock(NamedTuple):
    offset_ns: int
    error_ns: int | None
    is_known: bool


class _Row(msgspec.Struct):
    lane: str
    total_count: int
    depth: int
    name: str
    kind: str
    start_ns: int
    dur_ns: int
    slice_count: int
    busy_ns: int


def capture_length(facts: Facts) -> int | None:
    """Return the time from the first to the last record of the longest profile, ns; None where none has a time."""
    return facts.table_rows(_CAPTURE, _Length)[0].length_ns


def timeline_of(facts: Facts, steps: list[MedianStep]) -> StepTimeline | None:
    """Return one step of the ranks that lose most time to something else than compute.

    It is the median step of the rank that loses most, and the one of that number of the others; they stand on one clock
    where that is known, else each begins at the start of its own step. None where no kernel ran. Where no step is
    marked it is the whole capture.
    """
    shown = sorted(steps, key=lambda step: step.compute_ns - step.window_ns)[:_PROFILES]
    number = shown[0].step if shown else None
    windows = [(step, window) for step in shown for window in [_window(facts, step, number)] if window is not None]
    if not windows:
        return None
    clocks = _clocks(facts, windows)
    starts = {step.profile_id: window.ts_ns - clocks[step.profile_id].offset_ns for step, window in windows}
    origin_ns = min(starts.values())
    lanes: list[TimelineLane] = []
    for coarser in _COARSER:
        lanes = [
            lane
            for step, window in sorted(windows, key=lambda pair: (pair[0].rank is None, pair[0].rank or 0))
            for lane in _lanes(facts, step, window, starts[step.profile_id] - origin_ns, coarser)
        ]
        if sum(len(lane.slices) for lane in lanes) <= _SLICES:
            break
    first = windows[0][0]
    return StepTimeline(
        scope=first.scope,
        step=first.step,
        dur_ns=max(starts[step.profile_id] + window.dur_ns for step, window in windows) - origin_ns,
        profile_count=len(windows),
        is_aligned=all(clock.is_known for clock in clocks.values()),
        error_ns=max((clock.error_ns for clock in clocks.values() if clock.error_ns is not None), default=None),
        lanes=lanes,
    )


def _clocks(facts: Facts, windows: list[tuple[MedianStep, _Window]]) -> dict[int, _Clock]:
    """Return what to subtract from the times of each profile: its clock's offset, else the start of its step.

    Steps of one number that lie further apart than the first is long are not the same: they are not put on one clock.
    """
    known = {row.profile_id: row for row in facts.rows("clock_offsets", _Offset) if row.offset_ns is not None}
    own = {step.profile_id: _Clock(window.ts_ns, None, False) for step, window in windows}
    if not own.keys() <= known.keys():
        return own
    aligned = {
        profile_id: _Clock(row.offset_ns or 0, row.error_ns if row.method == "collectives" else None, True)
        for profile_id, row in known.items()
        if profile_id in own
    }
    starts = [window.ts_ns - aligned[step.profile_id].offset_ns for step, window in windows]
    return aligned if max(starts) - min(starts) <= windows[0][1].dur_ns else own


def _window(facts: Facts, step: MedianStep, number: int | None) -> _Window | None:
    if step.step_id is None:
        rows = facts.table_rows(_WHOLE, _Window, profile_id=step.profile_id)
    else:
        rows = facts.table_rows(_WINDOW, _Window, profile_id=step.profile_id, step_id=step.step_id, step=number)
    return rows[0] if rows and rows[0].dur_ns > 0 else None


def _lanes(facts: Facts, step: MedianStep, window: _Window, shift_ns: int, coarser: int) -> list[TimelineLane]:
    made: dict[tuple[str, str], TimelineLane] = {}
    for place, source in _SOURCES:
        rows = facts.table_rows(
            _REDUCED.format(source=source),
            _Row,
            profile_id=step.profile_id,
            from_ns=window.ts_ns,
            to_ns=window.ts_ns + window.dur_ns,
            shortest_ns=max(1, window.dur_ns * coarser // _BUCKETS),
            lanes=_LANES,
            **({"depths": _DEPTHS} if place == "host" else {}),
        )
        for row in rows:
            lane = made.setdefault(
                (place, row.lane),
                TimelineLane(
                    profile_id=step.profile_id, rank=step.rank, place=place, lane=row.lane,
                    slice_count=row.total_count, slices=[],
                ),
            )  # fmt: skip
            lane.slices.append(
                TimelineSlice(
                    name=row.name, kind=row.kind, depth=row.depth, start_ns=row.start_ns + shift_ns, dur_ns=row.dur_ns,
                    slice_count=row.slice_count, busy_ns=row.busy_ns,
                )
            )  # fmt: skip
    return list(made.values())
