"""Transformations of the host: W8 graph mode, W11 without synchronisation, W15 without garbage collection.

Beside them, without what the program itself does between its operators.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ascend_sn._native.intervals import intersect, subtract, union, union_length
from ascend_sn.model.rows import Int64
from ascend_sn.replay.edits import Edit, Scale, ScaleEdges, SetDur, Unblock
from ascend_sn.replay.graph import NO_TASK, EdgeKind, NodeKind, StepGraph, TimeClass
from ascend_sn.replay.prices import Bound, Remark, Transform, Unpriced
from ascend_sn.replay.selectors import Where, host_nodes

__all__ = ["gc_removed", "launches_removed", "silence_removed", "syncs_removed"]

REMOVED_RATIOS: Final = (0.5, 0.8, 1.0)
"""Share of the launching time that a captured graph saves: low, expected, high."""

LATENCY_RATIO: Final = 0.1
"""Launch latency inside a captured graph, in units of the least one."""

KEPT_EVERY: Final = 50
"""Steps of which one still synchronises or collects in the low case."""

KEPT_SILENCE_RATIO: Final = 0.5
"""Share of what the program does between its operators that stays in the low case."""

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


def silence_removed(graph: StepGraph, profile_id: int, at_least_ns: int, *, edges: bool = True) -> Transform | Unpriced:
    """Take out the long stretches in which no thread of a profile has a recorded slice; half stays in the low case.

    Args:
        graph: The replayed step.
        profile_id: The profile.
        at_least_ns: Shorter stretches stay: they are the program on its way from one operator to the next.
        edges: Whether stretches at the begin and the end of the step count.
    """
    nodes = graph.nodes
    if profile_id not in graph.profile_ids:
        return Unpriced(Remark("replay.no-silence"))
    profile, tasks = graph.profile_ids.index(profile_id), graph.tasks
    recorded = np.flatnonzero(~tasks.is_device & (tasks.profile == profile))
    if not len(recorded):
        return Unpriced(Remark("replay.no-silence"))
    busy = union(tasks.start[recorded], tasks.end[recorded])
    between = (nodes.kind == NodeKind.HOST) & (nodes.task == NO_TASK) & (nodes.kernel == NO_TASK)
    quiet = np.flatnonzero(
        between & (nodes.profile == profile) & (nodes.time_class == TimeClass.HOST) & (nodes.dur > 0)
    )
    ends = nodes.start + nodes.dur
    silent = subtract(*union(nodes.start[quiet], ends[quiet]), *busy)
    long = silent[1] - silent[0] >= at_least_ns
    if not edges:
        long &= (silent[0] >= busy[0][0]) & (silent[1] <= busy[1][-1])
    gone_ns = [
        union_length(*intersect([start], [end], silent[0][long], silent[1][long]))
        for start, end in zip(nodes.start[quiet].tolist(), ends[quiet].tolist(), strict=True)
    ]
    lost = np.array(gone_ns, np.int64)
    chosen, lost = quiet[lost > 0], lost[lost > 0]
    if not len(chosen):
        return Unpriced(Remark("replay.no-silence"))
    left = nodes.dur[chosen] - lost
    half = left + np.rint(lost * KEPT_SILENCE_RATIO).astype(np.int64)
    gone = Bound((SetDur(chosen, left),))
    return Transform("remove", Bound((SetDur(chosen, half),)), gone, gone)
