"""Where two sequences differ: the fewest elements taken out and put in that make one of the other."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from ascend_sn.model.rows import Int64

__all__ = ["MOST_EDITS", "Hunk", "hunks"]

MOST_EDITS: Final = 4000
"""Elements taken out and put in; sequences that differ by more are not aligned."""


class Hunk(msgspec.Struct, frozen=True):
    """Elements `base_from` to `base_to` (excluded) of the one stand where the other has its own; one may be empty."""

    base_from: int
    base_to: int
    other_from: int
    other_to: int


def hunks(base: Int64, other: Int64, *, most: int = MOST_EDITS) -> list[Hunk] | None:
    """Return where two sequences differ, in order; None where they differ by more than `most` elements.

    The shortest edit script (Myers 1986). Where a part that is only taken out, or only put in, could as well lie
    beside another difference, it does: both are one then.
    """
    shortest = min(len(base), len(other))
    differs = np.flatnonzero(base[:shortest] != other[:shortest])
    front = int(differs[0]) if len(differs) else shortest
    ends = np.flatnonzero(base[::-1][: shortest - front] != other[::-1][: shortest - front])
    back = int(ends[0]) if len(ends) else shortest - front
    inner = (base[front : len(base) - back], other[front : len(other) - back])
    rounds = _rounds(*inner, most)
    if rounds is None:
        return None
    found = [
        Hunk(one.base_from + front, one.base_to + front, one.other_from + front, one.other_to + front)
        for one in _traced(rounds, len(inner[0]), len(inner[1]))
    ]
    return _joined(found, base, other)


def _rounds(base: Int64, other: Int64, most: int) -> list[Int64] | None:
    """Return how far each diagonal comes with 0, 1, 2, ... edits, until one comes to both ends."""
    last, last_other = len(base), len(other)
    ended, other_ended = np.append(base, -1), np.append(other, -2)
    reached = np.full(2 * most + 3, -1, np.int64)
    reached[most + 2] = 0
    rounds: list[Int64] = []
    for edits in range(most + 1):
        diagonals = np.arange(-edits, edits + 1, 2)
        left, right = reached[diagonals + most], reached[diagonals + most + 2]
        at = np.where((diagonals == -edits) | ((diagonals != edits) & (left < right)), right, left + 1)
        moving = np.arange(len(at))
        while len(moving):
            own = np.minimum(at[moving], last)
            its = np.minimum(at[moving] - diagonals[moving], last_other)
            moving = moving[ended[own] == other_ended[its]]
            at[moving] += 1
        reached[diagonals + most + 1] = at
        rounds.append(at)
        if bool(((at >= last) & (at - diagonals >= last_other)).any()):
            return rounds
    return None


def _traced(rounds: list[Int64], last: int, last_other: int) -> list[Hunk]:
    """Go back from both ends to the begin; neighbouring edits are one hunk."""
    own, its = last, last_other
    found: list[Hunk] = []
    for edits in range(len(rounds) - 1, 0, -1):
        diagonal = own - its
        before = rounds[edits - 1]
        left = _at(before, edits - 1, diagonal - 1)
        right = _at(before, edits - 1, diagonal + 1)
        is_put_in = diagonal == -edits or (diagonal != edits and left < right)
        came = right if is_put_in else left
        came_other = came - (diagonal + 1 if is_put_in else diagonal - 1)
        end = (came, came_other + 1) if is_put_in else (came + 1, came_other)
        later = found[-1] if found else None
        if later is not None and (later.base_from, later.other_from) == end:
            found[-1] = Hunk(came, later.base_to, came_other, later.other_to)
        else:
            found.append(Hunk(came, end[0], came_other, end[1]))
        own, its = came, came_other
    return found[::-1]


def _at(reached: Int64, edits: int, diagonal: int) -> int:
    place = (diagonal + edits) // 2
    return int(reached[place]) if 0 <= place < len(reached) else -1


def _joined(found: list[Hunk], base: Int64, other: Int64) -> list[Hunk]:
    """Move parts that are only taken out or put in beside their neighbours, as far as what lies between repeats."""
    kept: list[Hunk] = []
    for one in found:
        last = kept[-1] if kept else None
        between = 0 if last is None else one.base_from - last.base_to
        if last is not None and _slides(one, base, other, -between):
            kept[-1] = Hunk(last.base_from, one.base_to - between, last.other_from, one.other_to - between)
        elif last is not None and _slides(last, base, other, between):
            kept[-1] = Hunk(last.base_from + between, one.base_to, last.other_from + between, one.other_to)
        else:
            kept.append(one)
    return kept


def _slides(one: Hunk, base: Int64, other: Int64, by: int) -> bool:
    """Whether a hunk of one side only means the same `by` elements further on; no further than it is long."""
    is_taken_out = one.base_from != one.base_to
    if is_taken_out and one.other_from != one.other_to:
        return False
    values = base if is_taken_out else other
    first, end = (one.base_from, one.base_to) if is_taken_out else (one.other_from, one.other_to)
    if abs(by) > end - first:
        return False
    if by < 0:
        return bool(np.array_equal(values[first + by : first], values[end + by : end]))
    return bool(np.array_equal(values[first : first + by], values[end : end + by]))
