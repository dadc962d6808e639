"""Transformations of the host: W8 graph mode, W11 without synchronisation, W15 without garbage collection."""

from __future__ import annotations

from typing import Final

import numpy as np

from ascend_sn.model.rows import Int64
from ascend_sn.replay.edits import Edit, Scale, ScaleEdges, Unblock
from ascend_sn.replay.graph import EdgeKind, NodeKind, StepGraph, TimeClass
from ascend_sn.replay.prices import Bound, Remark, Transform, Unpriced
from ascend_sn.replay.selectors import Where, host_nodes

__all__ = ["gc_removed", "launches_removed", "syncs_removed"]

REMOVED_RATIOS: Final = (0.5, 0.8, 1.0)
"""Share of the launching time that a captured graph saves: low, expected, high."""

LATENCY_RATIO: Final = 0.1
"""Launch latency inside a captured graph, in units of the least one."""

KEPT_EVERY: Final = 50
"""Steps of which one still synchronises or collects in the low case."""

_CAPTURED: Final = (TimeClass.HOST, TimeClass.LAUNCH)


def launches_removed(graph: StepGraph, where: Where | None = None) -> Transform | Unpriced:
    """W8: the work of a region is launched as one graph: its operators and launch calls cost the host nothing.

    Time between slices, synchronisation, allocation and data loading stay.

    Args:
        graph: The replayed step.
        where: The region; by default the phases forward, backward and optimizer.
    """
    region = Where(phases=("forward", "backward", "optimizer")) if where is None else where
    nodes = graph.nodes
    inside = region.mask(graph)
    host = np.flatnonzero(
        inside
        & (nodes.kind == NodeKind.HOST)
        & np.isin(nodes.time_class, np.array(_CAPTURED, np.uint8))
        & (nodes.task >= 0)
    )
    kernels = np.flatnonzero(inside & (nodes.kind == NodeKind.KERNEL))
    if not len(host) or not len(kernels):
        return Unpriced(Remark("replay.no-launches"))

    def at(ratio: float) -> Bound:
        return Bound((Scale(host, 1.0 - ratio), ScaleEdges(kernels, EdgeKind.LAUNCH, LATENCY_RATIO)))

    return Transform.of("W8", (at(ratio) for ratio in REMOVED_RATIOS))


def syncs_removed(graph: StepGraph, where: Where, *, kept_every: int = KEPT_EVERY) -> Transform | Unpriced:
    """W11: blocking calls no longer wait; in the low case one step of `kept_every` keeps them.

    Args:
        graph: The replayed step.
        where: The calls, for instance by name.
        kept_every: Steps of which one keeps them in the low case.
    """
    chosen = np.flatnonzero(where.mask(graph) & host_nodes(graph))
    edges = graph.edges
    if not bool(np.isin(edges.dst[edges.kind == EdgeKind.BLOCKING], chosen).any()):
        return Unpriced(Remark("replay.no-blocking-calls"))
    edits: tuple[Edit, ...] = (Unblock(chosen),)
    return Transform("W11", Bound(edits, share_ratio=1 - 1 / kept_every), Bound(edits), Bound(edits))


def gc_removed(graph: StepGraph, *, kept_every: int = KEPT_EVERY) -> Transform | Unpriced:
    """W15: no garbage collection within the step; one step of `kept_every` keeps it, none in the high case."""
    chosen: Int64 = np.flatnonzero((graph.nodes.kind == NodeKind.HOST) & (graph.nodes.time_class == TimeClass.GC))
    if not len(chosen):
        return Unpriced(Remark("replay.no-gc"))
    edits: tuple[Edit, ...] = (Scale(chosen, 0.0),)
    kept = Bound(edits, share_ratio=1 - 1 / kept_every)
    return Transform("W15", kept, kept, Bound(edits))
