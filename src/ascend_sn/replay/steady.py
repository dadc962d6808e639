"""How long a step is once a change has lasted.

A replay begins with the devices as far behind as they were in the capture. Where a change lets the host run further
ahead (without a synchronisation), they begin the next step later, and what the host does before its first launch no
longer keeps them waiting. So the step is replayed again with the devices as far behind as the replay before left them,
until its length settles.

Nor do all ranks begin a step at the same time: one that has more to do behind the last meeting of a step begins the
next one later, and comes late to its first. So ranks begin the step again as much later or earlier as they ended it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ascend_sn.model.rows import Int64
from ascend_sn.replay.engine import Draft, Timing
from ascend_sn.replay.graph import EdgeKind, NodeKind, StepGraph, Streams

__all__ = ["steady_ns"]

MAX_REPLAYS: Final = 8
"""Steps that are replayed one after another at most."""

SETTLED_RATIO: Final = 0.001
"""Share of a step by which its length may still change."""


def steady_ns(draft: Draft) -> int:
    """Return the length of a step of a draft in the long run, ns.

    Nothing but the draft's own replay is taken where the devices fall no further behind than in the capture, and the
    ranks end the step as far apart.
    """
    timing = _begun_as_ended(draft)
    length = timing.makespan_ns
    streams = draft.graph.streams
    if streams is None:
        return length
    # The devices were that far behind at the end of the step in the capture, so they are at its begin.
    nodes = draft.graph.nodes
    ends = nodes.start + nodes.dur
    usual = np.maximum(streams.done_ns(nodes.start, ends) - streams.host_ns(nodes.start, ends), 0)
    added = 0
    for _ in range(MAX_REPLAYS):
        host = _host_ns(streams, draft, timing)
        more = np.maximum(streams.done_ns(timing.start, timing.end) - host - usual, 0)
        if length <= host or int(more.max()) <= SETTLED_RATIO * length:
            break
        if not added:
            added = len(draft.src)
            draft.add_edges(streams.begin, streams.first, 0, EdgeKind.WINDOW)
        draft.weight[added:] = streams.carried + more
        draft.weight[streams.edge] = draft.graph.edges.weight[streams.edge] - more
        timing = draft.timing()
        before, length = length, timing.makespan_ns
        if abs(before - length) <= SETTLED_RATIO * length:
            break
    return length


def _begun_as_ended(draft: Draft) -> Timing:
    """Return the replay in which the ranks begin the step as far apart as they end it."""
    timing = draft.timing()
    if len(draft.graph.profile_ids) < 2:
        return timing
    begins, ends = _windows(draft.graph, to_sink=False), _windows(draft.graph, to_sink=True)
    last = draft.graph.edges.src[ends]
    usual = Draft(draft.graph).timing().start[last]
    began = draft.weight[begins].copy()
    for _ in range(MAX_REPLAYS):
        later = began + timing.start[last] - usual
        later -= later.min()
        moved = np.abs(later - draft.weight[begins]).max()
        if int(moved) <= SETTLED_RATIO * timing.makespan_ns:
            break
        draft.weight[begins] = later
        draft.weight[ends] = -later
        before, timing = timing, draft.timing()
        if abs(before.makespan_ns - timing.makespan_ns) <= SETTLED_RATIO * timing.makespan_ns:
            break
    return timing


def _windows(graph: StepGraph, *, to_sink: bool) -> Int64:
    """Return the edges that let the windows begin, or those by which they end, by profile."""
    edges = graph.edges
    node = edges.src if to_sink else edges.dst
    far = edges.dst == graph.sink if to_sink else edges.src == 0
    found = np.flatnonzero((edges.kind == EdgeKind.WINDOW) & far & (graph.nodes.kind[node] == NodeKind.WINDOW))
    return found[np.argsort(graph.nodes.profile[node[found]], kind="stable")].astype(np.int64)


def _host_ns(streams: Streams, draft: Draft, timing: Timing) -> int:
    """Return how long the hosts need for the step, with the input that they wait for, ns."""
    return max(streams.host_ns(timing.start, timing.end), int(draft.dur[draft.graph.production]))
