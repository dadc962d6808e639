"""Nodes of the device streams of one profile."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.model.kinds import HOST_KINDS
from ascend_sn.model.rows import Int64
from ascend_sn.replay.blocking import DeviceWaits, device_waits
from ascend_sn.replay.choose import Window
from ascend_sn.replay.classify import device_classes
from ascend_sn.replay.graph import NO_TASK, EdgeKind, NodeKind, TimeClass
from ascend_sn.replay.host import HostNodes
from ascend_sn.replay.lanes import (
    EventPairs,
    Launches,
    StreamOrder,
    boundary_pairs,
    event_pairs,
    is_wait,
    launches,
    stream_order,
)
from ascend_sn.replay.parts import Parts
from ascend_sn.replay.tasks import Tasks

__all__ = ["DeviceNodes", "DevicePlan", "add_device", "plan_device"]


class DevicePlan(msgspec.Struct, frozen=True):
    """What is known of the device tasks of a profile before its host threads are cut.

    Attributes:
        task: All device tasks.
        own: Those of the step itself, with their `lane` (device and stream).
        guessed_moment: When each of those was launched, ns; before everything where that is not known.
        order: Their order on the streams.
        launched: Launches.
        events: Waits for tasks of other streams.
        waits: Host calls that wait for them.
    """

    task: Int64
    own: Int64
    lane: Int64
    guessed_moment: Int64
    order: StreamOrder
    launched: Launches
    events: EventPairs
    waits: DeviceWaits


class DeviceNodes(msgspec.Struct, frozen=True):
    """Node that a task begins with, and the one it ends with, by position of the task; NO_TASK for no node."""

    first: Int64
    last: Int64
    observed_end: int
    lag: int


def plan_device(db: DuckDBPyConnection, window: Window, tasks: Tasks) -> DevicePlan | None:
    """Find launches, order and dependencies of the device tasks; None on a capture without a device."""
    device = np.flatnonzero(tasks.is_device)
    if window.device_kind in HOST_KINDS or not len(device):
        return None
    lane = tasks.lane.codes.astype(np.int64)
    linked = device[tasks.launcher[device] >= 0]
    launched = launches(linked, tasks.launcher[linked], lane[linked], tasks)
    moment = tasks.start.copy()
    moment[linked] = launched.moment
    flows = db.execute(
        """
        select src_table, src_id, dst_table, dst_id
        from flow
        where profile_id = $profile and kind = 'event'
        order by all
        """,
        {"profile": window.profile_id},
    ).fetchall()
    own = device[~tasks.carried[device]]
    known = np.where(tasks.launcher >= 0, moment, np.iinfo(np.int64).min)
    order = stream_order(device, lane[device], tasks, known)
    events = event_pairs(tasks, own, lane[own], moment[own], flows)
    return DevicePlan(
        task=device,
        own=own,
        lane=lane[own],
        guessed_moment=np.where(tasks.launcher[own] >= 0, moment[own], np.iinfo(np.int64).min),
        order=order,
        launched=launched,
        events=events + boundary_pairs(tasks, own, lane[own], launched, order, events),
        waits=device_waits(tasks, own, lane[own], moment[own], launched),
    )


def add_device(
    parts: Parts,
    plan: DevicePlan,
    tasks: Tasks,
    host: HostNodes | None,
    met: Mapping[int, int],
    *,
    profile: int,
    offset: int,
    begin: int,
    begin_ns: int,
) -> DeviceNodes:
    """Add the nodes of the streams with the edges between them and from the host.

    Args:
        parts: The growing graph.
        plan: What `plan_device` returned.
        tasks: Tasks of the profile.
        host: Nodes of its threads.
        met: Tasks that are collectives, and the moment at which the bytes of each have moved, ns.
        profile: Number of the profile.
        offset: Position of its first task among all tasks.
        begin: Node at which its window begins.
        begin_ns: When that is.
    """
    own = plan.task[~tasks.carried[plan.task]]
    collective = np.isin(own, np.array(list(met), np.int64))
    first, last = np.full(len(tasks), NO_TASK, np.int64), np.full(len(tasks), NO_TASK, np.int64)
    kernels, calls, carried = own[~collective], own[collective], plan.task[tasks.carried[plan.task]]
    # A wait has no time of its own: it is over when what it waits for is.
    waits = is_wait(tasks)[kernels]
    first[kernels] = last[kernels] = parts.add_nodes(
        NodeKind.KERNEL,
        profile=profile,
        start=np.where(waits, tasks.end[kernels], tasks.start[kernels]),
        dur=np.where(waits, 0, tasks.end[kernels] - tasks.start[kernels]),
        time_class=device_classes(tasks, kernels),
        task=kernels + offset,
        kernel=kernels + offset,
    )
    moved = np.array([met[int(call)] for call in calls], np.int64)
    first[calls], last[calls] = (
        parts.add_nodes(
            kind,
            profile=profile,
            start=start,
            dur=dur,
            time_class=TimeClass.WAIT,
            task=calls + offset,
            kernel=calls + offset,
        )
        for kind, start, dur in (
            (NodeKind.ARRIVE, tasks.start[calls], np.zeros_like(moved)),
            (NodeKind.FINISH, moved, tasks.end[calls] - moved),
        )
    )
    clipped = np.maximum(tasks.start[carried], begin_ns)
    first[carried] = last[carried] = parts.add_nodes(
        NodeKind.CARRIED,
        profile=profile,
        start=clipped,
        dur=np.maximum(tasks.end[carried] - clipped, 0),
        time_class=TimeClass.EARLIER_STEP,
        task=carried + offset,
        kernel=carried + offset,
    )
    parts.add_edges(begin, first[carried], EdgeKind.WINDOW, clipped - begin_ns)
    _add_edges(parts, plan, tasks, host, first, last)
    return DeviceNodes(
        first=first,
        last=last,
        observed_end=int(tasks.end[own].max(initial=begin_ns)),
        lag=max(0, int(tasks.end[carried].max(initial=begin_ns)) - begin_ns),
    )


def _add_edges(parts: Parts, plan: DevicePlan, tasks: Tasks, host: HostNodes | None, first: Int64, last: Int64) -> None:
    order, events, launched = plan.order, plan.events, plan.launched
    follows = ~tasks.carried[order.task]
    parts.add_edges(
        last[order.previous[follows]], first[order.task[follows]], EdgeKind.STREAM_ORDER, order.weight[follows]
    )
    parts.add_edges(last[events.previous], first[events.task], EdgeKind.EVENT, inferred=events.inferred)
    if host is not None:
        source = host.ending(tasks.lane.codes[launched.launcher].astype(np.int64), launched.moment)
        known = source >= 0
        parts.add_edges(source[known], first[launched.task[known]], EdgeKind.LAUNCH, launched.weight[known])
