"""Interval sets counted nanosecond by nanosecond: slow, plain, the measure of the compiled core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Pairs = list[tuple[int, int]]


def points(intervals: Iterable[tuple[int, int]]) -> set[int]:
    return {ns for start, end in intervals for ns in range(start, end)}


def runs(covered: set[int]) -> Pairs:
    """Turn covered nanoseconds into ascending, disjoint intervals."""
    found: Pairs = []
    for ns in sorted(covered):
        if found and found[-1][1] == ns:
            found[-1] = (found[-1][0], ns + 1)
        else:
            found.append((ns, ns + 1))
    return found


def masks(intervals: Sequence[tuple[int, int, int]], lo: int, hi: int) -> list[int]:
    """Return the bit mask of active classes of every nanosecond of [lo, hi)."""
    return [sum({1 << kind for start, end, kind in intervals if start <= ns < end}) for ns in range(lo, hi)]


def sweep(intervals: Sequence[tuple[int, int, int]], kind_count: int, lo: int, hi: int) -> list[int]:
    found = masks(intervals, lo, hi)
    return [found.count(mask) for mask in range(1 << kind_count)]


def segments(intervals: Sequence[tuple[int, int, int]], lo: int, hi: int) -> list[tuple[int, int, int]]:
    found: list[tuple[int, int, int]] = []
    for ns, mask in enumerate(masks(intervals, lo, hi), start=lo):
        if found and found[-1][2] == mask:
            found[-1] = (found[-1][0], ns + 1, mask)
        else:
            found.append((ns, ns + 1, mask))
    return found
