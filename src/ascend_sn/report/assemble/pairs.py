"""Pairs of ranks: recorded traffic and waiting, completed by who came last in the collectives."""

from __future__ import annotations

import msgspec

from ascend_sn.advisor.facts import Facts
from ascend_sn.report.documents.communication import RankPair

__all__ = ["rank_pairs"]


class _Wait(msgspec.Struct):
    src_rank: int
    dst_rank: int
    mean_wait_ns: int


def rank_pairs(facts: Facts) -> list[RankPair]:
    """Return the pairs with traffic or waiting, by group, source and destination.

    The recorded waiting of a pair goes first; else one member of a collective waits for the one that came last.
    """
    waits = {(row.src_rank, row.dst_rank): row.mean_wait_ns for row in facts.rows("rank_waits", _Wait)}
    pairs = facts.rows("rank_pairs", RankPair)
    for pair in pairs:
        if pair.group_id is None:
            wait_ns = waits.pop((pair.src_rank, pair.dst_rank), None)
            pair.mean_wait_ns = wait_ns if pair.mean_wait_ns is None else pair.mean_wait_ns
    pairs += [
        RankPair(
            src_rank=src,
            dst_rank=dst,
            group_id=None,
            transports=None,
            size_bytes=None,
            bandwidth_bytes_per_s=None,
            bandwidth_ratio=None,
            bandwidth_reason="no-transfers",
            mean_wait_ns=wait_ns,
        )
        for (src, dst), wait_ns in waits.items()
    ]
    return sorted(pairs, key=lambda pair: (pair.group_id or "", pair.src_rank, pair.dst_rank))
