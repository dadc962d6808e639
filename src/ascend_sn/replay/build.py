"""Build the dependency graph of chosen windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection
from msgspec.structs import asdict

from ascend_sn.analysis.host.host_calls import class_of_call
from ascend_sn.analysis.ranks.pipeline_stages import stages_of_profiles
from ascend_sn.model.kinds import HOST_KINDS
from ascend_sn.model.rows import Int64
from ascend_sn.replay.absent_members import held_by, members_of_groups
from ascend_sn.replay.blocking import guessed_waits, joins
from ascend_sn.replay.choose import Window
from ascend_sn.replay.device import DevicePlan, add_device, plan_device
from ascend_sn.replay.graph import EdgeKind, Edges, NodeKind, StepGraph, TimeClass, topological
from ascend_sn.replay.host import HostPlan, add_host, add_waits, met_nodes, plan_host, workers_of
from ascend_sn.replay.lineage import Queued, queued, with_lineage
from ascend_sn.replay.meetings import Meeting, meetings
from ascend_sn.replay.parts import Parts
from ascend_sn.replay.residuals import residuals
from ascend_sn.replay.streams import streams_of
from ascend_sn.replay.tasks import Tasks, joined, load_tasks
from ascend_sn.replay.waits import HostCall, Waits, waits_of

__all__ = ["build_graph"]

_SOURCE: Final = 0


class _Profile(msgspec.Struct, frozen=True):
    """What one profile added to the graph; `arrival` and `release` are the nodes of its collectives by task."""

    begin: int
    end: int
    arrival: dict[int, int]
    release: dict[int, int]
    guessed: Int64
    guessed_ns: Int64
    late_count: int


def build_graph(
    db: DuckDBPyConnection, windows: Sequence[Window], *, fine: bool = True, guesses: bool = True
) -> StepGraph:
    """Return the graph of the windows, joined where their collectives meet.

    Args:
        db: A connection with the tables of a run.
        windows: What to replay, one window per profile.
        fine: Whether every host slice becomes nodes of its own.
        guesses: Whether threads may be taken to wait for the device where the capture records no such call.
    """
    origin = min(window.start_ns - window.offset_ns for window in windows)
    loaded, queues = [], []
    for profile, window in enumerate(windows):
        tasks = load_tasks(db, window, profile, origin + window.offset_ns)
        queues.append(queued(db, window, tasks))
        loaded.append(with_lineage(tasks, queues[-1]))
    met = meetings(db, windows, loaded, origin)
    offsets = np.cumsum([0, *(len(tasks) for tasks in loaded)]).tolist()
    parts = Parts()
    parts.add_nodes(NodeKind.SOURCE, profile=0, start=0)
    profiles = [
        _add_profile(
            db,
            parts,
            window,
            loaded[profile],
            queues[profile],
            met,
            profile=profile,
            offset=offsets[profile],
            origin=origin,
            fine=fine,
            guesses=guesses,
        )
        for profile, window in enumerate(windows)
    ]
    transit = np.array([_add_meeting(parts, meeting, profiles, offsets) for meeting in met], np.int64)
    for before, after, own_ns in held_by(met, [window.rank for window in windows], members_of_groups(db)):
        parts.add_edges(transit[before], transit[after], EdgeKind.MEETING, own_ns, inferred=True)
    found = stages_of_profiles(db)
    stages = tuple(found[window.profile_id][0] if window.profile_id in found else None for window in windows)
    return _finished(parts, profiles, joined(loaded), windows, stages, met, transit)


def _add_profile(
    db: DuckDBPyConnection,
    parts: Parts,
    window: Window,
    tasks: Tasks,
    queue: Queued,
    met: Sequence[Meeting],
    *,
    profile: int,
    offset: int,
    origin: int,
    fine: bool,
    guesses: bool,
) -> _Profile:
    low = window.start_ns - window.offset_ns - origin
    span = (low, low + window.end_ns - window.start_ns)
    calls = {
        call.task: (call.start, meeting.transit_start + meeting.transit_ns)
        for meeting in met
        for call in meeting.calls
        if call.profile == profile
    }
    on_host = window.device_kind in HOST_KINDS
    device_plan = plan_device(db, window, tasks)
    host_plan = plan_host(tasks, queue, span, window.device_kind)
    begin = int(parts.add_nodes(NodeKind.WINDOW, profile=profile, start=low, time_class=TimeClass.HOST)[0])
    parts.add_edges(_SOURCE, begin, EdgeKind.WINDOW, low)
    host_calls = [HostCall(task, *times) for task, times in calls.items()] if on_host else []
    host = waits = None
    if host_plan is not None:
        waits = _waits(db, window, tasks, host_plan, device_plan, host_calls, guesses=guesses)
        host = add_host(
            parts,
            host_plan,
            tasks,
            waits,
            profile=profile,
            offset=offset,
            begin=begin,
            launched=device_plan.launched if device_plan else None,
            fine=fine,
        )
    arrival: dict[int, int] = {}
    release: dict[int, int] = {}
    if host is not None and waits is not None:
        for call, nodes in zip(host_calls, met_nodes(host, waits), strict=True):
            arrival[call.task], release[call.task] = nodes
    ends = [(host.last, 0)] if host is not None else []
    observed = span[1]
    guessed, guessed_ns = np.zeros(0, np.int64), np.zeros(0, np.int64)
    if device_plan is not None:
        moved = {task: end for task, (_, end) in calls.items()}
        device = add_device(
            parts, device_plan, tasks, host, moved, profile=profile, offset=offset, begin=begin, begin_ns=low
        )
        if host is not None and waits is not None:
            guessed, guessed_ns = add_waits(parts, host, tasks, waits, device.last)
        for task in calls:
            arrival[task], release[task] = int(device.first[task]), int(device.last[task])
        ends += [(node, -device.lag) for node in device.last[device_plan.order.last].tolist()]
        observed = max(observed, device.observed_end - device.lag)
    end = int(parts.add_nodes(NodeKind.WINDOW, profile=profile, start=observed, time_class=TimeClass.HOST)[0])
    for node, weight in ends:
        parts.add_edges(node, end, EdgeKind.WINDOW, weight)
    late = (device_plan.launched.late_count if device_plan else 0) + (host_plan.queue.late_count if host_plan else 0)
    return _Profile(begin, end, arrival, release, guessed, guessed_ns, late)


def _waits(
    db: DuckDBPyConnection,
    window: Window,
    tasks: Tasks,
    host: HostPlan,
    device: DevicePlan | None,
    calls: Sequence[HostCall],
    *,
    guesses: bool,
) -> Waits:
    guessed = None
    if guesses and device is not None and not _records_waits(db, window):
        guessed = guessed_waits(
            host.slices, host.main, host.window, tasks, device.own, device.lane, device.guessed_moment
        )
    return waits_of(
        tasks,
        host.main,
        host.window,
        calls=calls,
        device=None if device is None else device.waits,
        joined=joins(host.slices, host.main, host.window, workers_of(tasks, host.slices)),
        guessed=guessed,
    )


def _records_waits(db: DuckDBPyConnection, window: Window) -> bool:
    """Whether the capture holds calls that wait for the device; then what it does not call waiting is none."""
    names = db.execute(
        "select distinct level, name from host_call where profile_id = $profile", {"profile": window.profile_id}
    ).fetchall()
    return any(class_of_call(level, name) == "sync" for level, name in names)


def _add_meeting(parts: Parts, meeting: Meeting, profiles: Sequence[_Profile], offsets: Sequence[int]) -> int:
    first = meeting.calls[0]
    task = first.task + offsets[first.profile]
    node = int(
        parts.add_nodes(
            NodeKind.TRANSIT,
            profile=first.profile,
            start=meeting.transit_start,
            dur=meeting.transit_ns,
            time_class=TimeClass.COMMUNICATION,
            task=task,
            kernel=task,
        )[0]
    )
    for call in meeting.calls:
        arrived = profiles[call.profile].arrival[call.task]
        parts.add_edges(profiles[call.profile].begin if arrived < 0 else arrived, node, EdgeKind.MEETING)
        released = profiles[call.profile].release[call.task]
        if released >= 0:
            parts.add_edges(node, released, EdgeKind.MEETING)
    return node


def _finished(
    parts: Parts,
    profiles: Sequence[_Profile],
    tasks: Tasks,
    windows: Sequence[Window],
    stages: tuple[int | None, ...],
    met: Sequence[Meeting],
    transit: Int64,
) -> StepGraph:
    """Add the end of all, put the nodes in order, and say what the edges leave unexplained."""
    production = parts.add_nodes(NodeKind.PRODUCTION, profile=0, start=0, time_class=TimeClass.DATA_LOADING)
    parts.add_edges(_SOURCE, production, EdgeKind.DATA)
    nodes = parts.nodes()
    begins = np.array([profile.begin for profile in profiles], np.int64)
    ends = np.array([profile.end for profile in profiles], np.int64)
    observed = int((nodes.start[ends] - nodes.start[begins]).max())
    sink = parts.add_nodes(NodeKind.SINK, profile=0, start=observed)
    parts.add_edges(ends, sink, EdgeKind.WINDOW, -nodes.start[begins])
    parts.add_edges(production, sink, EdgeKind.DATA)
    nodes, edges = parts.nodes(), parts.edges()
    # What nothing leads to begins with its window.
    rooted = np.flatnonzero(np.bincount(edges.dst, minlength=len(nodes)) == 0)
    rooted = rooted[rooted != _SOURCE]
    parts.add_edges(begins[nodes.profile[rooted]], rooted, EdgeKind.WINDOW)
    edges = parts.edges()
    moment = nodes.start.copy()
    moment[_SOURCE] = moment.min()
    moment[ends], moment[sink] = moment.max() + 1, moment.max() + 2
    order, kept = topological(moment, edges.src, edges.dst)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    nodes, edges = nodes.take(order), _renumbered(edges.take(kept), rank)
    types = np.array([meeting.residual for meeting in met], np.uint8)
    delta, kind, violations = residuals(nodes, edges, tasks, rank[transit], types)
    return StepGraph(
        nodes=nodes,
        edges=edges,
        residual=delta,
        residual_type=kind,
        tasks=tasks,
        observed_ns=observed,
        violation_count=violations
        + int(np.count_nonzero(~kept))
        + sum(profile.late_count for profile in profiles)
        + sum(not meeting.is_consistent for meeting in met),
        profile_ids=tuple(window.profile_id for window in windows),
        stages=stages,
        guessed=rank[np.concatenate([profile.guessed for profile in profiles])],
        guessed_ns=np.concatenate([profile.guessed_ns for profile in profiles]),
        transit=rank[transit],
        collectives=tuple(meeting.collective for meeting in met),
        streams=streams_of(nodes, edges, tasks, len(windows)),
    )


def _renumbered(edges: Edges, rank: Int64) -> Edges:
    columns: dict[str, Any] = {**asdict(edges), "src": rank[edges.src], "dst": rank[edges.dst]}
    renumbered = Edges(**columns)
    return renumbered.take(np.lexsort((renumbered.src, renumbered.dst)))
