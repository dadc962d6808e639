"""Tasks of a device: when each was launched, in which order a stream runs them, which events they wait for."""

from __future__ import annotations

import re
from heapq import heappop, heappush
from typing import Any, Final

import msgspec
import numpy as np

from ascend_sn.model.kinds import OWN_WORK_KINDS
from ascend_sn.model.rows import Bool, Int64
from ascend_sn.replay.graph import NO_TASK
from ascend_sn.replay.tasks import SourceTable, Tasks

__all__ = [
    "SCHEDULING_NS",
    "EventPairs",
    "Launches",
    "StreamOrder",
    "boundary_pairs",
    "event_pairs",
    "is_wait",
    "launches",
    "stream_order",
]

_WAIT: Final = re.compile(r"EVENT_?WAIT|STREAM_?WAIT|stream wait event", re.IGNORECASE)
_RECORD: Final = re.compile(r"EVENT_?RECORD", re.IGNORECASE)


SCHEDULING_NS: Final = 30_000
"""A kernel that starts at most so long after it could is late by scheduling alone (30 us, as HTA's kernel wait)."""

BOUNDARY_NS: Final = 200_000
"""A task that starts at most so long after one of another stream may have waited for it (0.2 ms)."""

_NEVER: Final = np.iinfo(np.int64).max


