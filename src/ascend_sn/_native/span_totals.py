"""Totals over spans while they are written: calls and time by name, and time by class without counting it twice.

Rows of each thread come in the order in which spans end, so that inner ones stand before the outer one. An inner
span of a class of its own is taken out of the outer one; a span of the plain class inside one of another class
belongs to that. Nothing here needs numpy.
"""

from __future__ import annotations

from array import array

from ascend_sn._native import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["BY_NAME", "CLASSES", "KINDS", "NO_CLASS", "PLAIN_CLASS", "SpanTotals"]

NO_CLASS, PLAIN_CLASS, BY_NAME = 0, 1, 255
KINDS = CLASSES = 16


class SpanTotals:
    """Sums over all rows added so far; what it holds grows with the number of names, not of rows.

    Args:
        first: The first of the 16 row kinds that are spans.
        flag: Bit of a kind that is left out of account.
        class_of_kind: Class (0 to 15) of each of those kinds; BY_NAME where the name decides.
    """

    __slots__ = ("_core",)

    def __init__(self, first: int, flag: int, class_of_kind: bytes) -> None:
        self._core = _core.span_totals(class_of_kind, first, flag)

    def add(self, columns: tuple[Any, ...], class_of_name: bytes | bytearray) -> array[int]:
        """Add rows and return the places of those that are no spans.

        Args:
            columns: kind, thread, name_id, ts_ns, dur_ns, value and ref, as arrays.
            class_of_name: Class by number of the name; names beyond it have none.
        """
        kind, thread, name_id, ts_ns, dur_ns, _, _ = columns
        return array("i", self._core.add(kind, thread, name_id, ts_ns, dur_ns, class_of_name))

    def names(self) -> list[tuple[int, int, int, int]]:
        """Return number, calls, total ns and longest ns of every name that was met; -1: spans without a name."""
        return self._core.names()

    def classes(self) -> tuple[int, ...]:
        """Return the ns of each class; that of NO_CLASS is 0."""
        return self._core.classes()
