"""Replay: the times of a graph, as it is or with changes."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from ascend_sn._native.dag import longest_path
from ascend_sn.model.rows import Bool, Int64
from ascend_sn.replay.graph import EdgeKind, StepGraph

__all__ = ["Draft", "Timing", "replayed"]

_ADDED_ROOM: Final = 1 << 20
"""Distance between the ranks of two nodes of the graph, so that added ones fit between them."""


class Timing(msgspec.Struct, frozen=True):
    """Times of a replayed draft; positions are those of the graph, added nodes behind them.

    Attributes:
        start: ns.
        end: ns.
        before: The predecessor that each node had to wait for longest, -1 for the source.
        makespan_ns: When the sink starts.
    """

    start: Int64
    end: Int64
    before: Int64
    makespan_ns: int


class Draft:
    """A graph that edits may change: durations, residuals, edges, added nodes. The graph itself stays.

    With `guesses` off, a thread works where it is only guessed to wait for the device; without edits the times
    are the same.
    """

    def __init__(self, graph: StepGraph, *, guesses: bool = True) -> None:
        self.graph = graph
        self.dur: Int64 = graph.nodes.dur.copy()
        self.residual: Int64 = graph.residual.copy()
        self.src: Int64 = graph.edges.src.copy()
        self.dst: Int64 = graph.edges.dst.copy()
        self.weight: Int64 = graph.edges.weight.copy()
        self.kind = graph.edges.kind.copy()
        self.alive: Bool = np.ones(len(graph.edges), np.bool_)
        self.rank: Int64 = np.arange(len(graph.nodes), dtype=np.int64) * _ADDED_ROOM
        if not guesses and len(graph.guessed):
            self.dur[graph.guessed] = graph.guessed_ns
            self.alive &= ~((self.kind == EdgeKind.BLOCKING) & graph.edges.inferred)

    def drop_edges(self, chosen: Bool) -> None:
        """Take edges out."""
        self.alive &= ~chosen

    def add_edges(self, src: Int64, dst: Int64, weight: Int64 | int, kind: int) -> None:
        """Add edges; each must lead forward.

        Raises:
            ValueError: An edge that leads backward in time.
        """
        src, dst = np.atleast_1d(src).astype(np.int64), np.atleast_1d(dst).astype(np.int64)
        if bool((self.rank[src] >= self.rank[dst]).any()):
            raise ValueError("an edge must lead from an earlier to a later node")
        self.src, self.dst = np.append(self.src, src), np.append(self.dst, dst)
        self.weight = np.append(self.weight, np.broadcast_to(np.asarray(weight, np.int64), src.shape))
        self.kind = np.append(self.kind, np.full(len(src), kind, self.kind.dtype))
        self.alive = np.append(self.alive, np.ones(len(src), np.bool_))

    def add_node(self, dur: int, after: int) -> int:
        """Add a node behind another in the order, without edges; return its position."""
        self.dur, self.residual = np.append(self.dur, np.int64(dur)), np.append(self.residual, np.int64(0))
        taken = int(np.count_nonzero((self.rank > self.rank[after]) & (self.rank < self.rank[after] + _ADDED_ROOM)))
        self.rank = np.append(self.rank, self.rank[after] + taken + 1)
        return len(self.dur) - 1

    def timing(self, *, residuals: bool = True) -> Timing:
        """Replay the draft.

        Args:
            residuals: Whether the unexplained parts of starts are kept.
        """
        src, dst, weight = self.src, self.dst, self.weight
        if not bool(self.alive.all()):
            src, dst, weight = src[self.alive], dst[self.alive], weight[self.alive]
        if residuals:
            weight = weight + self.residual[dst]
        sink = self.graph.sink
        if len(self.dur) == len(self.graph.nodes):
            start, end, before = longest_path(self.dur, src, dst, weight)
            return Timing(start, end, before, int(start[sink]))
        order = np.argsort(self.rank, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        start, end, before = longest_path(self.dur[order], place[src], place[dst], weight)
        start, end, before = start[place], end[place], np.append(order, np.int64(-1))[before[place]]
        return Timing(start, end, before, int(start[sink]))


def replayed(graph: StepGraph) -> Timing:
    """Return the times of a graph without any edit."""
    return Draft(graph).timing()
