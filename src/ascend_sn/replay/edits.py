"""Edits of a graph: what would be different.

Each changes a draft. Nodes are chosen by a `Where` or given as positions. Edits of one list are made one after
another; one that sets a duration never brings back time that an earlier one took away, unless it says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn.model.rows import Int64
from ascend_sn.replay.engine import Draft
from ascend_sn.replay.graph import NO_TASK, EdgeKind, NodeKind
from ascend_sn.replay.selectors import Where
from ascend_sn.replay.tasks import SourceTable

__all__ = [
    "Edit",
    "Insert",
    "Lengthen",
    "Merge",
    "MoveStream",
    "Nodes",
    "Remove",
    "RetargetDep",
    "Scale",
    "ScaleEdges",
    "SetDur",
    "Unblock",
    "positions",
]

Nodes = Where | Sequence[int] | npt.NDArray[np.int64]
"""Nodes by condition, or by their position in the graph."""


class Edit(Protocol):
    """A change of a draft."""

    def apply(self, draft: Draft) -> None:
        """Make the change."""


def positions(nodes: Nodes, draft: Draft) -> Int64:
    """Return the positions of nodes."""
    if isinstance(nodes, Where):
        return np.flatnonzero(nodes.mask(draft.graph)).astype(np.int64)
    return np.asarray(nodes, np.int64)


class Scale(msgspec.Struct, frozen=True, eq=False):
    """Multiply durations by a factor, or each by its own."""

    nodes: Nodes
    factor: float | npt.NDArray[np.float64]

    def apply(self, draft: Draft) -> None:
        """Make the change; durations are rounded to ns."""
        at = positions(self.nodes, draft)
        draft.dur[at] = np.rint(draft.dur[at] * self.factor).astype(np.int64)


class SetDur(msgspec.Struct, frozen=True, eq=False):
    """Give nodes a duration, one for all or each its own, ns; shorter ones stay unless `raises` is set."""

    nodes: Nodes
    dur_ns: int | Int64
    raises: bool = False

    def apply(self, draft: Draft) -> None:
        """Make the change."""
        at = positions(self.nodes, draft)
        wanted = np.maximum(np.asarray(self.dur_ns, np.int64), 0)
        draft.dur[at] = wanted if self.raises else np.minimum(draft.dur[at], wanted)


class Lengthen(msgspec.Struct, frozen=True, eq=False):
    """Add to durations, ns."""

    nodes: Nodes
    by_ns: int

    def apply(self, draft: Draft) -> None:
        """Make the change."""
        draft.dur[positions(self.nodes, draft)] += self.by_ns


class Remove(msgspec.Struct, frozen=True, eq=False):
    """Take work out: no duration, no late start, no launch. What came before it still comes before what follows.

    With `launches`, the host calls and operators that launched nothing else are gone, too.
    """

    nodes: Nodes
    launches: bool = True

    def apply(self, draft: Draft) -> None:
        """Make the change."""
        at = positions(self.nodes, draft)
        draft.dur[at] = 0
        draft.residual[at] = 0
        gone = np.zeros(len(draft.dur), np.bool_)
        gone[at] = True
        if self.launches:
            _without_launches(draft, at, gone)
        draft.drop_edges((draft.kind == EdgeKind.LAUNCH) & gone[draft.dst])
        draft.weight[(draft.kind == EdgeKind.STREAM_ORDER) & gone[draft.dst]] = 0


class Merge(msgspec.Struct, frozen=True, eq=False):
    """Make one task of several on a stream: the first one, with the new duration, ns; the host launches it once.

    What else the other parts wait for still holds what follows them.
    """

    nodes: Sequence[int] | Int64
    dur_ns: int

    def apply(self, draft: Draft) -> None:
        """Make the change; together the parts are never longer than before."""
        at = np.sort(np.asarray(self.nodes, np.int64))
        before = int(draft.dur[at].sum())
        Remove(at[1:]).apply(draft)
        draft.dur[at[0]] = min(before, max(self.dur_ns, 0))


class RetargetDep(msgspec.Struct, frozen=True, eq=False):
    """Let a node wait for another one instead: edges of the given kinds to it go, one from the new node comes.

    With `old`, only the edges from there go. The node is no longer late for reasons that nothing explains.
    """

    node: int
    new: int
    kinds: Sequence[EdgeKind] = (EdgeKind.EVENT, EdgeKind.LAUNCH)
    old: int | None = None

    def apply(self, draft: Draft) -> None:
        """Make the change.

        Raises:
            ValueError: The new node is not earlier.
        """
        dropped = (draft.dst == self.node) & np.isin(draft.kind, np.array(self.kinds, np.uint8))
        if self.old is not None:
            dropped &= draft.src == self.old
        draft.drop_edges(dropped)
        draft.add_edges(np.array([self.new]), np.array([self.node]), 0, EdgeKind.EVENT)


class MoveStream(msgspec.Struct, frozen=True, eq=False):
    """Move tasks to a stream of their own, in their order; their old neighbours close up.

    What followed one of them on its old stream still waits for it. With `ahead`, they were asked for in the
    step before: nothing holds them but their own order.
    """

    nodes: Nodes
    ahead: bool = False

    def apply(self, draft: Draft) -> None:
        """Make the change."""
        at = np.sort(positions(self.nodes, draft))
        moved = np.zeros(len(draft.dur), np.bool_)
        moved[at] = True
        order = np.flatnonzero(draft.alive & (draft.kind == EdgeKind.STREAM_ORDER))
        before = dict(zip(draft.dst[order].tolist(), draft.src[order].tolist(), strict=True))
        followers = [(target, source) for target, source in before.items() if moved[source] and not moved[target]]
        draft.drop_edges((draft.kind == EdgeKind.STREAM_ORDER) & (moved[draft.src] | moved[draft.dst]))
        for target, last in followers:
            source: int | None = last
            while source is not None and moved[source]:
                source = before.get(source)
            draft.add_edges(np.array([last]), np.array([target]), 0, EdgeKind.EVENT)
            if source is not None:
                draft.add_edges(np.array([source]), np.array([target]), 0, EdgeKind.STREAM_ORDER)
        if self.ahead:
            draft.drop_edges(moved[draft.dst])
            draft.residual[at] = 0
        if len(at) > 1:
            draft.add_edges(at[:-1], at[1:], 0, EdgeKind.STREAM_ORDER)


class Insert(msgspec.Struct, frozen=True, eq=False):
    """Put new work between two nodes, ns."""

    dur_ns: int
    after: int
    before: int

    def apply(self, draft: Draft) -> None:
        """Make the change."""
        node = draft.add_node(max(self.dur_ns, 0), self.after)
        draft.add_edges(np.array([self.after]), np.array([node]), 0, EdgeKind.DATA)
        draft.add_edges(np.array([node]), np.array([self.before]), 0, EdgeKind.DATA)


class Unblock(msgspec.Struct, frozen=True, eq=False):
    """Let host stretches no longer wait for the device, and take out what is left of the calls.

    With `only`, they no longer wait for those tasks, and the rest of the calls stays.
    """

    nodes: Nodes
    only: Nodes | None = None

    def apply(self, draft: Draft) -> None:
        """Make the change."""
        at = positions(self.nodes, draft)
        freed = np.zeros(len(draft.dur), np.bool_)
        freed[at] = True
        dropped = freed[draft.dst] & (draft.kind == EdgeKind.BLOCKING)
        if self.only is None:
            draft.dur[at] = 0
            draft.residual[at] = 0
        else:
            dropped &= np.isin(draft.src, positions(self.only, draft))
        draft.drop_edges(dropped)


class ScaleEdges(msgspec.Struct, frozen=True, eq=False):
    """Multiply the weights of the edges of a kind that lead to nodes."""

    nodes: Nodes
    kind: EdgeKind
    factor: float

    def apply(self, draft: Draft) -> None:
        """Make the change."""
        chosen = np.zeros(len(draft.dur), np.bool_)
        chosen[positions(self.nodes, draft)] = True
        at = np.flatnonzero((draft.kind == self.kind) & chosen[draft.dst])
        draft.weight[at] = np.rint(draft.weight[at] * self.factor).astype(np.int64)


def _without_launches(draft: Draft, at: Int64, gone: npt.NDArray[np.bool_]) -> None:
    """Take out the host time of calls and operators all of whose tasks are gone."""
    nodes, tasks = draft.graph.nodes, draft.graph.tasks
    kernel = nodes.kernel[at[at < len(nodes)]]
    kernel = kernel[kernel >= 0]
    # Another task of the same launcher or operator, still there, keeps it.
    device = np.flatnonzero(np.isin(nodes.kind, (NodeKind.KERNEL, NodeKind.ARRIVE)) & ~gone[: len(nodes)])
    kept = nodes.kernel[device]
    launchers = _only(tasks.launcher[kernel], tasks.launcher[kept])
    operators = _only(tasks.operator_id[kernel], tasks.operator_id[kept])
    if not len(launchers) and not len(operators):
        return
    host = np.flatnonzero((nodes.kind == NodeKind.HOST) & (nodes.kernel == NO_TASK))
    of = nodes.task[host]
    named = (of >= 0) & (tasks.table[of] == SourceTable.OPERATOR) & np.isin(tasks.operator_id[of], operators)
    draft.dur[host[named | np.isin(of, launchers)]] = 0


def _only(gone: Int64, kept: Int64) -> Int64:
    """Return the distinct numbers of what is gone that nothing kept has; negative ones are none."""
    found = np.unique(gone)
    only: Int64 = found[(found >= 0) & ~np.isin(found, kept)]
    return only
