"""All waits of the host threads of a profile: in collectives, for the device, for other threads.

They are found before the threads are cut, and connected afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from ascend_sn.model.rows import Bool, Int64
from ascend_sn.replay.blocking import DeviceWaits, GuessedWaits, Joins, disjoint
from ascend_sn.replay.tasks import Tasks
from ascend_sn.replay.threads import Moments, Stretches

__all__ = ["HostCall", "Waits", "waits_of"]


class HostCall(msgspec.Struct, frozen=True):
    """A collective that a host thread is in from `start`; it waits until `release`, ns."""

    task: int
    start: int
    release: int


class Waits(msgspec.Struct, frozen=True):
    """Stretches in which threads wait, by reason; of two that overlap the later one is not kept.

    Attributes:
        met: In collectives; `met_kept` which of them.
        device: In calls that wait for the device; `device_call` is the call of each.
        device_pair: Stretch of each of `device_task`, the tasks that are waited for.
        joined: For another thread, `joined_with`.
        guessed: For the device, as is guessed; `guessed_pair` and `guessed_task` as above.
    """

    met: Stretches
    met_kept: Bool
    device: Stretches
    device_kept: Bool
    device_call: Int64
    device_pair: Int64
    device_task: Int64
    joined: Stretches
    joined_kept: Bool
    joined_with: Int64
    guessed: Stretches
    guessed_kept: Bool
    guessed_pair: Int64
    guessed_task: Int64

    def stretches(self) -> Stretches:
        """Return the stretches that are kept."""
        return _together(
            [
                _some(self.met, self.met_kept),
                _some(self.device, self.device_kept),
                _some(self.joined, self.joined_kept),
                _some(self.guessed, self.guessed_kept),
            ]
        )

    def moments(self, tasks: Tasks) -> Moments:
        """Return where threads must be cut for the waits, beside the stretches."""
        return Moments(self.device.thread, tasks.start[self.device_call]) + Moments(self.met.thread, self.met.start)


def waits_of(
    tasks: Tasks,
    main: int,
    window: tuple[int, int],
    *,
    calls: Sequence[HostCall],
    device: DeviceWaits | None,
    joined: Joins,
    guessed: GuessedWaits | None,
) -> Waits:
    """Put the waits of a profile together.

    Args:
        tasks: Its tasks.
        main: Its main thread.
        window: Start and end of the window, ns; calls that it cuts are left out.
        calls: Collectives on host threads.
        device: Calls that wait for the device.
        joined: Waits of the main thread for others.
        guessed: Guessed waits for the device.
    """
    thread = tasks.lane.codes.astype(np.int64)
    met = Stretches(
        thread[np.array([call.task for call in calls], np.int64)],
        np.array([call.start for call in calls], np.int64),
        np.array([call.release for call in calls], np.int64),
    )
    call, pair, task, blocked = _device_stretches(device, tasks, window)
    with_main = np.full(len(joined.start), main, np.int64)
    others = Stretches(with_main, joined.start, joined.end)
    silent, silent_pair, silent_task = _guessed_stretches(guessed, tasks, main)
    parts = [met, blocked, others, silent]
    kept = np.split(disjoint(_together(parts)), np.cumsum([len(part) for part in parts])[:-1])
    return Waits(
        met=met,
        met_kept=kept[0],
        device=blocked,
        device_kept=kept[1],
        device_call=call,
        device_pair=pair,
        device_task=task,
        joined=others,
        joined_kept=kept[2],
        joined_with=joined.other,
        guessed=silent,
        guessed_kept=kept[3],
        guessed_pair=silent_pair,
        guessed_task=silent_task,
    )


def _device_stretches(
    waits: DeviceWaits | None, tasks: Tasks, window: tuple[int, int]
) -> tuple[Int64, Int64, Int64, Stretches]:
    """Return the blocking calls, the call of each pair, its task, and when each call only waits."""
    none = np.zeros(0, np.int64)
    if waits is None or not len(waits.call):
        return none, none, none, Stretches(none, none, none)
    inside = (tasks.start[waits.call] >= window[0]) & (tasks.end[waits.call] <= window[1])
    call, pair = np.unique(waits.call[inside], return_inverse=True)
    task = waits.task[inside]
    start = np.full(len(call), np.iinfo(np.int64).max, np.int64)
    np.minimum.at(start, pair, waits.start[inside])
    release = start.copy()
    np.maximum.at(release, pair, tasks.end[task])
    return call, pair, task, Stretches(tasks.lane.codes[call].astype(np.int64), start, release)


def _guessed_stretches(guessed: GuessedWaits | None, tasks: Tasks, main: int) -> tuple[Stretches, Int64, Int64]:
    none = np.zeros(0, np.int64)
    if guessed is None:
        return Stretches(none, none, none), none, none
    release = guessed.start.copy()
    np.maximum.at(release, guessed.stretch, tasks.end[guessed.task])
    thread = np.full(len(release), main, np.int64)
    return Stretches(thread, guessed.start, release), guessed.stretch, guessed.task


def _some(stretches: Stretches, chosen: Bool) -> Stretches:
    return Stretches(stretches.thread[chosen], stretches.start[chosen], stretches.end[chosen])


def _together(parts: Sequence[Stretches]) -> Stretches:
    return Stretches(
        np.concatenate([part.thread for part in parts]),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
    )
