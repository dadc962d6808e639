"""How the sources of an input are dealt out when nobody says how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

from ascend_sn.store.mapping import Outcome, in_turn

__all__ = ["as_fits"]

_Item = TypeVar("_Item")
_Made = TypeVar("_Made")

_ITEM_S: Final = 0.1
_BYTES_PER_S: Final = 50_000_000
_WORTH_S: Final = 4.0
"""Work, in seconds of one core, from which other processes are worth their start."""


def as_fits(
    function: Callable[[_Item], _Made], items: Sequence[_Item], size_bytes: Sequence[int], /
) -> Iterator[Outcome[_Made]]:
    """Apply a function to all items, in other processes where there is enough to do for more than one."""
    if sum(_ITEM_S + size / _BYTES_PER_S for size in size_bytes) < _WORTH_S:
        return in_turn(function, items, size_bytes)
    from ascend_sn.cluster.processes import Processes, carried  # loads pools, which a short command does without

    workers = carried(size_bytes)
    return in_turn(function, items, size_bytes) if workers < 2 else Processes(workers)(function, items, size_bytes)
