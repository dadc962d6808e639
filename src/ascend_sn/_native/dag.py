"""Longest paths over a directed graph without cycles: when each node can start, and what it waited for."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ascend_sn._native import _core

__all__ = ["Schedule", "longest_path"]


class Schedule(NamedTuple):
    """Earliest times of each node.

    Attributes:
        start: The latest arrival over its incoming edges, at least 0; ns.
        end: start + duration, ns.
        critical_pred: The node whose edge arrived last, the first of equal ones; -1 where no edge set the start.
    """

    start: NDArray[np.int64]
    end: NDArray[np.int64]
    critical_pred: NDArray[np.int64]


def longest_path(node_dur: ArrayLike, edge_src: ArrayLike, edge_dst: ArrayLike, edge_weight: ArrayLike) -> Schedule:
    """Start every node as early as its predecessors allow.

    Args:
        node_dur: Duration of each node, int64 ns. Nodes are in topological order.
        edge_src: Node that an edge comes from; smaller than `edge_dst`.
        edge_dst: Node that an edge leads to. Edges may come in any order; sorted by this is quicker.
        edge_weight: int64 ns between the end of the one and the start of the other; may be negative.

    Raises:
        ValueError: An edge leads backwards, to itself, or to a node that does not exist.
    """
    durs, src, dst, weight = (
        np.ascontiguousarray(values, np.int64) for values in (node_dur, edge_src, edge_dst, edge_weight)
    )
    if not _core.is_sorted(dst):
        order = np.empty(len(dst), np.int64)
        _core.order(dst, order)
        src, dst, weight = src[order], dst[order], weight[order]
    found = Schedule(np.empty_like(durs), np.empty_like(durs), np.empty_like(durs))
    if not _core.longest_path(durs, src, dst, weight, found.start, found.end, found.critical_pred):
        raise ValueError("an edge does not lead from a node to a later one")
    return found
