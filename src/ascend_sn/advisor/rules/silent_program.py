"""R-HOST-6 silent program: for a good part of the step the host records nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np

from ascend_sn._native.intervals import subtract, union
from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.finding import Evidence
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.rule import Claim, Context, Rule, TextPart
from ascend_sn.advisor.user_frame import user_frame
from ascend_sn.model.rows import Int64

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Stretch(msgspec.Struct):
    """A long stretch without a slice, or a mark of the user."""

    name: str
    start_ns: int
    end_ns: int
    kind: str | None = None


class _Slice(msgspec.Struct):
    """An outermost slice of a host thread."""

    name: str
    operator_id: int | None


class _Window(msgspec.Struct):
    ts_ns: int


class _Stack(msgspec.Struct):
    frames: str


class _Silence(msgspec.Struct):
    """The long stretches of a step in which no thread has a recorded slice, without what is marked as data loading.

    `edges` is false where one at an edge of the step is at an edge of the recording, too, and does not count.
    """

    step: MedianStep
    start: Int64
    end: Int64
    edges: bool

    @property
    def total_ns(self) -> int:
        return int((self.end - self.start).sum())


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank whose program is silent longest."""
    from_ns, from_ratio = int(context.limits["stretch_from_ns"]), context.limits["silent_from_ratio"]
    # Between the marks of a capture without operators nothing is recorded whatever the program does.
    steps = [step for step in context.steps if step.step_id is not None and step.device_kind != "host"]
    # What the device is not free for is no loss.
    likely = [step for step in steps if step.free_ns >= from_ratio * step.window_ns]
    likely = sorted(likely, key=lambda step: -step.free_ns)[: int(context.limits["look_at_rank_count"])]
    long_to_ratio = context.limits["long_to_ratio"]
    silences = [found for step in likely if (found := _silence(context, step, from_ns, long_to_ratio)) is not None]
    told = [found for found in silences if found.total_ns >= from_ratio * found.step.window_ns]
    if told:
        yield _claim(context, max(told, key=lambda found: found.total_ns), from_ns)


def _silence(context: Context, step: MedianStep, from_ns: int, long_to_ratio: float) -> _Silence | None:
    windows = context.facts.table_rows(_BEGIN, _Window, profile_id=step.profile_id, step_id=step.step_id)
    if not windows:
        return None
    begin_ns = windows[0].ts_ns
    place_in = {"profile_id": step.profile_id, "begin": begin_ns, "end": begin_ns + step.window_ns}
    between = context.facts.table_rows(_STRETCHES, _Stretch, **place_in, least=1)
    stretches = [one for one in between if one.end_ns - one.start_ns >= from_ns]
    # Where most of what lies between slices is long, only some of what the program runs is recorded.
    if not stretches or len(stretches) > long_to_ratio * len(between):
        return None
    loading = [one for one in context.facts.table_rows(_MARKS, _Stretch, **place_in) if one.kind == "data"]
    start, end = subtract(*_bounds(stretches), *union(*_bounds(loading)))
    long = end - start >= from_ns
    # Where nothing was recorded before or behind, the recording may not have run.
    known = np.array(
        [
            (since > begin_ns or _beside(context, step, _BEFORE, since, until) is not None)
            and (until < begin_ns + step.window_ns or _beside(context, step, _AFTER, since, until) is not None)
            for since, until in zip(start[long].tolist(), end[long].tolist(), strict=True)
        ],
        np.bool_,
    )
    return _Silence(step, start[long][known], end[long][known], bool(known.all()))


def _bounds(stretches: list[_Stretch]) -> tuple[Int64, Int64]:
    start, end = ([one.start_ns for one in stretches], [one.end_ns for one in stretches])
    return np.array(start, np.int64), np.array(end, np.int64)


def _claim(context: Context, found: _Silence, from_ns: int) -> Claim:
    step = found.step
    longest = int(np.argmax(found.end - found.start))
    start_ns, end_ns = int(found.start[longest]), int(found.end[longest])
    before, after = (_beside(context, step, query, start_ns, end_ns) for query in (_BEFORE, _AFTER))
    mark = _mark(context, step, start_ns, end_ns)
    texts: dict[TextPart, str] = {} if mark is None else {"message": "rule.r-host-6.message-mark"}
    sites = [_site(context, step, one) for one in (before, after)]
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "silent_ns": found.total_ns,
            "silent_ratio": found.total_ns / step.window_ns,
            "longest_ns": end_ns - start_ns,
            "before": _named(before, sites[0]),
            "after": _named(after, sites[1]),
            "mark": "" if mark is None else mark.name,
        },
        location=place(step, [one.name for one in (before, after) if one is not None], sites[0] or sites[1] or ""),
        evidence=(
            *figures(step, "operator", {"silent_ns": found.total_ns, "stretch_count": len(found.start)}),
            Evidence(
                name="longest_ns",
                value=end_ns - start_ns,
                source="operator",
                ranks=() if step.rank is None else (step.rank,),
                steps=() if step.step is None else (step.step,),
                start_ns=start_ns,
                end_ns=end_ns,
            ),
        ),
        changes=(partial(_removed, profile_id=step.profile_id, at_least_ns=from_ns, edges=found.edges),),
        at_stake_ns=found.total_ns,
        texts=texts,
    )


