"""Where host threads only wait: for the device, for a copy, for another thread."""

from __future__ import annotations

import re
from typing import Final

import msgspec
import numpy as np

from ascend_sn._native.intervals import union
from ascend_sn.model.rows import Bool, Int64
from ascend_sn.replay.lanes import Launches
from ascend_sn.replay.tasks import SourceTable, Tasks
from ascend_sn.replay.threads import REST_NS, Slices, Stretches

__all__ = ["DeviceWaits", "GuessedWaits", "Joins", "device_waits", "disjoint", "guessed_waits", "joins"]

_ASYNCHRONOUS: Final = re.compile(r"Async|Batch", re.IGNORECASE)
_WHOLE_DEVICE: Final = re.compile(r"DeviceSynchronize|SynchronizeDevice|CtxSynchronize", re.IGNORECASE)

_BUSY_RATIO: Final = 0.5
"""Share of a quiet stretch of the main thread that another thread works, from which on it is waited for."""


class DeviceWaits(msgspec.Struct, frozen=True):
    """Pairs of a host call and a task that it waits for; from `start` on it does nothing else, ns."""

    call: Int64
    task: Int64
    start: Int64


class GuessedWaits(msgspec.Struct, frozen=True):
    """Stretches from `start` on in which the main thread seems to wait for tasks; `stretch` is that of each task."""

    start: Int64
    stretch: Int64
    task: Int64


def device_waits(tasks: Tasks, device: Int64, lane: Int64, moment: Int64, launched: Launches) -> DeviceWaits:
    """Find what blocking calls wait for.

    A call on the whole device waits for the last task of each stream that was launched before it, another one
    for the stream whose last task ends last, if that is before the call returns. A call that launches a copy
    and returns after its end waits for the copy.

    Args:
        tasks: All tasks.
        device: Device tasks.
        lane: Stream of each.
        moment: When each was launched, ns.
        launched: Launches of the device tasks.
    """
    waits, copies = tasks.call_class.matches(["sync"]), tasks.call_class.matches(["copy"])
    calls = np.flatnonzero(waits | (copies & ~tasks.name.where(_ASYNCHRONOUS.search)))
    called, returned = tasks.start[calls], tasks.end[calls]
    whole = tasks.name.take(calls).where(_WHOLE_DEVICE.search)
    last, ends = _last_launched(tasks, device, lane, moment, called, returned)
    chosen = ends >= 0
    if chosen.size:
        latest = np.zeros_like(chosen)
        latest[np.arange(len(calls)), ends.argmax(axis=1)] = True
        chosen &= whole[:, None] | latest
    row, column_of = np.nonzero(chosen)
    finished = np.flatnonzero(
        tasks.kind.matches(["copy"])[launched.task]
        & (tasks.table[launched.launcher] == SourceTable.HOST_CALL)
        & (tasks.end[launched.task] <= tasks.end[launched.launcher])
    )
    return DeviceWaits(
        np.concatenate([calls[row], launched.launcher[finished]]),
        np.concatenate([last[row, column_of], launched.task[finished]]),
        np.concatenate([called[row], launched.moment[finished]]),
    )


def guessed_waits(
    slices: Slices, main: int, window: tuple[int, int], tasks: Tasks, device: Int64, lane: Int64, moment: Int64
) -> GuessedWaits:
    """Guess where the main thread waits for the device, for a capture that records no call that would.

    That is a quiet stretch at the start of which the device works on, and which that work fills by half at least.

    Args:
        slices: Host slices, clipped to the window.
        main: The main thread.
        window: Start and end of the window, ns.
        tasks: All tasks.
        device: Device tasks.
        lane: Stream of each.
        moment: When each was launched, ns; for one whose launch is not known, before everything.
    """
    start, end = _quiet(slices, main, window)
    last, ends = _last_launched(tasks, device, lane, moment, start, end)
    filled = ends.max(axis=1, initial=-1) - start >= _BUSY_RATIO * (end - start)
    stretch, column = np.nonzero((ends > start[:, None]) & filled[:, None])
    kept, stretch_of = np.unique(stretch, return_inverse=True)
    return GuessedWaits(start[kept], stretch_of, last[stretch, column])


class Joins(msgspec.Struct, frozen=True):
    """Stretches [start, end) of the main thread in which it waits for the work of another thread."""

    start: Int64
    end: Int64
    other: Int64


def joins(slices: Slices, main: int, window: tuple[int, int], workers: Int64) -> Joins:
    """Find where the main thread waits for workers: a quiet stretch that a worker fills by half at least.

    Args:
        slices: Host slices, clipped to the window.
        main: The main thread.
        window: Start and end of the window, ns.
        workers: Threads that work for the main one (they run operators).
    """
    start, end = _quiet(slices, main, window)
    best = np.zeros(len(start), np.int64)
    found = np.full((3, len(start)), -1, np.int64)
    for worker in workers[workers != main].tolist():
        theirs = slices.thread == worker
        begins, ends = union(slices.start[theirs], slices.end[theirs])
        first, last = np.searchsorted(begins, start), np.searchsorted(ends, end, side="right")
        some = last > first
        total = np.append(0, np.cumsum(ends - begins))
        busy = np.where(some, total[last] - total[np.minimum(first, last)], 0)
        better = some & (busy > best) & (busy >= _BUSY_RATIO * (end - start))
        best[better] = busy[better]
        found[0, better] = begins[first[better]]
        found[1, better] = ends[last[better] - 1]
        found[2, better] = worker
    chosen = found[2] >= 0
    return Joins(found[0, chosen], found[1, chosen], found[2, chosen])


def _quiet(slices: Slices, main: int, window: tuple[int, int]) -> tuple[Int64, Int64]:
    """Return the stretches of 0.1 ms at least in which no slice of the main thread begins or ends."""
    mine = slices.thread == main
    bounds = np.unique(np.concatenate([slices.start[mine], slices.end[mine], np.array(window, np.int64)]))
    quiet = np.diff(bounds) >= REST_NS
    return bounds[:-1][quiet], bounds[1:][quiet]


def _last_launched(
    tasks: Tasks, device: Int64, lane: Int64, moment: Int64, begin: Int64, end: Int64
) -> tuple[Int64, Int64]:
    """Return per stretch and stream the last task launched by its begin, and its end; -1 where that is too late."""
    lanes = np.unique(lane)
    ends = np.full((len(begin), len(lanes)), -1, np.int64)
    last = np.full((len(begin), len(lanes)), -1, np.int64)
    for column, number in enumerate(lanes.tolist()):
        mine, asked = device[lane == number], moment[lane == number]
        order = np.lexsort((tasks.end[mine], asked))
        mine, asked = mine[order], asked[order]
        at = np.searchsorted(asked, begin, side="right") - 1
        task = mine[np.maximum(at, 0)]
        fits = (at >= 0) & (tasks.end[task] <= end)
        last[:, column] = np.where(fits, task, -1)
        ends[:, column] = np.where(fits, tasks.end[task], -1)
    return last, ends


def disjoint(stretches: Stretches) -> Bool:
    """Return which stretches can be kept so that none overlaps another of its thread; earlier ones are."""
    kept = np.zeros(len(stretches), np.bool_)
    free_from: dict[int, int] = {}
    order = np.lexsort((-stretches.end, stretches.start, stretches.thread))
    for at in order.tolist():
        thread = int(stretches.thread[at])
        if int(stretches.start[at]) >= free_from.get(thread, 0) and stretches.end[at] > stretches.start[at]:
            kept[at] = True
            free_from[thread] = int(stretches.end[at])
    return kept
