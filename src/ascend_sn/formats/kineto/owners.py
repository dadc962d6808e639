"""Which operator asked for memory: the innermost one open on the thread that does not only hand memory out."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from ascend_sn._native.nesting import enclosing
from ascend_sn.model.rows import Bool, Int64, Nullable, Rows, Text

__all__ = ["with_owners"]

_HANDS_OUT: Final = re.compile(
    r"aten::(new_)?empty(_like|_strided|_permuted|_quantized)?|aten::(resize_|resize_as_|set_|_resize_output_?)"
)
"""Operators that allocate for the one that calls them."""


def with_owners(memory: Rows, thread: Text, operators: Rows) -> Rows:
    """Return allocator events with the operator of each and its call stack, where one was running.

    An event inside nothing but operators that hand memory out belongs to the innermost of them.

    Args:
        memory: Rows of `memory_event`.
        thread: Thread of each event.
        operators: Rows of `operator` with names, times and stacks.
    """
    if not len(memory) or not len(operators):
        return memory
    names = operators.text("thread")
    place = {name: number for number, name in enumerate(names.values)}
    asked = np.array([*(place.get(name, -2) for name in thread.values), -2], np.int64)[thread.codes]
    asks = ~operators.text("name").where(lambda name: _HANDS_OUT.fullmatch(name) is not None)
    owner = _innermost(operators, asks, asked, memory.values("ts_ns"))
    open_any = _innermost(operators, np.ones(len(operators), np.bool_), asked, memory.values("ts_ns"))
    owner = np.where(owner >= 0, owner, open_any)
    ids, stacks, place_of = operators.values("operator_id"), operators.values("stack_id"), np.maximum(owner, 0)
    return memory.replace(
        operator_id=Nullable(ids[place_of], owner >= 0),
        stack_id=Nullable(stacks[place_of], (owner >= 0) & operators.valid("stack_id")[place_of]),
    )


def _innermost(operators: Rows, chosen: Bool, thread: Int64, ts: Int64) -> Int64:
    """Place of the innermost open operator among the chosen ones, -1 where there is none."""
    places = np.flatnonzero(chosen)
    if not len(places):
        return np.full(len(ts), -1, np.int64)
    found = enclosing(
        operators.text("thread").codes[places],
        operators.values("ts_ns")[places],
        operators.values("dur_ns")[places],
        thread,
        ts,
    )
    return np.where(found >= 0, places[np.maximum(found, 0)], -1)
