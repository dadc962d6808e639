"""The absent member of a group that the present ones wait for, where their own waiting tasks name it."""

from __future__ import annotations

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once
from ascend_sn.advisor.message import Message

__all__ = ["Awaited", "awaited_member"]

_MOST_RATIO = 0.5
"""Share of the communication time that has to be waiting for one member before it is named."""


class _Waits(msgspec.Struct):
    """What is wanted of a row of `rank_pairs`: how long its source waits for its destination."""

    group_id: str | None
    src_rank: int
    dst_rank: int
    wait_calls: int
    mean_wait_ns: int


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


@asked_once
def awaited_member(facts: Facts) -> Awaited | None:
    """Return the absent member that most of the communication time is waiting for, by the tasks of those present.

    A waiting task says which member's signal it waits for (`rank_pairs`), also where that member was not captured.
    """
    if facts.missing("rank_pairs") is not None or facts.missing("communication_summary") is not None:
        return None
    pairs = facts.rows("rank_pairs", _Waits, lambda row: row["wait_calls"])
    present = {pair.src_rank for pair in pairs}
    waits: dict[tuple[bool, int], int] = {}
    for pair in pairs:
        if pair.dst_rank not in present:
            member = (pair.group_id is None, pair.dst_rank)
            waits[member] = waits.get(member, 0) + pair.mean_wait_ns * pair.wait_calls
    total_ns = sum(row.total_ns for row in facts.rows("communication_summary", _Elapsed))
    if not waits or not total_ns:
        return None
    (is_rank, place), wait_ns = min(waits.items(), key=lambda item: (-item[1], item[0][1]))
    if wait_ns < _MOST_RATIO * total_ns:
        return None
    # Tasks of several streams may wait at the same time.
    return Awaited(
        place=place,
        is_rank=is_rank,
        wait_ns=min(wait_ns, total_ns),
        total_ns=total_ns,
    )
