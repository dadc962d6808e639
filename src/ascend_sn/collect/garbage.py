"""Python's garbage collections while a session is open: when, how long, on which thread."""

from __future__ import annotations

import gc
from collections import deque
from contextlib import suppress
from threading import get_native_id
from time import perf_counter_ns

from ascend_sn.model.trace_schema import COLLECTION_CATEGORY, COLLECTION_NAME, HOST_CALL, NOT_GIVEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.recorder import Recorder

__all__ = ["SHORTEST_NS", "CollectionWatch"]

SHORTEST_NS = 100_000
"""Shorter collections are summed and have no row: most of those of the youngest objects take less."""

_MOST_WAITING = 16_384
"""Collections that wait to be taken; they are taken once a second, so more come only while nothing can be written."""


class CollectionWatch:
    """Notes collections from `start` to `stop`; `take` turns them into rows.

    Python calls it in the middle of whatever the program, or this recorder, was doing, with any lock held. So it
    only puts numbers into a queue, and rows are made where the recorder writes.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._waiting: deque[tuple[int, int, int]] = deque()
        self._begin_ns = 0
        self._total_ns = 0
        self._lost_count = 0

    @property
    def has_waiting(self) -> bool:
        """Whether `take` has something to do."""
        return bool(self._waiting)

    def start(self) -> None:
        """Begin."""
        self._begin_ns = 0
        gc.callbacks.append(self._collected)

    def take(self) -> None:
        """Turn what was noted so far into rows."""
        recorder = self._recorder
        # Before one is taken out of the queue: this may write, and fail.
        name_id = recorder.names.described(COLLECTION_NAME, {"category": COLLECTION_CATEGORY}) if self._waiting else 0
        with suppress(IndexError):  # nothing waits any more; two threads may take at a time
            while True:
                thread, begin_ns, dur_ns = self._waiting.popleft()
                begin_ns += recorder.clock.offset_ns
                recorder.buffer.append(HOST_CALL, thread, name_id, begin_ns, dur_ns, NOT_GIVEN, NOT_GIVEN)
        lost_count, self._lost_count = self._lost_count, 0
        if lost_count:
            recorder.buffer.add_lost(lost_count)

    def stop(self) -> int:
        """End, and return how long all collections took together, ns."""
        self.abandon()
        self.take()
        return self._total_ns

    def abandon(self) -> None:
        """End, and leave what was noted: a forked child must not write."""
        with suppress(ValueError):  # the program may have emptied the list
            gc.callbacks.remove(self._collected)

    def _collected(self, phase: str, _info: object) -> None:
        # Never two at a time: Python starts no collection, on any thread, before the one that runs has ended.
        if phase == "start":
            self._begin_ns = perf_counter_ns()
            return
        begin_ns, self._begin_ns = self._begin_ns, 0
        if not begin_ns:  # it had begun before the session
            return
        dur_ns = perf_counter_ns() - begin_ns
        self._total_ns += dur_ns
        if dur_ns < SHORTEST_NS:
            return
        if len(self._waiting) < _MOST_WAITING:
            self._waiting.append((get_native_id(), begin_ns, dur_ns))
        else:
            self._lost_count += 1
