"""Rows between the threads that record and the thread that writes."""

from __future__ import annotations

from array import array
from collections import deque
from threading import RLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Columns", "SpanBuffer"]

Columns = tuple["Any", ...]
"""One array (of `array` or numpy) per column of `trace_schema.COLUMNS`, in its order, all of one length."""

_ARRAY_TYPES = "Biiqqqq"


class SpanBuffer:
    """A bounded queue of rows; appending is one call, safe from any thread, mostly without a lock.

    This class is the seam at which another store of rows (a memory-mapped ring) takes its place: `append`,
    `drain` and `take_lost` are all that the rest of the recorder uses.

    Args:
        capacity: Most rows that wait at a time.
        wake: Called when the buffer is half full; must return at once.
        make_room: Called when it is full; may drain it. A row that still finds no room is lost and counted.
    """

    def __init__(
        self,
        capacity: int,
        *,
        wake: Callable[[], object] | None = None,
        make_room: Callable[[], object] | None = None,
    ) -> None:
        self._rows: deque[tuple[int, int, int, int, int, int, int]] = deque()
        self._capacity = capacity
        self._half = capacity // 2
        self._wake = wake
        self._make_room = make_room
        self._lost_count = 0
        self._lost_lock = RLock()

    @property
    def is_half_full(self) -> bool:
        """Whether it is time to write."""
        return len(self._rows) >= self._half

    def append(self, kind: int, thread: int, name_id: int, ts_ns: int, dur_ns: int, value: int, ref: int) -> None:
        """Add a row."""
        rows = self._rows
        if len(rows) < self._half or self._has_room():
            rows.append((kind, thread, name_id, ts_ns, dur_ns, value, ref))

    def drain(self) -> Columns | None:
        """Remove all rows and return them as columns, in the order of arrival; None when there are none."""
        rows = self._rows
        taken = [rows.popleft() for _ in range(len(rows))]
        if not taken:
            return None
        columns = zip(*taken, strict=True)
        return tuple(array(kind, column) for kind, column in zip(_ARRAY_TYPES, columns, strict=True))

    def take_lost(self) -> int:
        """Return how many rows were lost since the last call."""
        with self._lost_lock:
            count, self._lost_count = self._lost_count, 0
        return count

    def add_lost(self, count: int) -> None:
        """Count rows that were drained and could not be kept."""
        with self._lost_lock:
            self._lost_count += count

    def _has_room(self) -> bool:
        rows = self._rows
        if len(rows) == self._half and self._wake is not None:
            self._wake()
        if len(rows) < self._capacity:
            return True
        if self._make_room is not None:
            self._make_room()
        if len(rows) < self._capacity:
            return True
        self.add_lost(1)
        return False
