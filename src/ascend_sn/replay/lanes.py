"""Tasks of a device: when each was launched, in which order a stream runs them, which events they wait for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ascend_sn.model.rows import Bool, Int64
from ascend_sn.replay.graph import NO_TASK
from ascend_sn.replay.tasks import SourceTable, Tasks

__all__ = ["EventPairs", "Launches", "StreamOrder", "event_pairs", "is_wait", "launches", "stream_order"]

_WAIT: Final = re.compile(r"EVENT_?WAIT|STREAM_?WAIT|stream wait event", re.IGNORECASE)
_RECORD: Final = re.compile(r"EVENT_?RECORD", re.IGNORECASE)


LAUNCHES_AT_LEAST: Final = 8
"""Launches of a lane from which on the least latency among them is taken for the lane's own."""

_NEVER: Final = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Launches:
    """Tasks and the moment at which their launch is done.

    Attributes:
        task: Position of each launched task.
        launcher: Position of the slice that launched it.
        moment: Within the launcher, ns; a task that starts before its launch call returns was launched by then.
        weight: Least time from there to a start on its lane, ns.
        late_count: Tasks that start before their launcher does; their launch is taken to be done when they start.
    """

    task: Int64
    launcher: Int64
    moment: Int64
    weight: Int64
    late_count: int


def launches(task: Int64, launcher: Int64, lane: Int64, tasks: Tasks) -> Launches:
    """Place the launches of tasks in time.

    Args:
        task: Launched tasks.
        launcher: What launched each.
        lane: Where each runs; the least latency is taken per lane.
        tasks: All tasks.
    """
    start, called, returned = tasks.start[task], tasks.start[launcher], tasks.end[launcher]
    latency = start - returned
    lanes, lane_of = np.unique(lane, return_inverse=True)
    least = np.full(len(lanes), _NEVER, np.int64)
    after = latency >= 0
    np.minimum.at(least, lane_of[after], latency[after])
    # Of a lane that is seldom launched on the least latency is a long one; then the least of all lanes counts.
    counts = np.bincount(lane_of[after], minlength=len(lanes))
    least = np.where(counts >= LAUNCHES_AT_LEAST, least, least.min(initial=_NEVER))
    least[least == _NEVER] = 0
    weight = least[lane_of]
    moment = np.minimum(np.clip(start - weight, called, returned), start)
    return Launches(task, launcher, moment, np.minimum(weight, start - moment), int(np.count_nonzero(start < called)))


@dataclass(frozen=True)
class StreamOrder:
    """Neighbours on the streams: the later task, the earlier one, and the least gap of their stream, ns."""

    task: Int64
    previous: Int64
    weight: Int64
    last: Int64


def stream_order(device: Int64, lane: Int64, tasks: Tasks) -> StreamOrder:
    """Order the tasks of each stream by their start.

    Args:
        device: Device tasks.
        lane: Stream of each.
        tasks: All tasks.

    Returns:
        Every task but the first of each stream with its predecessor; `last` holds the last task of each.
    """
    order = np.lexsort((tasks.row_id[device], tasks.end[device], tasks.start[device], lane))
    ordered, lane = device[order], lane[order]
    same = lane[1:] == lane[:-1]
    task, previous = ordered[1:][same], ordered[:-1][same]
    gap = tasks.start[task] - tasks.end[previous]
    least = np.full(int(lane.max(initial=-1)) + 1, _NEVER, np.int64)
    apart = gap >= 0
    np.minimum.at(least, lane[1:][same][apart], gap[apart])
    least[least == _NEVER] = 0
    return StreamOrder(task, previous, least[lane[1:][same]], ordered[np.append(~same, True)[: len(ordered)]])


@dataclass(frozen=True)
class EventPairs:
    """Tasks that wait for an event, and the task before it; `inferred` where no arrow of the capture says so."""

    task: Int64
    previous: Int64
    inferred: Bool


def is_wait(tasks: Tasks) -> Bool:
    """Return which device tasks only wait for an event."""
    waits: Bool = tasks.is_device & tasks.kind.matches(["sync"]) & tasks.name.where(_WAIT.search)
    return waits


def event_pairs(tasks: Tasks, device: Int64, lane: Int64, moment: Int64, flows: list[tuple[Any, ...]]) -> EventPairs:
    """Pair waits with what they wait for: by arrows, else with the nearest earlier record in host order.

    Args:
        tasks: All tasks.
        device: Device tasks.
        lane: Stream of each.
        moment: When each was launched, ns.
        flows: Arrows of kind event: src_table, src_id, dst_table, dst_id.
    """
    by_kernel = {int(row): int(at) for row, at in zip(tasks.row_id[device], device, strict=True)}
    lane_of = np.full(len(tasks), -1, np.int64)
    lane_of[device] = lane
    moment_of = np.full(len(tasks), -1, np.int64)
    moment_of[device] = moment
    calls = np.flatnonzero(tasks.table == SourceTable.HOST_CALL)
    by_call = {int(row): int(at) for row, at in zip(tasks.row_id[calls], calls, strict=True)}
    pairs: list[tuple[int, int, bool]] = []
    for source_table, source_id, target_table, target_id in flows:
        task = by_kernel.get(target_id, NO_TASK) if target_table == "kernel" else NO_TASK
        if task == NO_TASK:
            continue
        if source_table == "kernel":
            previous = by_kernel.get(source_id, NO_TASK)
        else:
            call = by_call.get(source_id, NO_TASK) if source_table == "host_call" else NO_TASK
            recorded = NO_TASK if call == NO_TASK else int(tasks.start[call])
            previous = _latest(tasks, device, lane_of, moment_of, task, recorded) if call != NO_TASK else NO_TASK
        if previous != NO_TASK and tasks.end[previous] <= tasks.end[task]:
            pairs.append((task, previous, False))
    paired = {task for task, _, _ in pairs}
    records = device[(tasks.kind.matches(["sync"]) & tasks.name.where(_RECORD.search))[device]]
    for task in device[is_wait(tasks)[device]].tolist():
        if task not in paired:
            previous = _latest(tasks, records, lane_of, moment_of, task, int(moment_of[task]))
            if previous != NO_TASK:
                pairs.append((task, previous, True))
    found = np.array(pairs, np.int64).reshape(-1, 3)
    return EventPairs(found[:, 0], found[:, 1], found[:, 2].astype(np.bool_))


def _latest(tasks: Tasks, candidates: Int64, lane_of: Int64, moment_of: Int64, task: int, by: int) -> int:
    """Return the candidate on another stream that was launched last before `by` and ended in time."""
    fitting = candidates[
        (moment_of[candidates] <= by)
        & (lane_of[candidates] != lane_of[task])
        & (tasks.end[candidates] <= tasks.end[task])
    ]
    if not len(fitting):
        return NO_TASK
    return int(fitting[np.lexsort((tasks.end[fitting], moment_of[fitting]))[-1]])
