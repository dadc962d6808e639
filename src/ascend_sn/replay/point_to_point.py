"""Which send belongs to which receive: the two carry different names and numbers.

Both end when the bytes have moved. So of the calls of neighbours in a communicator that ran at the same time and are of
one size, those that end closest to each other belong together, as long as what a rank sends to another one arrives in
the order in which it was sent.
"""

from __future__ import annotations

from bisect import bisect, insort
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

__all__ = ["BATCHED", "ONE_WAY", "Message", "pairs_of"]

ONE_WAY: Final = ("send", "receive")
"""Operations that have one direction."""

BATCHED: Final = ("sendrecv", "batchsendrecv")
"""Operations that may send and receive at once."""

TOGETHER_NS: Final = 100_000
"""By how much the ends of a send and its receive may differ (0.1 ms); clocks are aligned to within some 10 us."""


class Message(msgspec.Struct, frozen=True):
    """A call of one rank; `place` is that of the rank in the communicator, aligned times in ns."""

    profile: int
    place: int | None
    op: str
    start: int
    end: int
    size_bytes: int | None


def pairs_of(messages: Sequence[Message], members: int | None) -> list[tuple[int, int]]:
    """Pair the calls of a communicator.

    Args:
        messages: Calls of `ONE_WAY` and `BATCHED` operations.
        members: Ranks of the communicator; None where that is not known.

    Returns:
        Positions of two calls that belong together, the sender first; every call is in one pair at most.
    """
    found = _paired(messages, _with_op(messages, ONE_WAY[0]), _with_op(messages, ONE_WAY[1]), members)
    for op in BATCHED:
        batched = _with_op(messages, op)
        found += _paired(messages, batched, batched, members)
    return found


def _with_op(messages: Sequence[Message], op: str) -> list[int]:
    return [at for at, message in enumerate(messages) if message.op == op]


def _paired(
    messages: Sequence[Message], sources: list[int], targets: list[int], members: int | None
) -> list[tuple[int, int]]:
    candidates = sorted(
        (abs(messages[source].end - messages[target].end), messages[source].start, source, target)
        for source, target in _candidates(messages, sources, targets, members)
    )
    taken: set[int] = set()
    order: dict[tuple[int, int], list[tuple[int, int]]] = {}
    found = []
    for _, _, source, target in candidates:
        if source in taken or target in taken:
            continue
        way = order.setdefault((messages[source].profile, messages[target].profile), [])
        key = (messages[source].start, messages[target].start)
        at = bisect(way, key)
        if (at and way[at - 1][1] > key[1]) or (at < len(way) and way[at][1] < key[1]):
            continue
        insort(way, key)
        taken |= {source, target}
        found.append((source, target))
    return found


def _candidates(
    messages: Sequence[Message], sources: list[int], targets: list[int], members: int | None
) -> list[tuple[int, int]]:
    """Return the pairs of neighbours whose calls overlap, end together and are of one size."""
    if not sources or not targets:
        return []
    profile = np.array([message.profile for message in messages])
    place = np.array([-1 if message.place is None else message.place for message in messages])
    start, end = (np.array([getattr(message, name) for message in messages]) for name in ("start", "end"))
    size = np.array([-1 if message.size_bytes is None else message.size_bytes for message in messages])
    targets_of = np.array(targets)[np.argsort(end[targets], kind="stable")]
    found: list[tuple[int, int]] = []
    for source in sources:
        first, last = np.searchsorted(end[targets_of], (end[source] - TOGETHER_NS, end[source] + TOGETHER_NS + 1))
        near = targets_of[first:last]
        apart = np.abs(place[near] - place[source])
        beside = (apart == 1) | (place[near] < 0) | (place[source] < 0)
        if members is not None:
            beside |= apart == members - 1
        near = near[
            beside
            & (profile[near] != profile[source])
            & (start[near] <= end[source])
            & (end[near] >= start[source])
            & ((size[near] == size[source]) | (size[near] < 0) | (size[source] < 0))
        ]
        found += [(source, target) for target in near.tolist()]
    return found
