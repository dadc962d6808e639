"""Chains of kernels that could be one, and W7: what it is worth to fuse them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from ascend_sn._native.nesting import enclosing, nest
from ascend_sn.model.rows import Int64
from ascend_sn.replay.chain_bytes import moved_by
from ascend_sn.replay.edits import Edit, Merge, Scale
from ascend_sn.replay.graph import NO_TASK, NodeKind, StepGraph, TimeClass
from ascend_sn.replay.prices import Bound, Remark, Transform, Unpriced
from ascend_sn.replay.selectors import device_nodes
from ascend_sn.replay.tasks import SourceTable

__all__ = ["chains_of", "chains_within", "fused"]

FUSED_BANDWIDTH_RATIO: Final = 0.85
"""Share of the observed bandwidth that a fused kernel reaches in the low case."""

_CALLING: Final = (TimeClass.HOST, TimeClass.LAUNCH)


def chains_of(graph: StepGraph, op_types: Sequence[str]) -> list[Int64]:
    """Return every run of kernels on one stream with these operator types, without overlaps, in order.

    A kernel without a type goes by its name. Where a stretch of a host thread counts as a kernel and other slices cut
    it, all its nodes are part of the chain.
    """
    nodes, tasks = graph.nodes, graph.tasks
    chosen = np.flatnonzero(device_nodes(graph))
    kernel = nodes.kernel[chosen]
    lane = tasks.lane.codes[kernel].astype(np.int64) + nodes.profile[chosen] * (len(tasks.lane.values) + 1)
    types, names = tasks.op_type.decode(), tasks.name.decode()
    chains: list[Int64] = []
    for code in np.unique(lane).tolist():
        mine = chosen[lane == code]
        first = np.flatnonzero(np.append(True, np.diff(nodes.kernel[mine]) != 0))
        parts = np.split(mine, first[1:])
        found = [types[int(at)] or names[int(at)] for at in nodes.kernel[mine[first]]]
        at = 0
        while at + len(op_types) <= len(found):
            if found[at : at + len(op_types)] == list(op_types):
                chains.append(np.concatenate(parts[at : at + len(op_types)]))
                at += len(op_types)
            else:
                at += 1
    return chains


def chains_within(graph: StepGraph, names: Collection[str]) -> list[Int64]:
    """Return the kernels of every slice with one of these names: those that it launched, or that it consists of.

    A slice inside another one of such a name is not taken apart.

    Args:
        graph: The replayed step.
        names: Names of operators or spans, such as the span of a module.
    """
    nodes, tasks = graph.nodes, graph.tasks
    chosen = np.flatnonzero(device_nodes(graph))
    launcher = tasks.launcher[nodes.kernel[chosen]]
    anchor = np.where(launcher >= 0, launcher, nodes.task[chosen])
    chosen, anchor = chosen[anchor >= 0], anchor[anchor >= 0]
    thread = tasks.profile * (len(tasks.lane.values) + 1) + tasks.lane.codes
    named = np.flatnonzero((tasks.table == SourceTable.OPERATOR) & tasks.name.matches(list(names)))
    tree = nest(thread[named], tasks.start[named], tasks.end[named] - tasks.start[named])
    outer = named[tree.depth == tree.depth.min(initial=0)]
    found = enclosing(
        thread[outer], tasks.start[outer], tasks.end[outer] - tasks.start[outer], thread[anchor], tasks.start[anchor]
    )
    return [chosen[found == slice_] for slice_ in np.unique(found[found >= 0]).tolist()]


def fused(
    graph: StepGraph, chains: Sequence[Int64], *, roofline_bytes_per_s: float | None = None
) -> Transform | Unpriced:
    """W7: each chain becomes one kernel that moves its bytes without the intermediate results.

    Its time is (all bytes - 2 x intermediate bytes) / bandwidth, and not below the shortest kernel of the step;
    the bandwidth is 0.85 of the chain's, the chain's, or the roofline's. In the low case it is not quicker than the
    longest of its parts either; in the high case a part of the time of every kernel counts as fixed, and only the rest
    as moving bytes: what the shortest kernel of the step takes, or what the line through the chain's kernels (time
    over bytes) says, whichever makes the fused one quicker.

    The host launches it once: the operators of the other parts are gone, and of what the thread does between the calls
    of k parts 1/k stays, all of it in the low case. In the high case 1/k stays as well of what a slice that launches
    nothing but the chain does before the first and behind the last part: there the intermediate results are given back.

    Outputs that were not recorded are taken to be as large as the largest input, those of a reduction as the smallest
    input of the kernel behind it.

    Args:
        graph: The replayed step.
        chains: Kernels of each chain, as `chains_of` or `chains_within` gives them; an output of one is an input of
            the next.
        roofline_bytes_per_s: Bandwidth of the memory; by default the best of all chains.
    """
    dur = graph.nodes.dur
    known = [(chain, found) for chain in chains if (found := moved_by(graph, chain)) is not None]
    if not known:
        return Unpriced(Remark("replay.chain-bytes-unknown" if chains else "replay.no-chain"))
    rates = [found.total_bytes / max(int(dur[chain].sum()), 1) for chain, found in known]
    best = max(rates) if roofline_bytes_per_s is None else max(*rates, roofline_bytes_per_s / 1e9)
    computing = dur[device_nodes(graph) & (graph.nodes.time_class == TimeClass.COMPUTE) & (dur > 0)]
    least = int(computing.min(initial=np.iinfo(np.int64).max)) if len(computing) else 0
    edits: list[list[Edit]] = [[], [], []]
    calling = _Calling(graph)
    for (chain, found), rate in zip(known, rates, strict=True):
        left = max(found.total_bytes - 2 * found.intermediate_bytes, 0)
        before = int(dur[chain].sum())
        moving = max(before - found.kernel_count * least, 0) * left / max(found.total_bytes, 1)
        times = (
            max(_time_ns(left, rate * FUSED_BANDWIDTH_RATIO), found.longest_ns),
            _time_ns(left, rate),
            min(_time_ns(left, best), round(least + moving), round(found.fixed_ns + left * found.ns_per_byte)),
        )
        for bound, time in zip(edits, times, strict=True):
            bound.append(Merge(chain, max(time, least)))
        calls = Scale(calling.between(chain), 1 / found.kernel_count)
        for bound in edits[1:]:
            bound.append(calls)
        edits[2].append(Scale(calling.around(chain), 1 / found.kernel_count))
    inferred = any(found.is_inferred for _, found in known)
    return Transform.of(
        "W7",
        (Bound(tuple(bound)) for bound in edits),
        remarks=(Remark("replay.chain-outputs-inferred"),) if inferred else (),
        confidence="medium" if inferred else "high",
    )


def _time_ns(moved_bytes: int, bytes_per_ns: float) -> int:
    return round(moved_bytes / bytes_per_ns) if bytes_per_ns > 0 else 0


class _Calling:
    """What threads do beside kernels: calling them."""

    def __init__(self, graph: StepGraph) -> None:
        nodes, tasks = graph.nodes, graph.tasks
        self._graph = graph
        host = (nodes.kind == NodeKind.HOST) & (nodes.kernel == NO_TASK) & (nodes.dur > 0)
        found = np.flatnonzero(host & np.isin(nodes.time_class, np.array(_CALLING, np.uint8)))
        self._node = found[np.argsort(nodes.start[found], kind="stable")]
        self._start = nodes.start[self._node]
        # The program between slices is known to be on the main thread only.
        self._lane = np.append(tasks.lane.codes, np.int32(-1))[nodes.task[self._node]].astype(np.int64)
        main = np.flatnonzero(nodes.is_main & (nodes.task >= 0))
        self._main = dict(zip(nodes.profile[main].tolist(), tasks.lane.codes[nodes.task[main]].tolist(), strict=True))
        parts = np.flatnonzero(device_nodes(graph))
        launcher = tasks.launcher[nodes.kernel[parts]]
        task = np.where(launcher >= 0, launcher, nodes.task[parts])
        called = np.where(launcher >= 0, tasks.start[launcher], nodes.start[parts])
        order = np.argsort(called, kind="stable")
        self._called, self._caller = called[order], np.append(tasks.lane.codes, np.int32(-1))[task[order]]
        self._part_profile = nodes.profile[parts[order]]

    def between(self, chain: Int64) -> Int64:
        """Return the nodes between the call of the first and that of the last part of a chain."""
        place = self._place(chain)
        if place is None:
            return np.zeros(0, np.int64)
        lane, begin, end = place
        nodes, profile = self._graph.nodes, int(self._graph.nodes.profile[chain[0]])
        low, high = np.searchsorted(self._start, [begin, end])
        near = np.arange(low, high)
        lanes = (lane, NO_TASK) if self._main.get(profile) == lane else (lane,)
        node = self._node[near]
        mine = np.isin(self._lane[near], lanes) & (nodes.profile[node] == profile)
        mine &= (self._lane[near] >= 0) | nodes.is_main[node]
        found: Int64 = node[mine & (nodes.start[node] + nodes.dur[node] <= end)]
        return found

    def around(self, chain: Int64) -> Int64:
        """Return the other nodes of slices that hold a whole chain and launch nothing else, but those between."""
        place = self._place(chain)
        if place is None:
            return np.zeros(0, np.int64)
        lane, begin, end = place
        nodes, tasks, profile = self._graph.nodes, self._graph.tasks, int(self._graph.nodes.profile[chain[0]])
        holds = (tasks.table == SourceTable.OPERATOR) & (tasks.profile == profile) & (tasks.lane.codes == lane)
        holds &= (tasks.start <= begin) & (tasks.end >= end)
        slices = [at for at in np.flatnonzero(holds).tolist() if self._parts_within(at) == len(chain)]
        mine = np.isin(nodes.task[self._node], slices)
        found: Int64 = np.setdiff1d(self._node[mine], self.between(chain))
        return found

    def _place(self, chain: Int64) -> tuple[int, int, int] | None:
        """Return the thread that calls a chain, the end of its first and the begin of its last call."""
        nodes, tasks = self._graph.nodes, self._graph.tasks
        first, last = int(chain[0]), int(chain[-1])
        calls = tasks.launcher[nodes.kernel[[first, last]]].tolist()
        if calls[0] >= 0 and calls[1] >= 0:
            return int(tasks.lane.codes[calls[0]]), int(tasks.end[calls[0]]), int(tasks.start[calls[1]])
        if nodes.task[first] >= 0 and nodes.kind[first] == NodeKind.HOST:
            return int(tasks.lane.codes[nodes.task[first]]), int(nodes.start[first]), int(nodes.start[last])
        return None

    def _parts_within(self, slice_: int) -> int:
        """Return how many kernels, or parts of them, a slice launches or consists of."""
        tasks = self._graph.tasks
        low, high = np.searchsorted(self._called, [int(tasks.start[slice_]), int(tasks.end[slice_])])
        mine = self._caller[low:high] == tasks.lane.codes[slice_]
        return int((mine & (self._part_profile[low:high] == tasks.profile[slice_])).sum())
