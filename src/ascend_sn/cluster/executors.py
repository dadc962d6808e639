"""Items over any executor: so many at a time, outcomes as they are ready, a failing item is named and not the end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from typing import TypeVar

from ascend_sn.errors import AscendSnError
from ascend_sn.store.mapping import Outcome

__all__ = ["Broken", "over"]

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

logger = logging.getLogger(__name__)


class Broken(AscendSnError):
    """The executor itself broke down; `under_way` are the places of the items that it had been given."""

    def __init__(self, under_way: Sequence[int]) -> None:
        self.under_way = tuple(under_way)
        super().__init__(f"the workers broke down with {len(self.under_way)} tasks under way")


def over(
    executor: Executor, function: Callable[[_Item], _Made], items: Sequence[_Item], places: Sequence[int], at_once: int
) -> Iterator[Outcome[_Made]]:
    """Apply a function to the items at some places, in their order, at most `at_once` under way.

    Raises:
        Broken: The executor can do no more; what it was given has no outcome.
    """
    waiting = iter(places)
    under_way: dict[Future[_Made], int] = {}
    try:
        while True:
            while len(under_way) < at_once and (place := next(waiting, None)) is not None:
                try:
                    under_way[executor.submit(function, items[place])] = place
                except BrokenExecutor as error:
                    raise Broken([*under_way.values(), place]) from error
            if not under_way:
                return
            done, _ = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                failure = future.exception()
                if isinstance(failure, BrokenExecutor):
                    raise Broken(list(under_way.values())) from failure
                place = under_way.pop(future)
                yield Outcome(place, future.result()) if failure is None else Outcome(place, lost=_why(failure))
    finally:
        for future in under_way:
            future.cancel()


def _why(error: BaseException) -> str:
    """Say why an item failed; what nobody raised on purpose is logged whole."""
    if isinstance(error, (AscendSnError, OSError)):
        return str(error)
    logger.warning("a task failed", exc_info=error)
    return f"{type(error).__name__}: {error}"
