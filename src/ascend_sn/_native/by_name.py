"""Calls and times of slices by their name, in one pass and without sorting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ascend_sn._native import _core

__all__ = ["NameSums", "NameTotals"]


class NameSums(NamedTuple):
    """Figures of the slices of one name; times in ns."""

    name: int
    calls: int
    total_ns: int
    self_ns: int
    min_ns: int
    max_ns: int
    kind: int


class NameTotals:
    """Adds slices up by name, as many arrays of them as there are.

    Args:
        name_count: Names are numbers below it.
    """

    def __init__(self, name_count: int) -> None:
        self._calls, self._total, self._own = (np.zeros(name_count, np.int64) for _ in range(3))
        self._low, self._high = (np.zeros(name_count, np.int64) for _ in range(2))
        self._kind = np.zeros(name_count, np.uint8)
        self._touched = np.zeros(name_count, np.int32)
        self._met = 0

    def add(
        self,
        start: NDArray[np.int64],
        end: NDArray[np.int64],
        name: NDArray[Any],
        kind: NDArray[np.uint8],
        self_ns: NDArray[np.int64] | None = None,
    ) -> None:
        """Add slices; self time is the duration where it is not given.

        Raises:
            ValueError: The arrays differ in length, or a name is not below the number of names.
        """
        own = np.empty(0, np.int64) if self_ns is None else self_ns
        self._met = _core.sum_by_name(
            start, end, name, kind, own,
            self._calls, self._total, self._own, self._low, self._high, self._kind, self._touched, self._met,
        )  # fmt: skip

    def taken(self) -> Iterator[NameSums]:
        """Return what was added, in order of the first slice of each name, and begin anew."""
        names = self._touched[: self._met].copy()
        figures = self._calls, self._total, self._own, self._low, self._high, self._kind
        columns = [column[names].tolist() for column in figures]
        self._calls[names] = 0
        self._met = 0
        return (NameSums(*row) for row in zip(names.tolist(), *columns, strict=True))
