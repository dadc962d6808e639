"""Nodes and edges while a graph grows: blocks of columns, numbered as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ascend_sn.model.rows import Int64
from ascend_sn.replay.graph import NO_TASK, EdgeKind, Edges, NodeKind, Nodes, TimeClass

__all__ = ["Parts"]

_NODE_TYPES: dict[str, Any] = {
    "kind": np.uint8,
    "time_class": np.uint8,
    "profile": np.int64,
    "start": np.int64,
    "dur": np.int64,
    "task": np.int64,
    "kernel": np.int64,
    "is_main": np.bool_,
}
_EDGE_TYPES: dict[str, Any] = {
    "src": np.int64,
    "dst": np.int64,
    "weight": np.int64,
    "kind": np.uint8,
    "inferred": np.bool_,
}


class Parts:
    """Collects nodes and edges; `nodes()` and `edges()` give what has come together."""

    def __init__(self) -> None:
        self._nodes: dict[str, list[Any]] = {name: [] for name in _NODE_TYPES}
        self._edges: dict[str, list[Any]] = {name: [] for name in _EDGE_TYPES}
        self.count = 0

    def add_nodes(
        self,
        kind: NodeKind | ArrayLike,
        *,
        profile: int,
        start: ArrayLike,
        dur: ArrayLike = 0,
        time_class: TimeClass | ArrayLike = TimeClass.HOST,
        task: ArrayLike = NO_TASK,
        kernel: ArrayLike = NO_TASK,
        is_main: ArrayLike = False,
    ) -> Int64:
        """Add nodes, one for each start; scalars hold for all. Return their numbers."""
        starts = np.atleast_1d(np.asarray(start, np.int64))
        given = {
            "kind": kind,
            "time_class": time_class,
            "profile": profile,
            "start": starts,
            "dur": dur,
            "task": task,
            "kernel": kernel,
            "is_main": is_main,
        }
        for name, type_ in _NODE_TYPES.items():
            self._nodes[name].append(np.broadcast_to(np.asarray(given[name], type_), starts.shape))
        first = self.count
        self.count += len(starts)
        return np.arange(first, self.count, dtype=np.int64)

    def add_edges(
        self, src: ArrayLike, dst: ArrayLike, kind: EdgeKind, weight: ArrayLike = 0, inferred: ArrayLike = False
    ) -> None:
        """Add edges; scalars hold for all."""
        shape = np.broadcast_shapes(np.shape(src), np.shape(dst), (1,))
        given = {"src": src, "dst": dst, "weight": weight, "kind": kind, "inferred": inferred}
        for name, type_ in _EDGE_TYPES.items():
            self._edges[name].append(np.broadcast_to(np.asarray(given[name], type_), shape))

    def nodes(self) -> Nodes:
        """Return all nodes by number."""
        return Nodes(**{name: np.concatenate(blocks) for name, blocks in self._nodes.items()})

    def edges(self) -> Edges:
        """Return all edges in the order in which they came."""
        return Edges(**{name: np.concatenate(blocks) for name, blocks in self._edges.items()})
