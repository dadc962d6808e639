"""Nodes of the host threads of one profile."""

from __future__ import annotations

import msgspec
import numpy as np

from ascend_sn._native.intervals import union_length
from ascend_sn._native.nesting import enclosing
from ascend_sn.model.kinds import HOST_KINDS
from ascend_sn.model.rows import Int64
from ascend_sn.replay.classify import host_classes
from ascend_sn.replay.graph import NO_TASK, EdgeKind, NodeKind
from ascend_sn.replay.lanes import Launches, launches
from ascend_sn.replay.lineage import Queued
from ascend_sn.replay.parts import Parts
from ascend_sn.replay.tasks import SourceTable, Tasks
from ascend_sn.replay.threads import (
    SOURCE_NODE,
    Bursts,
    Moments,
    Slices,
    ThreadNodes,
    bursts,
    cut_threads,
)
from ascend_sn.replay.waits import Waits

__all__ = ["HostNodes", "HostPlan", "add_host", "add_waits", "met_nodes", "plan_host", "workers_of"]


class HostPlan(msgspec.Struct, frozen=True):
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


class HostNodes(msgspec.Struct, frozen=True):
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
    waits: Waits,
    *,
    profile: int,
    offset: int,
    begin: int,
    launched: Launches | None,
    fine: bool,
) -> HostNodes:
    """Cut the threads and add their nodes with the edges between them.

    Args:
        parts: The growing graph.
        plan: What `plan_host` returned.
        tasks: Tasks of the profile.
        waits: Where its threads wait.
        profile: Number of the profile.
        offset: Position of its first task among all tasks.
        begin: Node at which its window begins.
        launched: Launches of its device tasks.
        fine: Whether every slice is cut out.
    """
    thread = tasks.lane.codes.astype(np.int64)
    rested = plan.working.thread != plan.main
    moments = waits.moments(tasks) + Moments(thread[plan.queue.launcher], plan.queue.moment)
    moments += Moments(np.full(int(rested.sum()), plan.main, np.int64), plan.working.start[rested])
    if launched is not None:
        moments += Moments(thread[launched.launcher], launched.moment)
    nodes = cut_threads(plan.slices, plan.working, plan.window, moments, waits.stretches(), fine=fine)
    host = _add_nodes(parts, plan, tasks, nodes, profile, offset, begin)
    _wake(parts, plan, tasks, host)
    joined = waits.joined_kept
    parts.add_edges(
        host.ending(waits.joined_with[joined], waits.joined.end[joined]),
        host.ending(waits.joined.thread[joined], waits.joined.end[joined]),
        EdgeKind.HOST_ORDER,
        inferred=True,
    )
    return host


def add_waits(parts: Parts, host: HostNodes, tasks: Tasks, waits: Waits, last: Int64) -> tuple[Int64, Int64]:
    """Let the threads wait for the device.

    Args:
        parts: The growing graph.
        host: Nodes of the threads.
        tasks: Tasks of the profile.
        waits: Where its threads wait.
        last: Node that each task ends with.

    Returns:
        Nodes of guessed waits, and how long each would be if the thread worked there, ns.
    """
    blocked, call = waits.device, waits.device_call
    node = np.where(
        waits.device_kept,
        host.ending(blocked.thread, blocked.end),
        host.starting(blocked.thread, tasks.start[call]),
    )
    # A call that finds its tasks done still has to come after them, when they take longer.
    useful = ((waits.device_kept | (blocked.end <= blocked.start)) & (node >= 0))[waits.device_pair]
    parts.add_edges(last[waits.device_task[useful]], node[waits.device_pair[useful]], EdgeKind.BLOCKING)
    kept = waits.guessed_kept
    silent = host.ending(waits.guessed.thread, waits.guessed.end)
    of_pair = kept[waits.guessed_pair]
    parts.add_edges(
        last[waits.guessed_task[of_pair]], silent[waits.guessed_pair[of_pair]], EdgeKind.BLOCKING, inferred=True
    )
    return silent[kept], (waits.guessed.end - waits.guessed.start)[kept]


def met_nodes(host: HostNodes, waits: Waits) -> list[tuple[int, int]]:
    """Return the nodes with which the collectives on host threads are reached and left, in their order."""
    met = waits.met
    arrivals = host.ending(met.thread, met.start)
    releases = np.where(waits.met_kept, host.ending(met.thread, met.end), host.starting(met.thread, met.start))
    return list(zip(arrivals.tolist(), releases.tolist(), strict=True))


def workers_of(tasks: Tasks, slices: Slices) -> Int64:
    """Return the threads that run operators."""
    operators = tasks.table[slices.task] == SourceTable.OPERATOR
    return np.unique(slices.thread[operators]).astype(np.int64)


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
