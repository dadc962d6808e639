"""Whom the members of a collective wait for who is not among the replayed: one that is still in another collective.

Of a large job only some ranks are replayed. That one of the others comes late to a collective cannot be seen; but where
it is a member of another collective, of which replayed ranks tell when it ended, it cannot have come before that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from duckdb import DuckDBPyConnection

from ascend_sn.model.kinds import UNMATCHED
from ascend_sn.replay.graph import Residual
from ascend_sn.replay.lanes import SCHEDULING_NS
from ascend_sn.replay.meetings import Meeting

__all__ = ["held_by", "members_of_groups"]


def members_of_groups(db: DuckDBPyConnection) -> dict[str, frozenset[int]]:
    """Return the known ranks of every communicator."""
    rows = db.execute("""
        select group_id, list(distinct member_rank)
        from comm_group_member
        where member_rank is not null
        group by group_id
    """).fetchall()
    return {group_id: frozenset(ranks) for group_id, ranks in rows}


def held_by(
    met: Sequence[Meeting], ranks: Sequence[int | None], members: Mapping[str, Collection[int]]
) -> list[tuple[int, int, int]]:
    """Find for meetings that wait for an absent member the one that still had it.

    That is the one which ends last of those with an absent member that end while the present ones wait. What the member
    does from there on until it comes stays as long as it is.

    Args:
        met: All meetings.
        ranks: Rank of each replayed profile.
        members: What `members_of_groups` returned.

    Returns:
        Positions of the earlier and of the later meeting, and the time between, ns.
    """
    known = [at for at, meeting in enumerate(met) if _group(meeting) in members]
    by_end = sorted(known, key=lambda at: (-_end(met[at]), at))
    found = []
    for at in known:
        waiting = met[at]
        last = max(call.start for call in waiting.calls)
        if waiting.residual != Residual.MEMBERS_ABSENT or waiting.transit_start - last <= SCHEDULING_NS:
            continue
        absent = frozenset(members[_group(waiting)]) - {ranks[call.profile] for call in waiting.calls}
        for before in by_end:
            end = _end(met[before])
            if end <= last:
                break
            if end <= waiting.transit_start and before != at and not absent.isdisjoint(members[_group(met[before])]):
                found.append((before, at, waiting.transit_start - end))
                break
    return found


def _group(meeting: Meeting) -> str:
    """The communicator of a call of all its members; empty where that is not known."""
    collective = meeting.collective
    of_all = meeting.is_consistent and collective.op not in UNMATCHED
    return collective.group_id or "" if of_all else ""


def _end(meeting: Meeting) -> int:
    return meeting.transit_start + meeting.transit_ns