class Launches(msgspec.Struct, frozen=True):
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
        lane: Where each runs. The least latency is taken per lane, of the tasks that found their lane free when
            they were launched; over all lanes for one without such a task, and for one whose tasks all started more
            than 30 us later than that: they waited for something else.
        tasks: All tasks.
    """
    start, called, returned = tasks.start[task], tasks.start[launcher], tasks.end[launcher]
    latency = start - returned
    lanes, lane_of = np.unique(lane, return_inverse=True)
    counted = (latency >= 0) & (_free_from(lane_of, start, tasks.end[task]) <= returned)
    least = np.full(len(lanes), _NEVER, np.int64)
    np.minimum.at(least, lane_of[counted], latency[counted])
    # A stream whose quickest task took much longer than that of another stream has tasks that wait for others.
    quickest = int(least.min(initial=_NEVER))
    least[least - quickest > SCHEDULING_NS] = quickest
    least[least == _NEVER] = 0
    weight = least[lane_of]
    moment = np.minimum(np.clip(start - weight, called, returned), start)
    late = int(np.count_nonzero(start < called))
    return Launches(task, launcher, moment, np.minimum(weight, start - moment), late)


def _free_from(lane: Int64, start: Int64, end: Int64) -> Int64:
    """Return when the lane of each task has done with all that started before it."""
    order = np.lexsort((end, start, lane))
    lane, end = lane[order], end[order]
    low = int(end.min(initial=0))
    stride = int(end.max(initial=0)) - low + 1
    # Shifted by lane, the running maximum begins anew with each.
    done = np.maximum.accumulate(end - low + lane * stride) - lane * stride + low
    before = np.append(low, done[:-1])[: len(done)]
    before[np.append(True, lane[1:] != lane[:-1])[: len(lane)]] = low
    free = np.empty_like(end)
    free[order] = before
    return free


class StreamOrder(msgspec.Struct, frozen=True):
    """Neighbours on the streams: the later task, the earlier one, and the least gap of their stream, ns.

    `last` holds the last task of each stream.
    """

    task: Int64
    previous: Int64
    weight: Int64
    last: Int64


def stream_order(device: Int64, lane: Int64, tasks: Tasks, launched: Int64) -> StreamOrder:
    """Order the tasks of each stream by their start.

    Args:
        device: Device tasks.
        lane: Stream of each.
        tasks: All tasks.
        launched: When each task was launched, ns; before everything where that is not known.

    Returns:
        Every task but the first of each stream, with its predecessor. The least gap of a stream is known where a task
        was launched while its predecessor ran: any other task came late by itself. One of more than 30 us counts as
        none. Tasks whose stream was not recorded may overlap; they follow the one that had ended last when they began.
    """
    order = np.lexsort((tasks.row_id[device], tasks.end[device], tasks.start[device], lane))
    ordered, lane = device[order], lane[order]
    follows = np.append(False, lane[1:] == lane[:-1])[: len(ordered)]
    closes = np.append(~follows[1:], True)[: len(ordered)]
    previous = np.where(follows, np.roll(ordered, 1), NO_TASK)
    last = ordered[closes]
    beside = follows & ~tasks.has_stream[ordered] & (tasks.end[previous] > tasks.start[ordered])
    for number in np.unique(lane[beside]).tolist():
        mine = lane == number
        previous[mine] = _ended_before(ordered[mine], tasks)
        last[lane[closes] == number] = ordered[mine][np.argmax(tasks.end[ordered[mine]])]
    known = previous != NO_TASK
    task, previous, lane = ordered[known], previous[known], lane[known]
    gap = tasks.start[task] - tasks.end[previous]
    least = np.full(int(lane.max(initial=-1)) + 1, _NEVER, np.int64)
    np.minimum.at(least, lane[gap >= 0], gap[gap >= 0])
    at_once = np.zeros(len(least), np.bool_)
    at_once[lane[(gap >= 0) & (launched[task] <= tasks.end[previous])]] = True
    # What lies between kernels that do not follow at once is no hand-over.
    least[~at_once | (least > SCHEDULING_NS)] = 0
    return StreamOrder(task, previous, least[lane], last)


def _ended_before(members: Int64, tasks: Tasks) -> Int64:
    """Return for each of some tasks, ordered by start, the one that had ended last by then; NO_TASK for none."""
    found = np.full(len(members), NO_TASK, np.int64)
    running: list[tuple[int, int]] = []
    latest = NO_TASK
    times = zip(members.tolist(), tasks.start[members].tolist(), tasks.end[members].tolist(), strict=True)
    for at, (task, start, end) in enumerate(times):
        while running and running[0][0] <= start:
            latest = heappop(running)[1]
        found[at] = latest
        heappush(running, (end, task))
    return found


class EventPairs(msgspec.Struct, frozen=True):
    """Tasks that wait for an event, and the task before it; `inferred` where no arrow of the capture says so."""

    task: Int64
    previous: Int64
    inferred: Bool

    def __add__(self, other: EventPairs) -> EventPairs:
        return EventPairs(
            np.concatenate([self.task, other.task]),
            np.concatenate([self.previous, other.previous]),
            np.concatenate([self.inferred, other.inferred]),
        )


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


def boundary_pairs(
    tasks: Tasks, own: Int64, lane: Int64, launched: Launches, order: StreamOrder, events: EventPairs
) -> EventPairs:
    """Guess that a task waited for one of another stream where computing and communication follow each other.

    A task that starts more than 30 us after its launch, its predecessor on the stream and its events allow, and
    at most 0.2 ms after a task of the other sort (communication or not) ended on another stream of the device,
    waited for that one. So did a wait for an event that ends then, whatever it is for. Communication that is late even
    so waited for communication on another stream (of another communicator) that ended at most 30 us before.

    Args:
        tasks: All tasks.
        own: Device tasks.
        lane: Stream of each.
        launched: Their launches.
        order: Their order on the streams.
        events: Known events.
    """
    explained = np.full(len(tasks), np.iinfo(np.int64).min, np.int64)
    explained[launched.task] = launched.moment + launched.weight
    np.maximum.at(explained, order.task, tasks.end[order.previous] + order.weight)
    np.maximum.at(explained, events.task, tasks.end[events.previous])
    lane_of = np.full(len(tasks), -1, np.int64)
    lane_of[own] = lane
    waits = is_wait(tasks)[own]
    communicates = tasks.kind.matches(["communication"])[own]
    works = communicates | tasks.kind.matches(OWN_WORK_KINDS)[own]
    found = EventPairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))
    for sort in (False, True):
        waiting, before = waits | works & (communicates == sort), works & (communicates != sort)
        found += _following(tasks, own[waiting], own[before], lane_of, explained, BOUNDARY_NS)
    np.maximum.at(explained, found.task, tasks.end[found.previous])
    calls = own[communicates]
    return found + _following(tasks, calls, calls, lane_of, explained, SCHEDULING_NS)


def _following(
    tasks: Tasks, waiting: Int64, before: Int64, lane_of: Int64, explained: Int64, at_most_ns: int
) -> EventPairs:
    """Pair tasks that are later than explained with what ended last before them on another stream of their device."""
    begin = np.where(is_wait(tasks), tasks.end, tasks.start)
    waiting = waiting[begin[waiting] - SCHEDULING_NS > explained[waiting]]
    device = np.array([text.partition("/")[0] for text in tasks.lane.values] or [""])[tasks.lane.codes]
    pairs: list[tuple[int, int]] = []
    for one in np.unique(device[waiting]).tolist():
        late, earlier = waiting[device[waiting] == one], before[device[before] == one]
        earlier = earlier[np.argsort(tasks.end[earlier], kind="stable")]
        at = np.searchsorted(tasks.end[earlier], begin[late], side="right") - 1
        late, previous = late[at >= 0], earlier[at[at >= 0]]
        close = (
            (begin[late] - tasks.end[previous] <= at_most_ns)
            & (tasks.end[previous] > explained[late])
            & (lane_of[previous] != lane_of[late])
            & (tasks.start[previous] < begin[late])
        )
        pairs += zip(late[close].tolist(), previous[close].tolist(), strict=True)
    task, previous = np.array(pairs, np.int64).reshape(-1, 2).T
    return EventPairs(task, previous, np.ones(len(task), np.bool_))


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
