"""The streams of a graph as wholes: where they begin and end, and by how much they outlast the host."""

from __future__ import annotations

import numpy as np

from ascend_sn.replay.graph import EdgeKind, Edges, NodeKind, Nodes, Streams
from ascend_sn.replay.tasks import Tasks

__all__ = ["streams_of"]


def streams_of(nodes: Nodes, edges: Edges, tasks: Tasks, profile_count: int) -> Streams | None:
    """Find the streams; None on a capture without a device or without host threads."""
    of_window = (edges.kind == EdgeKind.WINDOW) & (nodes.kind[edges.dst] == NodeKind.WINDOW)
    ends = np.flatnonzero(of_window & (edges.src > 0))
    on_host = np.isin(nodes.kind[edges.src[ends]], (NodeKind.HOST, NodeKind.BLOCKED))
    of_device, of_host = ends[~on_host], ends[on_host]
    if not len(of_device) or not len(of_host):
        return None
    begins = edges.dst[of_window & (edges.src == 0)]
    begin_of = np.zeros(profile_count, np.int64)
    begin_of[nodes.profile[begins]] = begins
    width = len(tasks.lane.values) + 1
    lane = nodes.profile * width + np.append(tasks.lane.codes, np.int32(-1))[nodes.kernel]
    last = edges.src[of_device]
    begin = begin_of[nodes.profile[last]]
    own = np.flatnonzero(np.isin(nodes.kind, (NodeKind.KERNEL, NodeKind.ARRIVE)))
    # Nodes stand in the order of time, so that the first of a lane is the first to be found.
    lanes, at = np.unique(lane[own], return_index=True)
    place = np.minimum(np.searchsorted(lanes, lane[last]), max(len(lanes) - 1, 0))
    known = lanes[place] == lane[last] if len(lanes) else np.zeros(len(last), np.bool_)
    first = np.where(known, own[at][place], last) if len(lanes) else last
    carried = np.zeros(len(last), np.int64)
    running = np.flatnonzero(nodes.kind == NodeKind.CARRIED)
    for number, node in enumerate(last.tolist()) if len(running) else ():
        mine = running[lane[running] == lane[node]]
        if len(mine):
            carried[number] = int((nodes.start[mine] + nodes.dur[mine]).max()) - int(nodes.start[begin[number]])
    host_last = edges.src[of_host]
    kept = first > begin
    if not bool(kept.any()):
        return None
    return Streams(
        begin=begin[kept],
        first=first[kept],
        last=last[kept],
        edge=of_device[kept],
        carried=np.maximum(carried[kept], 0),
        host_begin=begin_of[nodes.profile[host_last]],
        host_last=host_last,
    )
