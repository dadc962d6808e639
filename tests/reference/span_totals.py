"""Totals over spans, plainly: what `_native.span_totals` has to agree with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

Span = tuple[str | None, int, int, int]
"""Class, thread, start, length."""

PLAIN = "plain"


def class_totals(spans: Iterable[Span]) -> dict[str, int]:
    """The time of each class: at every moment a thread belongs to the innermost span of a class that says something.

    "plain" gives way to any other class around it. Spans of one thread must nest.
    """
    by_thread: dict[int, list[tuple[str, int, int]]] = {}
    for class_, thread, start, length in spans:
        if class_ is not None:
            by_thread.setdefault(thread, []).append((class_, start, start + length))
    totals: dict[str, int] = {}
    for own in by_thread.values():
        edges = sorted({edge for _, start, end in own for edge in (start, end)})
        for start, end in pairwise(edges):
            # Shorter spans are further inside.
            around = sorted((e - s, class_) for class_, s, e in own if s <= start and end <= e)
            inner_first = [class_ for _, class_ in around]
            other = next((class_ for class_ in inner_first if class_ != PLAIN), None)
            class_ = other or (PLAIN if inner_first else None)
            if class_ is not None:
                totals[class_] = totals.get(class_, 0) + end - start
    return totals


def name_totals(spans: Iterable[tuple[int, int]]) -> Mapping[int, tuple[int, int, int]]:
    """Calls, total and longest by name."""
    totals: dict[int, tuple[int, int, int]] = {}
    for name, length in spans:
        count, total, longest = totals.get(name, (0, 0, 0))
        totals[name] = (count + 1, total + length, max(longest, length))
    return totals
