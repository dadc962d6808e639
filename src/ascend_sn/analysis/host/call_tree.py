"""Trees of calls: what was called by what, calls of the same path as one; merged over profiles, or turned over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np

from ascend_sn._native.nesting import nest
from ascend_sn.model.rows import Int64

__all__ = ["NO_CALL", "Call", "CallTree", "Calls", "Paths", "callers_of", "merged", "tree_of"]

NO_CALL: Final = -1


@dataclass(frozen=True, eq=False)
class Calls:
    """Calls of one profile by start, an enclosing one before those inside of it; the arrays are of equal length.

    Attributes:
        thread: Number of the thread.
        name: Number of the name in `names`.
        start: ns.
        dur: ns.
        device_ns: Kernels that the call itself launched, summed.
        is_span: Whether it is a row of `span`, not of `operator`.
        key: Id of that row.
        names: The names.
    """

    thread: Int64
    name: Int64
    start: Int64
    dur: Int64
    device_ns: Int64
    is_span: Int64
    key: Int64
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class Call:
    """The longest call of a path: its profile, the table and id of its row, ns."""

    profile_id: int
    table: str
    key: int
    dur_ns: int


@dataclass(slots=True)
class Paths:
    """Paths of calls, each behind the one that it is called from.

    Attributes:
        name: What is called.
        parent: Place of the path around it; NO_CALL for the outermost.
        depth: Number of paths around it.
    """

    name: list[str] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    depth: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.name)

    def names_above(self, at: int) -> list[str]:
        """Return the names from the outermost call to the one at a place."""
        found = []
        while at != NO_CALL:
            found.append(self.name[at])
            at = self.parent[at]
        return found[::-1]


@dataclass(slots=True)
class CallTree(Paths):
    """Paths of calls, each behind the one that it is called from.

    Attributes:
        calls: How many calls.
        total_ns: With what they call.
        self_ns: Without.
        device_self_ns: Kernels that they launched themselves.
        device_ns: With those of what they call.
        longest: The longest call.
    """

    calls: list[int] = field(default_factory=list)
    total_ns: list[int] = field(default_factory=list)
    self_ns: list[int] = field(default_factory=list)
    device_self_ns: list[int] = field(default_factory=list)
    device_ns: list[int] = field(default_factory=list)
    longest: list[Call] = field(default_factory=list)

    def add(self, name: str, parent: int, figures: tuple[int, int, int, int, int], longest: Call) -> int:
        """Add a path and return its place; figures are calls, total, self, device self and device ns."""
        self.name.append(name)
        self.parent.append(parent)
        self.depth.append(0 if parent == NO_CALL else self.depth[parent] + 1)
        for column, value in zip(self._figures(), figures, strict=True):
            column.append(value)
        self.longest.append(longest)
        return len(self.name) - 1

    def figures(self, at: int) -> tuple[int, int, int, int, int]:
        """Return calls, total, self, device self and device ns of a path."""
        return (self.calls[at], self.total_ns[at], self.self_ns[at], self.device_self_ns[at], self.device_ns[at])

    def more(self, at: int, figures: tuple[int, int, int, int, int], longest: Call) -> None:
        """Add figures to those of a path."""
        for column, value in zip(self._figures(), figures, strict=True):
            column[at] += value
        if longest.dur_ns > self.longest[at].dur_ns:
            self.longest[at] = longest

    def _figures(self) -> tuple[list[int], ...]:
        return (self.calls, self.total_ns, self.self_ns, self.device_self_ns, self.device_ns)


def tree_of(profile_id: int, calls: Calls) -> CallTree:
    """Nest the calls of a profile by time on their threads, and join those of the same names from the outermost on.

    Where calls of a thread cross, each lies inside the innermost one that contains it as a whole.
    """
    tree = CallTree()
    if not len(calls.start):
        return tree
    nested = nest(calls.thread, calls.start, calls.dur)
    path = np.full(len(calls.start), NO_CALL, np.int64)
    by_depth = np.argsort(nested.depth, kind="stable")
    bounds = np.searchsorted(nested.depth[by_depth], np.arange(int(nested.depth.max()) + 2)).tolist()
    count = len(calls.names)
    for first, past in pairwise(bounds):
        at = by_depth[first:past]
        above = nested.parent[at]
        outer = np.where(above >= 0, path[above], NO_CALL)
        key = (outer + 1) * count + calls.name[at]
        # The longest of a path stands last, of those alike the first of the capture.
        order = np.lexsort((-at, calls.dur[at], key))
        ranked = at[order]
        found, begins = np.unique(key[order], return_index=True)
        past_each = np.append(begins[1:], len(ranked))
        sums = [
            np.add.reduceat(column[ranked], begins).tolist()
            for column in (np.ones_like(calls.start), calls.dur, nested.self_ns, calls.device_ns)
        ]
        place = len(tree)
        for number, one in enumerate(found.tolist()):
            row = int(ranked[past_each[number] - 1])
            table = "span" if calls.is_span[row] else "operator"
            longest = Call(profile_id, table, int(calls.key[row]), int(calls.dur[row]))
            counted, total, own, device = (column[number] for column in sums)
            tree.add(calls.names[one % count], one // count - 1, (counted, total, own, device, device), longest)
        path[ranked] = np.repeat(np.arange(place, len(tree)), past_each - begins)
    for inner in range(len(tree) - 1, -1, -1):
        if tree.parent[inner] != NO_CALL:
            tree.device_ns[tree.parent[inner]] += tree.device_ns[inner]
    return _ordered(tree)


def merged(trees: Iterable[CallTree]) -> CallTree:
    """Join the same paths of several trees."""
    whole = CallTree()
    places: dict[tuple[int, str], int] = {}
    for tree in trees:
        own: list[int] = []
        for at, (name, parent) in enumerate(zip(tree.name, tree.parent, strict=True)):
            above = NO_CALL if parent == NO_CALL else own[parent]
            place = places.get((above, name))
            if place is None:
                place = places[above, name] = whole.add(name, above, tree.figures(at), tree.longest[at])
            else:
                whole.more(place, tree.figures(at), tree.longest[at])
            own.append(place)
    return _ordered(whole)


def callers_of(tree: CallTree) -> CallTree:
    """Turn a tree over: what is called stands outermost, below it what it is called from.

    Times are self times of the outermost, divided among its callers: total_ns and self_ns are equal, and so are the
    device's. Calls are those of the outermost.
    """
    turned = CallTree()
    places: dict[tuple[int, str], int] = {}
    for start in range(len(tree)):
        calls, _, own_ns, device_ns, _ = tree.figures(start)
        figures = (calls, own_ns, own_ns, device_ns, device_ns)
        at, above = start, NO_CALL
        while at != NO_CALL:
            place = places.get((above, tree.name[at]))
            if place is None:
                place = places[above, tree.name[at]] = turned.add(tree.name[at], above, figures, tree.longest[start])
            else:
                turned.more(place, figures, tree.longest[start])
            at, above = tree.parent[at], place
    return _ordered(turned)


def _ordered(tree: CallTree) -> CallTree:
    """Put every path directly before those inside of it, the longest first."""
    below: dict[int, list[int]] = {}
    for at, parent in enumerate(tree.parent):
        below.setdefault(parent, []).append(at)
    ordered = CallTree()
    waiting = [(at, NO_CALL) for at in _longest_last(tree, below.get(NO_CALL, []))]
    while waiting:
        at, above = waiting.pop()
        place = ordered.add(tree.name[at], above, tree.figures(at), tree.longest[at])
        waiting += [(inner, place) for inner in _longest_last(tree, below.get(at, []))]
    return ordered


def _longest_last(tree: CallTree, places: list[int]) -> list[int]:
    by_name = sorted(places, key=lambda at: tree.name[at], reverse=True)
    return sorted(by_name, key=lambda at: (tree.total_ns[at], tree.device_ns[at]))
