"""The span ring: rows of the recorder in a memory-mapped file that outlives the process.

Recording threads append, one thread takes rows out and releases them once they are safe elsewhere. When the
process is killed, finished rows and the spans that were open are still in the file. Nothing here needs numpy.
"""

from __future__ import annotations

from typing import NamedTuple

from ascend_sn._native import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from ascend_sn._native.span_calls import SpanCalls

__all__ = ["CLOSED", "FULL", "HALF_FULL", "KEPT", "NO_SPAN", "RECORD", "Recovered", "Ring"]

RECORD = "<B3xii4q"
"""`struct` format of a row as handed out: kind, thread, name_id, ts_ns, dur_ns, value, ref; 44 bytes."""

# What `append` and `end` answer. HALF_FULL comes once per filling: time to wake the thread that writes.
NO_SPAN, KEPT, HALF_FULL, FULL, CLOSED = range(5)

_COLUMN_TYPES = "Biiqqqq"


class Recovered(NamedTuple):
    """What a ring's file still holds.

    Attributes:
        records: Finished rows that were not released, oldest first, 44 bytes each.
        open_spans: Spans that were open, as rows with `dur_ns` -1; outer before inner ones of a thread.
        dropped: Rows for which there was no room, and of which `take_dropped` did not tell.
        unfinished: Rows that were being written when the process ended.
        first: Number of the first row of `records`, counted since the ring was made. A writer that was killed
            between writing rows and releasing them has written the rows from here on already.
        pid: Process that made the ring.
        offset_ns: Wall clock minus monotonic clock, ns.
    """

    records: bytes
    open_spans: bytes
    dropped: int
    unfinished: int
    first: int
    pid: int
    offset_ns: int


class Ring:
    """Rows between the threads that record and the thread that writes.

    The methods that record are those of the compiled object itself, without a Python frame around them:

    - `begin(name, kind, value=-1, ref=-1, name_id=None)` opens a span on the calling thread, stamped now; its row
      has the number `name_id` where one is given.
    - `end(name, end_ns=now)` closes the innermost open span of that name on the calling thread and appends its row;
      answers NO_SPAN, KEPT, HALF_FULL, FULL (there was no room: the row is lost and counted) or CLOSED.
    - `append(kind, thread, name_id, ts_ns, dur_ns, value, ref)` adds any row; answers likewise.
    - `full()` says whether there is no room for a row.
    - `now()` is the present time on the ring's clock: monotonic, anchored once at wall time, ns.
    - `take_open(end_ns, flag, thread=any)` closes the open spans of all threads, or of one, and returns their rows,
      `flag` added to kind.

    A name is a number, or a text if the ring was made with `number`. A closed ring, and in a child process after a
    fork an inherited one, takes nothing and gives nothing.
    """

    __slots__ = ("_core", "append", "begin", "end", "full", "now", "take_open")

    def __init__(self, core: _core.Ring) -> None:
        self._core = core
        self.begin = core.begin
        self.end = core.end
        self.append = core.append
        self.now = core.now
        self.take_open = core.take_open
        self.full = core.full

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str] | None,
        capacity: int,
        *,
        number: Callable[[str], int] | None = None,
        offset_ns: int | None = None,
        names: dict[str, int] | None = None,
    ) -> Ring:
        """Make a new ring file; its room is allocated at once.

        Args:
            path: Must not exist; None makes a ring in memory, which nobody can recover.
            capacity: Most rows that wait at a time; 48 bytes each.
            number: Gives the number of a name that is met for the first time. One below 0 is not remembered: it
                stands for every further name.
            offset_ns: Wall clock minus monotonic clock; measured where it is not given.
            names: Numbers by name, looked up first and added to; a dictionary of its own where none is given.

        Raises:
            OSError: The file exists, or there is no room for it.
        """
        return cls(_core.Ring(path, capacity, number, offset_ns, names))

    @staticmethod
    def recover(path: str | os.PathLike[str]) -> Recovered:
        """Read what a ring's file holds, whether its process lives or not.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is no span ring of this version.
        """
        with open(path, "rb") as file:
            content = bytearray(file.read())
        found = _core.ring_recover(content)
        if found is None:
            raise ValueError(f"{path} is no span ring of this version")
        records, open_spans, unfinished, dropped, first, pid, offset_ns = found
        return Recovered(records, open_spans, dropped, unfinished, first, pid, offset_ns)

    def __len__(self) -> int:
        """Return how many rows wait."""
        return self._core.waiting()

    @property
    def position(self) -> int:
        """Number of the first waiting row, counted since the ring was made."""
        return self._core.position()

    @property
    def thread_count(self) -> int:
        """How many threads' open spans are kept: the living ones, and up to 256 that have ended."""
        return self._core.thread_count()

    def bind(self, calls: SpanCalls, kind: int, wake: Callable[[], object]) -> None:
        """Let the spans of an object come here, as rows of a kind; `wake` is called when the ring is half full."""
        calls._bind(self._core, kind, wake)

    def peek(self) -> bytes:
        """Return the finished rows, oldest first, without taking them out; 44 bytes each."""
        return self._core.peek()

    def peek_columns(self, most: int = -1) -> tuple[memoryview[int], ...]:
        """Return the oldest finished rows as one array of numbers per column, without taking them out.

        Args:
            most: How many at most; below 0 all of them.
        """
        columns = zip(_COLUMN_TYPES, self._core.peek_columns(most), strict=True)
        return tuple(memoryview(column).cast(kind) for kind, column in columns)  # type: ignore[call-overload]

    def release(self, count: int) -> None:
        """Give the room of the first rows back: they are safe elsewhere."""
        self._core.release(count)

    def drain(self) -> bytes:
        """Take all finished rows out and return them; 44 bytes each."""
        rows = self._core.peek()
        self._core.release(len(rows) // 44)
        return rows

    def take_dropped(self) -> int:
        """Return how many rows were lost for lack of room since the last call."""
        return self._core.take_dropped()

    def close(self) -> None:
        """Take the ring out of the process; the file stays. Calls that take rows out raise ValueError from then on."""
        self._core.close()
