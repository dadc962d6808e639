"""The absent member of a group that the present ones wait for, where their own waiting tasks name it."""

from __future__ import annotations

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.message import Message

__all__ = ["Awaited", "awaited_member"]

_MOST_RATIO = 0.5
"""Share of the communication time that has to be waiting for one member before it is named."""

_WAITED = """
    select group_id is null as is_rank, dst_rank as place, sum(mean_wait_ns * wait_calls)::bigint as wait_ns
    from result
    where wait_calls > 0 and dst_rank not in (select src_rank from result where wait_calls > 0)
    group by all
    order by wait_ns desc, place
    limit 1
"""

_ELAPSED = "select coalesce(sum(total_ns), 0)::bigint as total_ns from result"


class _Waited(msgspec.Struct):
    is_rank: bool
    place: int
    wait_ns: int


class _Elapsed(msgspec.Struct):
    total_ns: int


class Awaited(msgspec.Struct, frozen=True, kw_only=True):
    """`place` is a rank of the job, or, where `is_rank` is false, a place in the group.

    `wait_ns` is the waiting for it, `total_ns` the communication time; both are sums over the ranks in the capture.
    """

    place: int
    is_rank: bool
    wait_ns: int
    total_ns: int

    @property
    def member(self) -> Message:
        """The member in words."""
        return Message("member.rank" if self.is_rank else "member.place", {"place": self.place})


def awaited_member(facts: Facts) -> Awaited | None:
    """Return the absent member that most of the communication time is waiting for, by the tasks of those present.

    A waiting task says which member's signal it waits for (`rank_pairs`), also where that member was not captured.
    """
    if facts.missing("rank_pairs") is not None or facts.missing("communication_summary") is not None:
        return None
    waited = facts.query("rank_pairs", _WAITED, _Waited)
    total_ns = sum(row.total_ns for row in facts.query("communication_summary", _ELAPSED, _Elapsed))
    if not waited or not total_ns or waited[0].wait_ns < _MOST_RATIO * total_ns:
        return None
    # Tasks of several streams may wait at the same time.
    return Awaited(
        place=waited[0].place,
        is_rank=waited[0].is_rank,
        wait_ns=min(waited[0].wait_ns, total_ns),
        total_ns=total_ns,
    )
