"""Host threads as chains of nodes: their time cut where something begins, ends, is launched or is waited for.

A thread is a row of bursts. The main thread is one burst over the whole window: between its slices the program
itself runs. Another thread rests in its longer gaps, and something wakes it; shorter gaps are its own work.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from ascend_sn._native.intervals import union
from ascend_sn._native.nesting import enclosing, nest
from ascend_sn.model.rows import Bool, Int64

__all__ = ["REST_NS", "SOURCE_NODE", "Bursts", "Moments", "Slices", "Stretches", "ThreadNodes", "bursts", "cut_threads"]

REST_NS: Final = 100_000
"""A gap of a thread other than the main one, from which on it rests (0.1 ms)."""

_OUTER_DEPTH: Final = 1
"""Slices of at most this depth are cut out of a graph that would be too large otherwise."""

SOURCE_NODE: Final = -1
"""In place of a node: nothing of this thread comes before."""


class Slices(msgspec.Struct, frozen=True):
    """Slices of the host threads of one profile with a duration; `task` is their position in the tasks."""

    thread: Int64
    start: Int64
    end: Int64
    task: Int64


class Moments(msgspec.Struct, frozen=True):
    """Points in time on threads, ns."""

    thread: Int64
    at: Int64

    @staticmethod
    def none() -> Moments:
        """No moment at all."""
        return Moments(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def __add__(self, other: Moments) -> Moments:
        return Moments(np.concatenate([self.thread, other.thread]), np.concatenate([self.at, other.at]))


class Stretches(msgspec.Struct, frozen=True):
    """Stretches [start, end) of threads, disjoint per thread, ns."""

    thread: Int64
    start: Int64
    end: Int64

    def __len__(self) -> int:
        return len(self.thread)


class Bursts(Stretches, frozen=True):
    """Stretches in which a thread works, by thread and time."""


class _Clock:
    """Threads and moments of a window as one ascending number."""

    def __init__(self, window: tuple[int, int]) -> None:
        self._low = window[0]
        self._stride = window[1] - window[0] + 1

    def key(self, thread: Int64, moment: Int64) -> Int64:
        key: Int64 = thread * self._stride + np.clip(moment - self._low, 0, self._stride - 1)
        return key

    def thread(self, key: Int64) -> Int64:
        thread: Int64 = key // self._stride
        return thread

    def moment(self, thread: Int64, key: Int64) -> Int64:
        moment: Int64 = key - thread * self._stride + self._low
        return moment


class ThreadNodes(msgspec.Struct, frozen=True):
    """Nodes of the threads by thread and time.

    Attributes:
        thread: Thread of each node.
        start: When it starts, ns.
        dur: ns; 0 where the thread waits, and for the first node of a burst.
        task: Innermost slice, -1 where there is none.
        is_first: Whether it only marks the begin of a burst.
        is_blocked: Whether it stands for waiting.
        previous: Node before it on the thread, SOURCE_NODE for the first one.
    """

    thread: Int64
    start: Int64
    dur: Int64
    task: Int64
    is_first: Bool
    is_blocked: Bool
    previous: Int64
    _from: Int64
    _to: Int64
    _clock: _Clock

    def __len__(self) -> int:
        return len(self.thread)

    @property
    def begin(self) -> Int64:
        """Where each node begins in the capture, ns; for a waiting one where its stretch does."""
        return self._clock.moment(self.thread, self._from)

    def ending(self, thread: Int64, moment: Int64) -> Int64:
        """Return the last node of each thread that ends by each moment, SOURCE_NODE for none."""
        if not len(self):
            return np.full(len(moment), SOURCE_NODE, np.int64)
        at = np.searchsorted(self._to, self._clock.key(thread, moment), side="right") - 1
        found = np.maximum(at, 0)
        return np.where((at >= 0) & (self.thread[found] == thread), found, SOURCE_NODE).astype(np.int64)

    def starting(self, thread: Int64, moment: Int64) -> Int64:
        """Return the node of each thread that begins at each moment, SOURCE_NODE where none does."""
        if not len(self):
            return np.full(len(moment), SOURCE_NODE, np.int64)
        key = self._clock.key(thread, moment)
        at = np.minimum(np.searchsorted(self._from, key), len(self) - 1)
        return np.where(self._from[at] == key, at, SOURCE_NODE).astype(np.int64)


def bursts(slices: Slices, main: int, window: tuple[int, int], woken: Moments) -> Bursts:
    """Return when each thread works: the main one always, the others where their gaps are short.

    Args:
        slices: Host slices, clipped to the window.
        main: The main thread.
        window: Start and end of the window, ns.
        woken: Starts of slices that another thread causes; a gap before one is rest, however short.
    """
    clock = _Clock(window)
    other = slices.thread != main
    first, last = union(
        clock.key(slices.thread[other], slices.start[other]), clock.key(slices.thread[other], slices.end[other])
    )
    if len(first):
        apart = (first[1:] - last[:-1] > REST_NS) | np.isin(first[1:], clock.key(woken.thread, woken.at))
        apart |= clock.thread(first[1:]) != clock.thread(last[:-1])
        begins = np.flatnonzero(np.append(True, apart))
        first, last = first[begins], last[np.append(begins[1:] - 1, len(last) - 1)]
    whole = np.array([main], np.int64)
    first = np.append(first, clock.key(whole, np.array([window[0]], np.int64)))
    last = np.append(last, clock.key(whole, np.array([window[1]], np.int64)))
    order = np.argsort(first, kind="stable")
    first, last = first[order], last[order]
    thread = clock.thread(first)
    return Bursts(thread, clock.moment(thread, first), clock.moment(thread, last))


def cut_threads(
    slices: Slices,
    working: Bursts,
    window: tuple[int, int],
    cuts: Moments,
    blocked: Stretches,
    *,
    fine: bool = True,
) -> ThreadNodes:
    """Cut the threads of a profile into nodes.

    Args:
        slices: Host slices, clipped to the window.
        working: When the threads work.
        window: Start and end of the window, ns.
        cuts: Moments at which a node must end, beside the ends of slices.
        blocked: Where threads wait.
        fine: Whether every slice is cut out; else only outer slices, cuts and blocked stretches.
    """
    clock = _Clock(window)
    starts, ends = clock.key(slices.thread, slices.start), clock.key(slices.thread, slices.end)
    first, last = clock.key(working.thread, working.start), clock.key(working.thread, working.end)
    waits = clock.key(blocked.thread, blocked.start), clock.key(blocked.thread, blocked.end)
    edges = (starts, ends) if fine else _outer(slices, starts, ends)
    bounds = np.unique(np.concatenate([*edges, clock.key(cuts.thread, cuts.at), *waits, first, last]))
    burst = np.searchsorted(first, bounds, side="right") - 1
    inside = (burst >= 0) & (bounds <= last[np.maximum(burst, 0)])
    bounds, burst = bounds[inside], burst[inside]
    stretch = np.flatnonzero(burst[1:] == burst[:-1])
    # One node that marks the begin of each burst, and one for every stretch.
    begin = np.concatenate([first, bounds[stretch]])
    end = np.concatenate([first, bounds[stretch + 1]])
    order = np.lexsort((begin, end))
    begin, end = begin[order], end[order]
    is_first = order < len(first)
    thread = clock.thread(begin)
    start, dur, is_blocked = _waiting(begin, end, *waits)
    innermost = enclosing(slices.thread, slices.start, slices.end - slices.start, thread, clock.moment(thread, begin))
    node = np.arange(len(begin))
    follows = np.zeros(len(begin), np.bool_)
    follows[1:] = thread[1:] == thread[:-1]
    return ThreadNodes(
        thread=thread,
        start=clock.moment(thread, start),
        dur=dur,
        task=np.append(slices.task, np.int64(-1))[np.where(is_first, -1, innermost)],
        is_first=is_first,
        is_blocked=is_blocked,
        previous=np.where(follows, node - 1, SOURCE_NODE).astype(np.int64),
        _from=begin,
        _to=end,
        _clock=clock,
    )


def _outer(slices: Slices, start: Int64, end: Int64) -> tuple[Int64, Int64]:
    outer = nest(slices.thread, slices.start, slices.end - slices.start).depth <= _OUTER_DEPTH
    return start[outer], end[outer]


def _waiting(begin: Int64, end: Int64, blocked_start: Int64, blocked_end: Int64) -> tuple[Int64, Int64, Bool]:
    """Return start and duration of the nodes: none while a thread waits.

    Of the stretches of a wait all but the last lie at its begin, the last at its end, where its
    predecessors release it.
    """
    start, dur = begin.copy(), end - begin
    if not len(blocked_start):
        return start, dur, np.zeros(len(begin), np.bool_)
    order = np.argsort(blocked_start, kind="stable")
    blocked_start, blocked_end = blocked_start[order], blocked_end[order]
    at = np.searchsorted(blocked_start, begin, side="right") - 1
    found = np.maximum(at, 0)
    waits = (at >= 0) & (end <= blocked_end[found]) & (end > begin)
    is_last = waits & (end == blocked_end[found])
    start = np.where(waits, np.where(is_last, end, blocked_start[found]), start)
    return start, np.where(waits, 0, dur), waits
