"""Collectives as meeting points: when all present ranks have arrived, how long the bytes move, what is left.

Members of a group that are not among the replayed profiles cannot be seen arriving; what the collective
waits for them is a typed residual, never a price.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from statistics import median_low
from typing import Final

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection
from msgspec.structs import replace

from ascend_sn.analysis.ranks.pipeline_stages import PIPELINE_KIND
from ascend_sn.model.kinds import HOST_KINDS, UNKNOWN_OPERATION
from ascend_sn.replay.choose import Window
from ascend_sn.replay.graph import NO_TASK, Collective, Residual
from ascend_sn.replay.point_to_point import BATCHED, ONE_WAY, Message, pairs_of
from ascend_sn.replay.tasks import SourceTable, Tasks

__all__ = ["Call", "Meeting", "meetings"]


class Call(msgspec.Struct, frozen=True):
    """Part of one rank in a collective: its task (a kernel, or an operator on a host capture), aligned times, ns."""

    profile: int
    task: int
    start: int
    end: int
    transit_ns: int | None


class Meeting(msgspec.Struct, frozen=True):
    """A collective among the present ranks.

    `transit_start` and `transit_ns` are of the common part; `residual` types what lies between the last arrival
    and its start. `is_consistent` is false for a call whose ranks did not meet: it ended on one before another
    came.
    """

    calls: tuple[Call, ...]
    collective: Collective
    transit_start: int
    transit_ns: int
    residual: Residual
    is_consistent: bool


class _Row(msgspec.Struct, frozen=True):
    """A call; `pair_in` is the communicator of one that meets a single other member, `place` the own one there."""

    call: Call
    collective: Collective
    key: tuple[str, int, str] | None
    is_exact: bool
    pair_in: str | None
    place: int | None


_CALLS: Final = """
    with groups as (
        select group_id, max(group_size) as group_size, bool_and(size_is_exact) as size_is_exact,
               max(kind) as group_kind,
               min(group_rank) filter (where profile_id = $profile and member_rank = $rank) as place
        from comm_group_member
        group by group_id
    )
    select collective.kernel_id, kernel.operator_id, collective.op, collective.group_id, collective.sequence,
           collective.size_bytes, collective.dtype, collective.transit_ns, groups.group_size, groups.size_is_exact,
           group_kind, place
    from collective
    join kernel using (profile_id, kernel_id)
    left join groups on groups.group_id = collective.group_id
    where collective.profile_id = $profile and collective.ts_ns >= $from and collective.ts_ns < $to
    order by collective.ts_ns, collective.collective_id
"""


def meetings(
    db: DuckDBPyConnection, windows: Sequence[Window], tasks: Sequence[Tasks], origin_ns: int
) -> list[Meeting]:
    """Match the collectives of the replayed profiles.

    Args:
        db: A connection with the tables `collective`, `kernel`, `comm_group_member`.
        windows: The replayed windows.
        tasks: Tasks of each, with aligned times.
        origin_ns: Moment that is 0 in them, in the clock of the first profile.
    """
    rows: list[_Row] = []
    for profile, (window, mine) in enumerate(zip(windows, tasks, strict=True)):
        rows += _rows(db, window, profile, mine, origin_ns)
    together: dict[tuple[str, int, str], list[_Row]] = defaultdict(list)
    in_pairs: dict[str, list[_Row]] = defaultdict(list)
    alone: list[_Row] = []
    for row in rows:
        if row.pair_in is not None:
            in_pairs[row.pair_in].append(row)
        elif row.key is None:
            alone.append(row)
        else:
            together[row.key].append(row)
    found = [_met([row]) for row in alone]
    for messages in in_pairs.values():
        found += _met_in_pairs(messages)
    for members in together.values():
        if len({row.call.profile for row in members}) == len(members) and _overlap(members):
            found.append(_met(members))
        else:
            found += [_met([row], is_consistent=len(members) == 1) for row in members]
    return found


def _rows(db: DuckDBPyConnection, window: Window, profile: int, tasks: Tasks, origin_ns: int) -> list[_Row]:
    """Return the collectives of one profile whose task is part of the replay."""
    on_host = window.device_kind in HOST_KINDS
    usable = (tasks.table == (SourceTable.OPERATOR if on_host else SourceTable.KERNEL)) & ~tasks.carried
    base = origin_ns + window.offset_ns
    if on_host:  # a call that the window cuts cannot be waited for as a whole
        usable &= (tasks.start + base >= window.start_ns) & (tasks.end + base <= window.end_ns)
    at = np.flatnonzero(usable)
    if not len(at):
        return []
    by_id = {int(row): int(task) for row, task in zip(tasks.row_id[at], at, strict=True)}
    span = {
        "profile": window.profile_id,
        "rank": window.rank,
        "from": int(tasks.start[at].min()) + base,
        "to": int(tasks.end[at].max()) + base,
    }
    rows = []
    for kernel, operator, op, group, number, size, dtype, transit, members, exact, kind, place in db.execute(
        _CALLS, span
    ).fetchall():
        task = by_id.get(operator if on_host else kernel, NO_TASK)
        if task == NO_TASK:
            continue
        start, end = int(tasks.start[task]), int(tasks.end[task])
        known = transit is not None and transit <= end - start
        in_pair = group is not None and (op in ONE_WAY or (op in BATCHED and kind == PIPELINE_KIND))
        # What an unknown operation met cannot be told: it may be a send, whose number is another's elsewhere.
        told = group is not None and number is not None and op != UNKNOWN_OPERATION
        key = (group, number, op or "") if told else None
        rows.append(
            _Row(
                Call(profile, task, start, end, transit if known else None),
                Collective(op or "", group, kind, size, dtype, members, known),
                key,
                bool(exact),
                group if in_pair else None,
                place,
            )
        )
    return rows


def _met_in_pairs(rows: list[_Row]) -> list[Meeting]:
    """Let every send of a communicator meet its receive; the far end of what is left is not among the replayed."""
    messages = [
        Message(row.call.profile, row.place, row.collective.op, row.call.start, row.call.end, row.collective.size_bytes)
        for row in rows
    ]
    pairs = pairs_of(messages, rows[0].collective.group_size)
    # Whatever the size of the communicator, these are two.
    rows = [replace(row, collective=replace(row.collective, group_size=2), is_exact=True) for row in rows]
    paired = {at for pair in pairs for at in pair}
    found = [_met([rows[source], rows[target]]) for source, target in pairs]
    return found + [_met([row]) for at, row in enumerate(rows) if at not in paired]


def _overlap(members: list[_Row]) -> bool:
    return max(row.call.start for row in members) <= min(row.call.end for row in members)


def _met(members: list[_Row], *, is_consistent: bool = True) -> Meeting:
    """Divide the common part of a call, from the last arrival to the first end, into waiting and transit.

    Recorded transit lies at its end. Without a record all of it is transit where every member is present, and
    an unknown mixture where not.
    """
    first = members[0]
    latest, earliest = max(row.call.start for row in members), min(row.call.end for row in members)
    expected = first.collective.group_size
    complete = is_consistent and first.is_exact and expected == len(members)
    recorded = [row.call.transit_ns for row in members if row.call.transit_ns is not None]
    common = earliest - latest
    transit = min(common, median_low(recorded)) if recorded else common
    known = bool(recorded) or (complete and len(members) > 1)
    return Meeting(
        calls=tuple(row.call for row in members),
        collective=replace(first.collective, transit_known=known),
        transit_start=earliest - transit,
        transit_ns=transit,
        residual=Residual.IDLE if complete else Residual.MEMBERS_ABSENT,
        is_consistent=is_consistent,
    )