def _beside(context: Context, step: MedianStep, query: str, start_ns: int, end_ns: int) -> _Slice | None:
    rows = context.facts.table_rows(query, _Slice, profile_id=step.profile_id, begin=start_ns, end=end_ns)
    return rows[0] if rows else None


def _mark(context: Context, step: MedianStep, start_ns: int, end_ns: int) -> _Stretch | None:
    """Return the shortest mark that covers at least half of a stretch; marks of whole steps say nothing."""
    marks = context.facts.table_rows(_MARKS, _Stretch, profile_id=step.profile_id, begin=start_ns, end=end_ns)
    half = (end_ns - start_ns) / 2
    covering = [one for one in marks if min(one.end_ns, end_ns) - max(one.start_ns, start_ns) >= half]
    covering = [one for one in covering if one.end_ns - one.start_ns < step.window_ns]
    return min(covering, key=lambda one: one.end_ns - one.start_ns, default=None)


def _named(one: _Slice | None, site: str | None) -> str:
    assert one is not None  # a stretch at the edge of the recording is not told
    return one.name if site is None else f"{one.name} ({site})"


def _site(context: Context, step: MedianStep, one: _Slice | None) -> str | None:
    """Return the line of the user's program that called an operator, where call stacks were recorded."""
    if one is None or one.operator_id is None:
        return None
    rows = context.facts.table_rows(_FRAMES, _Stack, profile_id=step.profile_id, operator_id=one.operator_id)
    return user_frame(rows[0].frames) if rows else None


def _removed(graph: StepGraph, *, profile_id: int, at_least_ns: int, edges: bool) -> Transform | Unpriced:
    from ascend_sn.replay import silence_removed

    return silence_removed(graph, profile_id, at_least_ns, edges=edges)


_BEGIN: Final = "select ts_ns from step where profile_id = $profile_id and step_id = $step_id"

_SLICES: Final = """
    with slices as (
        select name, ts_ns as start_ns, ts_ns + dur_ns as end_ns, operator_id
        from operator
        where profile_id = $profile_id and coalesce(depth, 0) = 0 and dur_ns >= 0
        union all
        select name, ts_ns, ts_ns + dur_ns, null
        from host_call
        where profile_id = $profile_id and dur_ns >= 0
    )
"""
# A step in which no operator was recorded says nothing.
_STRETCHES: Final = f"""
    {_SLICES},
    within as (
        select start_ns, end_ns, operator_id from slices where start_ns < $end and end_ns > $begin
    ),
    bounded as (
        select start_ns, end_ns from within
        union all
        select $end, $end where (select count(operator_id) from within) > 0
    ),
    placed as (
        select coalesce(max(end_ns) over earlier, $begin) as idle_ns, start_ns
        from bounded
        window earlier as (order by start_ns, end_ns rows between unbounded preceding and 1 preceding)
    )
    select '' as name, idle_ns as start_ns, start_ns as end_ns
    from placed
    where start_ns - idle_ns >= $least and (select count(operator_id) from within) > 0
    order by start_ns
"""
_BEFORE: Final = f"""
    {_SLICES}
    select name, operator_id from slices where end_ns <= $begin and $end > $begin
    order by end_ns desc, start_ns, name limit 1
"""
_AFTER: Final = f"""
    {_SLICES}
    select name, operator_id from slices where start_ns >= $end and $end > $begin
    order by start_ns, end_ns desc, name limit 1
"""
_MARKS: Final = """
    select name, kind, ts_ns as start_ns, ts_ns + dur_ns as end_ns
    from span
    where profile_id = $profile_id and ts_ns < $end and ts_ns + dur_ns > $begin
      and coalesce(domain, '') not in ('request', 'request phase')
    order by ts_ns, dur_ns desc, name
"""

_FRAMES: Final = """
    select frames
    from operator
    join stack using (profile_id, stack_id)
    where profile_id = $profile_id and operator_id = $operator_id
"""

RULE = Rule("R-HOST-6", "silent-program", "host", "code", check, needs=("step_breakdown",))
