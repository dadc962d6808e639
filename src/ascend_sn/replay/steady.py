"""How long a step is once a change has lasted.

A replay begins with the devices as far behind as they were in the capture. Where a change lets the host run further
ahead (without a synchronisation), they begin the next step later, and what the host does before its first launch no
longer keeps them waiting. So the step is replayed again with the devices as far behind as the replay before left them,
until its length settles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from ascend_sn.model.rows import Int64
from ascend_sn.replay.engine import Draft, Timing
from ascend_sn.replay.graph import EdgeKind, NodeKind, StepGraph

__all__ = ["steady_ns"]

MAX_REPLAYS: Final = 8
"""Steps that are replayed one after another at most."""

SETTLED_RATIO: Final = 0.001
"""Share of a step by which its length may still change."""


def steady_ns(draft: Draft) -> int:
    """Return the length of a step of a draft in the long run, ns.

    Nothing but the draft's own replay is taken where the devices fall no further behind than in the capture.
    """
    timing = draft.timing()
    streams = _streams(draft.graph)
    if streams is None:
        return timing.makespan_ns
    # The devices were that far behind at the end of the step in the capture, so they are at its begin.
    observed = draft.graph.nodes.start + draft.graph.nodes.dur
    usual = np.maximum(streams.behind(draft.graph.nodes.start, observed), 0)
    length = timing.makespan_ns
    added = 0
    for _ in range(MAX_REPLAYS):
        more = np.maximum(streams.behind_of(draft, timing) - usual, 0)
        if length <= streams.host_ns(draft, timing) or int(more.max()) <= SETTLED_RATIO * length:
            break
        if not added:
            added = len(draft.src)
            draft.add_edges(streams.begin, streams.first, streams.carried + more, EdgeKind.WINDOW)
        draft.weight[added:] = streams.carried + more
        draft.weight[streams.edge] = draft.graph.edges.weight[streams.edge] - more
        timing = draft.timing()
        settled = abs(timing.makespan_ns - length) <= SETTLED_RATIO * length
        length = timing.makespan_ns
        if settled:
            break
    return length


@dataclass(frozen=True)
class _Streams:
    """The streams of all profiles.

    Attributes:
        begin: Node at which the window of each begins.
        first: Its first task of the step.
        last: Its last one.
        edge: Edge from there to the end of the window.
        carried: How long an earlier step still runs on it, ns.
        host_begin: Begin of the window of each profile with host threads.
        host_last: Last node of its main thread.
    """

    begin: Int64
    first: Int64
    last: Int64
    edge: Int64
    carried: Int64
    host_begin: Int64
    host_last: Int64

    def behind(self, start: Int64, end: Int64) -> Int64:
        """Return how long after the host of its step each stream is done, ns."""
        host = int((end[self.host_last] - start[self.host_begin]).max())
        late: Int64 = end[self.last] - start[self.begin] - host
        return late

    def behind_of(self, draft: Draft, timing: Timing) -> Int64:
        """Return the same of a replay; a host that waits for its input is done no earlier than that is."""
        host = self.host_ns(draft, timing)
        late: Int64 = timing.end[self.last] - timing.start[self.begin] - host
        return late

    def host_ns(self, draft: Draft, timing: Timing) -> int:
        """Return how long the hosts need for the step, with the input that they wait for, ns."""
        host = int((timing.end[self.host_last] - timing.start[self.host_begin]).max())
        return max(host, int(draft.dur[draft.graph.production]))


def _streams(graph: StepGraph) -> _Streams | None:
    """Find the streams; None on a capture without a device or without host threads."""
    nodes, edges, tasks = graph.nodes, graph.edges, graph.tasks
    of_window = (edges.kind == EdgeKind.WINDOW) & (nodes.kind[edges.dst] == NodeKind.WINDOW)
    ends = np.flatnonzero(of_window & (edges.src > 0))
    on_host = np.isin(nodes.kind[edges.src[ends]], (NodeKind.HOST, NodeKind.BLOCKED))
    of_device, of_host = ends[~on_host], ends[on_host]
    if not len(of_device) or not len(of_host):
        return None
    begins = edges.dst[of_window & (edges.src == 0)]
    begin_of = np.zeros(len(graph.profile_ids), np.int64)
    begin_of[nodes.profile[begins]] = begins
    width = len(tasks.lane.values) + 1
    lane = nodes.profile * width + np.append(tasks.lane.codes, np.int32(-1))[nodes.kernel]
    last = edges.src[of_device]
    first = np.empty_like(last)
    carried = np.zeros(len(last), np.int64)
    tasked = np.flatnonzero(np.isin(nodes.kind, (NodeKind.KERNEL, NodeKind.ARRIVE)))
    before = np.flatnonzero(nodes.kind == NodeKind.CARRIED)
    begin = begin_of[nodes.profile[last]]
    for at, node in enumerate(last.tolist()):
        mine = tasked[lane[tasked] == lane[node]]
        first[at] = mine[0] if len(mine) else node
        running = before[lane[before] == lane[node]]
        if len(running):
            carried[at] = int((nodes.start[running] + nodes.dur[running]).max()) - int(nodes.start[begin[at]])
    kept = first > begin
    host_last = edges.src[of_host]
    return _Streams(
        begin=begin[kept],
        first=first[kept],
        last=last[kept],
        edge=of_device[kept],
        carried=np.maximum(carried[kept], 0),
        host_begin=begin_of[nodes.profile[host_last]],
        host_last=host_last,
    )
