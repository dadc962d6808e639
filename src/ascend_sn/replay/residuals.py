"""What the edges do not explain of a start, and how it is called."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.intervals import union
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.rows import Int64
from ascend_sn.replay.graph import Edges, NodeKind, Nodes, Residual
from ascend_sn.replay.lanes import SCHEDULING_NS
from ascend_sn.replay.tasks import Tasks

__all__ = ["latest_allowed", "residuals"]

CONTENTION_RATIO: Final = 0.9
"""Share of a delay in which other streams of the device compute, from which on that explains it."""

_NEVER: Final = np.iinfo(np.int64).min


def latest_allowed(nodes: Nodes, edges: Edges) -> Int64:
    """Return the earliest start of each node that its edges allow, with observed times; `_NEVER` without edges."""
    allowed = np.full(len(nodes), _NEVER, np.int64)
    np.maximum.at(allowed, edges.dst, (nodes.start + nodes.dur)[edges.src] + edges.weight)
    return allowed


def residuals(
    nodes: Nodes, edges: Edges, tasks: Tasks, transit: Int64, transit_type: npt.NDArray[np.uint8]
) -> tuple[Int64, npt.NDArray[np.uint8], int]:
    """Return residual and type of every node, and how many nodes start before their edges allow it.

    Args:
        nodes: All nodes; the source alone has no edge.
        edges: All edges.
        tasks: What the nodes stand for.
        transit: Transit nodes of collectives.
        transit_type: What their residual is called.
    """
    allowed = latest_allowed(nodes, edges)
    free = allowed == _NEVER
    delta = np.where(free, 0, nodes.start - np.where(free, nodes.start, allowed))
    violated = delta < 0
    delta = np.maximum(delta, 0)
    kind = np.full(len(nodes), Residual.UNKNOWN, np.uint8)
    kind[np.isin(nodes.kind, (NodeKind.HOST, NodeKind.BLOCKED))] = Residual.HOST
    on_device = np.isin(nodes.kind, (NodeKind.KERNEL, NodeKind.ARRIVE, NodeKind.FINISH))
    kind[on_device & (delta <= SCHEDULING_NS)] = Residual.SCHEDULING
    late = np.flatnonzero(on_device & (delta > SCHEDULING_NS))
    kind[late[_contended(nodes, tasks, late, allowed[late])]] = Residual.CONTENTION
    kind[transit] = transit_type
    kind[delta == 0] = Residual.NONE
    return delta, kind, int(np.count_nonzero(violated))


def _contended(nodes: Nodes, tasks: Tasks, late: Int64, allowed: Int64) -> npt.NDArray[np.bool_]:
    """Return which of the late nodes found the other streams of their device computing."""
    found = np.zeros(len(late), np.bool_)
    if not len(late):
        return found
    device = np.array([lane.partition("/")[0] for lane in tasks.lane.values] or [""])
    kernel = np.flatnonzero(nodes.kind == NodeKind.KERNEL)
    kernel = kernel[tasks.kind.matches(COMPUTE_KINDS)[nodes.kernel[kernel]]]
    lane, profile = tasks.lane.codes, nodes.profile
    of_kernel = lane[nodes.kernel[kernel]]
    for key in sorted({(int(profile[node]), int(lane[nodes.kernel[node]])) for node in late.tolist()}):
        mine = (profile[late] == key[0]) & (lane[nodes.kernel[late]] == key[1])
        others = kernel[(profile[kernel] == key[0]) & (of_kernel != key[1]) & (device[of_kernel] == device[key[1]])]
        busy = union(nodes.start[others], nodes.start[others] + nodes.dur[others])
        begin, end = allowed[mine], nodes.start[late[mine]]
        covered = _covered(busy[0], busy[1], end) - _covered(busy[0], busy[1], begin)
        found[mine] = covered >= CONTENTION_RATIO * (end - begin)
    return found


def _covered(start: Int64, end: Int64, moment: Int64) -> Int64:
    """Return how much of disjoint ascending intervals lies before each moment."""
    if not len(start):
        return np.zeros(len(moment), np.int64)
    total = np.append(0, np.cumsum(end - start))
    at = np.searchsorted(start, moment, side="right")
    inside = np.maximum(end[np.maximum(at - 1, 0)] - moment, 0) * (at > 0)
    covered: Int64 = total[at] - inside
    return covered
