"""Items over processes of this machine, as many as its cores and its memory carry."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import forkserver, resource_tracker
from typing import Final, TypeVar

import msgspec

from ascend_sn.cluster.executors import Broken, over
from ascend_sn.store.mapping import Outcome

__all__ = ["Processes", "carried"]

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

_WORKER_BYTES: Final = 250_000_000
"""Memory of a worker that reads nothing large."""

_MEMORY_RATIO: Final = 1.0
"""Memory for reading a source, as a share of its size; measured: 0.6 to 0.7."""

_SAFE_PATH: Final = "PYTHONSAFEPATH"
_PRELOADED: Final = ["ascend_sn.formats.registry", "ascend_sn.store.reading"]


class Processes(msgspec.Struct, frozen=True):
    """A mapping over `workers` processes.

    A process that dies (out of memory, killed) takes with it what the others were doing: those items are done again,
    each alone, and the one that kills its process twice is lost.
    """

    workers: int

    def __call__(
        self, function: Callable[[_Item], _Made], items: Sequence[_Item], size_bytes: Sequence[int], /
    ) -> Iterator[Outcome[_Made]]:
        """Apply a function to all items, the largest first."""
        waiting = sorted(range(len(items)), key=lambda at: -size_bytes[at])
        suspects: list[int] = []
        while waiting:
            done: set[int] = set()
            try:
                for outcome in self._pooled(function, items, waiting, self.workers):
                    done.add(outcome.at)
                    yield outcome
            except Broken as broken:
                suspects += broken.under_way
                done |= set(broken.under_way)
            waiting = [at for at in waiting if at not in done]
        for at in suspects:
            try:
                yield from self._pooled(function, items, [at], 1)
            except Broken:
                yield Outcome(at, lost="its worker process died; was it out of memory?")

    @staticmethod
    def _pooled(
        function: Callable[[_Item], _Made], items: Sequence[_Item], places: Sequence[int], workers: int
    ) -> Iterator[Outcome[_Made]]:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(_PRELOADED)
        _start_server()
        pool = ProcessPoolExecutor(min(workers, len(places)), mp_context=context)
        try:
            yield from over(pool, function, items, places, at_once=workers)
        finally:
            pool.shutdown(cancel_futures=True)


def _start_server() -> None:
    """Start what starts the workers, without the working folder on its path.

    That may be the folder of a capture, and hold a `multiprocessing.py`.
    """
    before = os.environ.get(_SAFE_PATH)
    os.environ[_SAFE_PATH] = "1"
    try:
        resource_tracker.ensure_running()
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ[_SAFE_PATH]
        else:
            os.environ[_SAFE_PATH] = before


def carried(size_bytes: Sequence[int], *, cores: int | None = None, free_bytes: int | None = None) -> int:
    """Return how many processes this machine carries at once, at least 1.

    Args:
        size_bytes: What each item has to read.
        cores: Cores to use; those that this process may run on by default.
        free_bytes: Memory to use; half of what is free by default.
    """
    usable = len(os.sched_getaffinity(0)) if cores is None else cores
    memory = _free_bytes() // 2 if free_bytes is None else free_bytes
    needed = _WORKER_BYTES + int(_MEMORY_RATIO * max(size_bytes, default=0))
    return max(1, min(usable, len(size_bytes), memory // needed))


def _free_bytes() -> int:
    import psutil

    return int(psutil.virtual_memory().available)
