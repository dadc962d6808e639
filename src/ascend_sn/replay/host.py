"""Nodes of the host threads of one profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ascend_sn._native.intervals import union_length
from ascend_sn._native.nesting import enclosing
from ascend_sn.model.rows import Int64
from ascend_sn.replay.blocking import DeviceWaits, disjoint, joins
from ascend_sn.replay.classify import host_classes
from ascend_sn.replay.graph import NO_TASK, EdgeKind, NodeKind
from ascend_sn.replay.lanes import Launches, launches
from ascend_sn.replay.lineage import Queued
from ascend_sn.replay.parts import Parts
from ascend_sn.replay.tasks import HOST_KINDS, SourceTable, Tasks
from ascend_sn.replay.threads import (
    SOURCE_NODE,
    Bursts,
    Moments,
    Slices,
    Stretches,
    ThreadNodes,
    bursts,
    cut_threads,
)

__all__ = ["HostCall", "HostNodes", "HostPlan", "add_host", "plan_host"]


@dataclass(frozen=True)
class HostPlan:
    """What is known of the threads of a profile before they are cut.

    Attributes:
        slices: Host slices within the window.
        main: Thread that runs the training loop.
        window: Start and end, ns.
        queue: Slices that another thread's enqueue causes.
        working: When the threads work.
        kernels: Kernels that are stretches of threads, on a capture without a device.
    """

    slices: Slices
    main: int
    window: tuple[int, int]
    queue: Launches
    working: Bursts
    kernels: Int64


@dataclass(frozen=True)
class HostCall:
    """A collective that a host thread is in from `start` to `end`; it waits until `release`."""

    task: int
    start: int
    release: int


@dataclass(frozen=True)
class HostNodes:
    """The nodes of the threads; numbers are those of the graph."""

    plan: HostPlan
    threads: ThreadNodes
    first: int
    last: int

    def ending(self, thread: Int64, moment: Int64) -> Int64:
        """Return the last node of each thread that ends by each moment, SOURCE_NODE for none."""
        found = self.threads.ending(thread, moment)
        return np.where(found == SOURCE_NODE, SOURCE_NODE, found + self.first)

    def starting(self, thread: Int64, moment: Int64) -> Int64:
        """Return the node of each thread that begins at each moment, SOURCE_NODE for none."""
        found = self.threads.starting(thread, moment)
        return np.where(found == SOURCE_NODE, SOURCE_NODE, found + self.first)


def plan_host(tasks: Tasks, queue: Queued, window: tuple[int, int], device_kind: str) -> HostPlan | None:
    """Find the threads, the main one, and what wakes the others; None without host slices.

    Args:
        tasks: Tasks of the profile.
        queue: Its queue arrows.
        window: Start and end of the window, ns.
        device_kind: Kind of capture.
    """
    low, high = window
    host = np.flatnonzero(~tasks.is_device & (tasks.start < high) & (tasks.end > low))
    start, end = np.clip(tasks.start[host], low, high), np.clip(tasks.end[host], low, high)
    some = end > start
    host, start, end = host[some], start[some], end[some]
    if not len(host):
        return None
    slices = Slices(tasks.lane.codes[host].astype(np.int64), start, end, host)
    main = _main_thread(tasks, slices)
    crossing = tasks.lane.codes[queue.enqueue] != tasks.lane.codes[queue.dequeue]
    within = crossing & (tasks.start[queue.dequeue] >= low) & (tasks.start[queue.enqueue] >= low)
    taken = queue.dequeue[within]
    woken = launches(taken, queue.enqueue[within], tasks.lane.codes[taken].astype(np.int64), tasks)
    working = bursts(slices, main, window, Moments(tasks.lane.codes[taken].astype(np.int64), tasks.start[taken]))
    on_host = device_kind in HOST_KINDS
    kernels = np.flatnonzero(tasks.is_device) if on_host else np.zeros(0, np.int64)
    return HostPlan(slices, main, window, woken, working, kernels)


def add_host(
    parts: Parts,
    plan: HostPlan,
    tasks: Tasks,
    *,
    profile: int,
    offset: int,
    begin: int,
    launched: Launches | None,
    waits: DeviceWaits | None,
    calls: Sequence[HostCall],
    fine: bool,
) -> tuple[HostNodes, Int64, Int64, list[tuple[int, int]]]:
    """Cut the threads and add their nodes with the edges between them.

    Args:
        parts: The growing graph.
        plan: What `plan_host` returned.
        tasks: Tasks of the profile.
        profile: Number of the profile.
        offset: Position of its first task among all tasks.
        begin: Node at which its window begins.
        launched: Launches of its device tasks.
        waits: What its calls wait for on the device.
        calls: Its collectives on host threads.
        fine: Whether every slice is cut out.

    Returns:
        The nodes; waiting nodes and the device tasks that they wait for; arrival and release of each collective.
    """
    thread = tasks.lane.codes.astype(np.int64)
    grouped = _grouped(waits, tasks, plan.window)
    met = _call_stretches(calls, thread)
    joined = joins(plan.slices, plan.main, plan.window, _workers(tasks, plan.slices))
    main = np.full(len(joined.start), plan.main, np.int64)
    stretches = [
        met,
        Stretches(thread[grouped.call], grouped.start, grouped.release),
        Stretches(main, joined.start, joined.end),
    ]
    blocked = Stretches(*(np.concatenate([getattr(s, name) for s in stretches]) for name in ("thread", "start", "end")))
    kept = disjoint(blocked)
    kept_calls, kept_waits, kept_joins = np.split(kept, np.cumsum([len(s) for s in stretches])[:2])
    rested = plan.working.thread != plan.main
    moments = Moments(thread[plan.queue.launcher], plan.queue.moment)
    moments += Moments(np.full(int(rested.sum()), plan.main, np.int64), plan.working.start[rested])
    moments += Moments(thread[grouped.call], tasks.start[grouped.call])
    moments += Moments(met.thread, met.start)
    if launched is not None:
        moments += Moments(thread[launched.launcher], launched.moment)
    nodes = cut_threads(
        plan.slices,
        plan.working,
        plan.window,
        moments,
        Stretches(blocked.thread[kept], blocked.start[kept], blocked.end[kept]),
        fine=fine,
    )
    host = _add_nodes(parts, plan, tasks, nodes, profile, offset, begin)
    _wake(parts, plan, tasks, host)
    released = host.ending(np.full(int(kept_joins.sum()), plan.main, np.int64), joined.end[kept_joins])
    parts.add_edges(
        host.ending(joined.other[kept_joins], joined.end[kept_joins]), released, EdgeKind.HOST_ORDER, inferred=True
    )
    waiting = np.where(
        kept_waits,
        host.ending(thread[grouped.call], grouped.release),
        host.starting(thread[grouped.call], tasks.start[grouped.call]),
    )
    useful = (kept_waits | (grouped.release <= grouped.start))[grouped.pair] & (waiting[grouped.pair] >= 0)
    arrivals = host.ending(met.thread, met.start)
    releases = np.where(kept_calls, host.ending(met.thread, met.end), host.starting(met.thread, met.start))
    return (
        host,
        waiting[grouped.pair][useful],
        grouped.task[useful],
        list(zip(arrivals.tolist(), releases.tolist(), strict=True)),
    )


def _main_thread(tasks: Tasks, slices: Slices) -> int:
    """Return the thread whose operators, the backward ones apart, cover most of the window; else the busiest."""
    table, phase = tasks.table[slices.task], tasks.phase.take(slices.task)
    own = (table == SourceTable.OPERATOR) & ~phase.matches(["backward"])
    for chosen in (own, np.ones(len(own), np.bool_)):
        threads = np.unique(slices.thread[chosen]).tolist()
        if threads:
            covered = [
                union_length(slices.start[chosen & (slices.thread == t)], slices.end[chosen & (slices.thread == t)])
                for t in threads
            ]
            return int(threads[int(np.argmax(covered))])
    raise AssertionError("slices of no thread")


def _workers(tasks: Tasks, slices: Slices) -> Int64:
    operators = tasks.table[slices.task] == SourceTable.OPERATOR
    return np.unique(slices.thread[operators]).astype(np.int64)


@dataclass(frozen=True)
class _Waits:
    """Blocking calls: when each begins to wait and is released; and their tasks, `pair` being the call of each."""

    call: Int64
    start: Int64
    release: Int64
    pair: Int64
    task: Int64


def _grouped(waits: DeviceWaits | None, tasks: Tasks, window: tuple[int, int]) -> _Waits:
    none = np.zeros(0, np.int64)
    if waits is None or not len(waits.call):
        return _Waits(none, none, none, none, none)
    inside = (tasks.start[waits.call] >= window[0]) & (tasks.end[waits.call] <= window[1])
    call, pair = np.unique(waits.call[inside], return_inverse=True)
    task, began = waits.task[inside], waits.start[inside]
    start = np.full(len(call), np.iinfo(np.int64).max, np.int64)
    release = np.zeros(len(call), np.int64)
    np.minimum.at(start, pair, began)
    np.maximum.at(release, pair, tasks.end[task])
    return _Waits(call, start, np.maximum(release, start), pair, task)


def _call_stretches(calls: Sequence[HostCall], thread: Int64) -> Stretches:
    return Stretches(
        thread[np.array([call.task for call in calls], np.int64)],
        np.array([call.start for call in calls], np.int64),
        np.array([call.release for call in calls], np.int64),
    )


def _add_nodes(
    parts: Parts, plan: HostPlan, tasks: Tasks, nodes: ThreadNodes, profile: int, offset: int, begin: int
) -> HostNodes:
    kernel = _kernels_of(plan, tasks, nodes)
    numbers = parts.add_nodes(
        np.where(nodes.is_blocked, NodeKind.BLOCKED, NodeKind.HOST),
        profile=profile,
        start=nodes.start,
        dur=nodes.dur,
        time_class=host_classes(tasks, nodes.task, kernel),
        task=np.where(nodes.task == NO_TASK, NO_TASK, nodes.task + offset),
        kernel=np.where(kernel == NO_TASK, NO_TASK, kernel + offset),
        is_main=nodes.thread == plan.main,
    )
    first = int(numbers[0])
    chained = np.flatnonzero(nodes.previous != SOURCE_NODE)
    parts.add_edges(first + nodes.previous[chained], first + chained, EdgeKind.HOST_ORDER)
    main = np.flatnonzero(nodes.thread == plan.main)
    parts.add_edges(begin, first + int(main[0]), EdgeKind.WINDOW)
    return HostNodes(plan, nodes, first, first + int(main[-1]))


def _kernels_of(plan: HostPlan, tasks: Tasks, nodes: ThreadNodes) -> Int64:
    """Return the kernel that each node counts as, on a capture without a device."""
    if not len(plan.kernels):
        return np.full(len(nodes), NO_TASK, np.int64)
    numbers = {value: code for code, value in enumerate(tasks.lane.values)}
    of_lane = np.array([numbers.get(lane.partition("/")[2], -1) for lane in tasks.lane.values], np.int64)
    kernels = plan.kernels
    found = enclosing(
        of_lane[tasks.lane.codes[kernels]],
        tasks.start[kernels],
        tasks.end[kernels] - tasks.start[kernels],
        nodes.thread,
        nodes.begin,
    )
    return np.append(kernels, np.int64(NO_TASK))[np.where(nodes.is_first, -1, found)]


def _wake(parts: Parts, plan: HostPlan, tasks: Tasks, host: HostNodes) -> None:
    """Connect the bursts of the other threads with what wakes them: an enqueue, else the main thread."""
    queue = plan.queue
    thread = tasks.lane.codes.astype(np.int64)
    target = host.starting(thread[queue.task], tasks.start[queue.task])
    source = host.ending(thread[queue.launcher], queue.moment)
    known = (target >= 0) & (source >= 0)
    parts.add_edges(source[known], target[known], EdgeKind.QUEUE, queue.weight[known])
    rested = np.flatnonzero(plan.working.thread != plan.main)
    first = host.starting(plan.working.thread[rested], plan.working.start[rested])
    rested, first = rested[~np.isin(first, target[known])], first[~np.isin(first, target[known])]
    main = np.full(len(rested), plan.main, np.int64)
    parts.add_edges(host.ending(main, plan.working.start[rested]), first, EdgeKind.HOST_ORDER, inferred=True)
