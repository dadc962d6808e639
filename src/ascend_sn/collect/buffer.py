"""Rows between the threads that record and the thread that writes: the span ring of one trace."""

from __future__ import annotations

import os
from contextlib import suppress
from struct import Struct

from ascend_sn._native.ring import HALF_FULL, NO_SPAN, RECORD, Ring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ascend_sn._native.span_calls import SpanCalls
    from ascend_sn.collect.faults import FaultLog
    from ascend_sn.collect.names import NameTable

__all__ = ["Columns", "SpanBuffer"]

Columns = tuple["Any", ...]
"""One array (a memoryview or of numpy) per column of `trace_schema.COLUMNS`, in its order, all of one length."""

Row = tuple[int, int, int, int, int, int, int]

_RECORD = Struct(RECORD)


class SpanBuffer:
    """A bounded queue of rows and the open spans of every thread, in a file that outlives the process.

    The file is locked for as long as its process lives, which tells a reader whether the rows in it are still to
    be written or were left behind. Where no such file can be made, the rows wait in memory alone.

    Args:
        path: The file; None for memory alone.
        capacity: Most rows that wait at a time.
        names: Numbers of the names.
        offset_ns: Wall clock minus monotonic clock.
        wake: Called when the buffer is half full; must return at once.
        make_room: Called when it is full; may wait for room, but not for ever. A row that still finds none is lost
            and counted.
        faults: Told when no file could be made.
    """

    def __init__(
        self,
        path: str | None,
        capacity: int,
        names: NameTable,
        offset_ns: int,
        *,
        wake: Callable[[], object] = lambda: None,
        make_room: Callable[[], object] = lambda: None,
        faults: FaultLog | None = None,
    ) -> None:
        self._path = path
        self._wake = wake
        self._make_room = make_room
        self._half = capacity // 2
        self._lost_count = 0
        self._peeked_count = 0
        self._lock_file: int | None = None
        self.is_closed = False
        try:
            self._ring = Ring.create(path, capacity, number=names.number, offset_ns=offset_ns, names=names.numbers)
        except OSError as error:
            if path is None:
                raise
            self._path = None
            self._ring = Ring.create(None, capacity, number=names.number, offset_ns=offset_ns, names=names.numbers)
            if faults is not None:
                text = f"no rows can wait in {path} ({error.strerror}): a killed process loses its last second"
                faults.warning("span ring", text)
        if self._path is not None:
            self._lock_file = _locked(self._path)

    @property
    def most_peeked(self) -> int:
        """Rows that `peek` returns at most."""
        return self._half

    @property
    def is_half_full(self) -> bool:
        """Whether it is time to write."""
        return len(self._ring) >= self._half

    @property
    def is_full(self) -> bool:
        """Whether the next row has no room."""
        return self._ring.full()

    @property
    def thread_count(self) -> int:
        """Threads whose open spans are kept: the living ones and a bounded number of ended ones."""
        return self._ring.thread_count

    def append(self, kind: int, thread: int, name_id: int, ts_ns: int, dur_ns: int, value: int, ref: int) -> None:
        """Add a row."""
        ring = self._ring
        if ring.full():
            self._make_room()
        if ring.append(kind, thread, name_id, ts_ns, dur_ns, value, ref) == HALF_FULL:
            self._wake()

    def begin(self, key: int, kind: int, value: int, ref: int, name_id: int) -> None:
        """Open a span on this thread that `end(key)` closes."""
        self._ring.begin(key, kind, value, ref, name_id)

    def end(self, key: int) -> bool:
        """Close the innermost open span of that number on this thread; False when there is none."""
        ring = self._ring
        end_ns = ring.now()
        if ring.full():
            self._make_room()
        said = ring.end(key, end_ns)
        if said == HALF_FULL:
            self._wake()
        return said != NO_SPAN

    def take_open(self, end_ns: int, flag: int, thread: int = 0) -> Iterator[Row]:
        """Close the open spans of all threads, or of one, and return their rows, with `flag` added to the kind."""
        return _RECORD.iter_unpack(self._ring.take_open(end_ns, flag, thread))

    def bind(self, calls: SpanCalls, kind: int) -> None:
        """Let `start_op` and `stop_op` of an object open and close spans of a kind here."""
        self._ring.bind(calls, kind, self._wake)

    def peek(self, most: int | None = None) -> Columns | None:
        """Return the oldest rows as columns, at most `most` or half of the capacity; None when none wait."""
        columns = self._ring.peek_columns(self._half if most is None else most)
        self._peeked_count = len(columns[0])
        return columns if self._peeked_count else None

    def release(self) -> None:
        """Take out the rows that `peek` returned last: they are safe elsewhere, or given up."""
        self._ring.release(self._peeked_count)
        self._peeked_count = 0

    def take_lost(self) -> int:
        """Return how many rows were lost since the last call."""
        count, self._lost_count = self._lost_count, 0
        return count + self._ring.take_dropped()

    def add_lost(self, count: int) -> None:
        """Count rows that were taken out and could not be kept."""
        self._lost_count += count

    def close(self, *, remove: bool = True) -> None:
        """Take nothing any more and remove the file; rows that still wait stay in it, for a reader to find."""
        if self.is_closed:
            return
        self.is_closed = True
        is_empty = len(self._ring) == 0
        self._ring.close()
        if self._path is not None and is_empty and remove:
            with suppress(FileNotFoundError):  # the user may have cleared the folder
                os.unlink(self._path)
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None

    def abandon(self) -> None:
        """Let go of it in a forked child; the parent goes on."""
        self.close(remove=False)


def _locked(path: str) -> int | None:
    """Open the file and lock it for the life of the process; None where the file system has no locks."""
    import fcntl

    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
