"""Nesting by comparing every slice with every other: slow, plain, the measure of the compiled core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tests.reference.intervals import points


class Slice(NamedTuple):
    thread: int
    start: int
    dur: int

    @property
    def end(self) -> int:
        return self.start + max(self.dur, 0)


class Place(NamedTuple):
    parent: int
    depth: int
    self_ns: int
    crossing: bool


def contains(slices: Sequence[Slice], outer: int, inner: int) -> bool:
    a, b = slices[outer], slices[inner]
    if outer == inner or a.thread != b.thread or a.start > b.start or a.end < b.end:
        return False
    return (a.start, a.end) != (b.start, b.end) or outer < inner


def nest(slices: Sequence[Slice]) -> list[Place]:
    parents = []
    for i in range(len(slices)):
        around = [j for j in range(len(slices)) if contains(slices, j, i)]
        # Of the slices around it the innermost starts latest, then ends first, then comes last in the input.
        parents.append(max(around, key=lambda j: (slices[j].start, -slices[j].end, j), default=-1))
    places = []
    for i, own in enumerate(slices):
        above, depth = parents[i], 0
        while above >= 0:
            above, depth = parents[above], depth + 1
        children = [slices[j] for j in range(len(slices)) if parents[j] == i]
        covered = points((child.start, child.end) for child in children)
        crossing = any(other.thread == own.thread and other.start < own.start < other.end < own.end for other in slices)
        places.append(Place(parents[i], depth, own.end - own.start - len(covered), crossing))
    return places


def enclosing(slices: Sequence[Slice], thread: int, ts: int) -> int:
    open_now = [
        i
        for i, one in enumerate(slices)
        if one.thread == thread and (one.start <= ts < one.end or ts == one.start == one.end)
    ]
    return max(open_now, key=lambda i: (slices[i].start, -slices[i].end, i), default=-1)
