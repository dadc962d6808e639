"""A function applied to many items: what comes back, and the plain way of doing it.

The store reads its sources through a `Mapping`; `cluster` holds those that use other processes or other machines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

__all__ = ["Mapping", "Outcome", "in_turn"]

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")


class Outcome(msgspec.Struct, Generic[_Made], frozen=True):
    """What became of an item.

    Attributes:
        at: Place of the item, from 0.
        made: What the function returned; None where it did not.
        lost: Why it did not, in a few words: a worker that died, a disk that was full. Doing it again may help.
    """

    at: int
    made: _Made | None = None
    lost: str | None = None


class Mapping(Protocol):
    """A way of applying a function to items; outcomes come as they are ready, one for every item."""

    def __call__(
        self, function: Callable[[_Item], _Made], items: Sequence[_Item], size_bytes: Sequence[int], /
    ) -> Iterator[Outcome[_Made]]:
        """Apply `function` (of a module, so that another process finds it) to all items.

        `size_bytes` tells how much each has to read, by which work is dealt out and memory is bounded.
        """


def in_turn(
    function: Callable[[_Item], _Made], items: Sequence[_Item], size_bytes: Sequence[int], /
) -> Iterator[Outcome[_Made]]:
    """Apply a function to one item after the other, here; what it raises is raised."""
    for at, (item, _) in enumerate(zip(items, size_bytes, strict=True)):
        yield Outcome(at, function(item))
