"""How far a document is: which of its parts are done, and which of the rules have looked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ascend_sn.store.ingest import Progress

__all__ = ["Told"]

_Part = TypeVar("_Part")


class Told:
    """Tells somebody who waits what is worked out now, and how much of it all is done."""

    def __init__(self, progress: Progress | None, parts: Sequence[str]) -> None:
        self._progress = progress
        self._total = len(parts)
        self._begun = 0

    def more(self, count: int) -> None:
        """Take note that there are more parts than were known."""
        self._total += count

    def part(self, name: str) -> None:
        """Say that a part is worked out now; the one before it is done."""
        if self._progress is not None:
            self._progress(self._begun, self._total, name)
        self._begun += 1

    def of(self, name: str, work_out: Callable[[], _Part]) -> _Part:
        """Return what `work_out` returns, which is a part."""
        self.part(name)
        return work_out()
