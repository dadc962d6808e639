"""Rows of an exported trace: slices kept from crossing each other, and what is written beside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["Nesting", "arguments"]


class Nesting:
    """Slices of one lane, dealt to as few rows as needed so that two of a row are nested or apart, never crossing.

    Slices come by start, the longer one first. With `is_apart` those of a row are never nested either.
    """

    def __init__(self, *, is_apart: bool = False) -> None:
        self._is_apart = is_apart
        self._rows: list[list[int]] = []  # ends of the slices that are open, outermost first

    def row_of(self, start_ns: int, end_ns: int) -> int:
        """Return the row of the next slice, from 0."""
        for number, open_ends in enumerate(self._rows):
            while open_ends and open_ends[-1] <= start_ns:
                open_ends.pop()
            if not open_ends or (not self._is_apart and end_ns <= open_ends[-1]):
                open_ends.append(end_ns)
                return number
        self._rows.append([end_ns])
        return len(self._rows) - 1


def arguments(columns: list[str], row: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    """The columns behind lane, name, ts_ns and dur_ns that hold something."""
    for name, value in zip(columns[4:], row[4:], strict=True):
        if value is not None:
            yield name, value
