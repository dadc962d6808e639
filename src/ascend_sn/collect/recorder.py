"""The hot path: spans, steps and values of one trace become rows."""

from __future__ import annotations

import threading
from struct import Struct
from time import perf_counter_ns

from ascend_sn.model.trace_schema import (
    COUNTER,
    LOST,
    METRIC,
    NOT_GIVEN,
    OPEN_FLAG,
    SESSION_END,
    SESSION_START,
    STEP,
    THREAD,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.buffer import SpanBuffer
    from ascend_sn.collect.names import NameTable

__all__ = ["Clock", "Recorder", "double_as_int64", "int64_as_double"]

_DOUBLE = Struct("=d")
_INT64 = Struct("=q")

# Name, row kind, number of the name, start, value, ref.
_OpenSpan = tuple[str, int, int, int, int, int]

_FORGET_THREADS_AT = 64


class Clock:
    """Nanoseconds since the Unix epoch that never jump: the monotonic clock, anchored once at wall time."""

    __slots__ = ("monotonic_ns", "offset_ns", "realtime_ns")

    def __init__(self, realtime_ns: int, monotonic_ns: int) -> None:
        self.realtime_ns = realtime_ns
        self.monotonic_ns = monotonic_ns
        self.offset_ns = realtime_ns - monotonic_ns

    def now_ns(self) -> int:
        """Return the present time."""
        return perf_counter_ns() + self.offset_ns


class Recorder:
    """Turns calls into rows of one trace; every method may be called from any thread.

    Spans nest per thread. A span that is stopped while an inner one is still open is recorded as it was (the
    two overlap); a stop that no start belongs to is refused.
    """

    def __init__(self, buffer: SpanBuffer, names: NameTable, clock: Clock) -> None:
        self.buffer = buffer
        self.names = names
        self.clock = clock
        self.session = -1
        self._offset_ns = clock.offset_ns
        # Reentrant: a signal handler may record while the same thread is inside.
        self._lock = threading.RLock()
        self._threads: list[tuple[int, list[_OpenSpan]]] = []
        self._forget_threads_at = _FORGET_THREADS_AT
        self._sequences: dict[str, int] = {}
        self._next_step = 0
        self._mark_ns = 0
        self._session_ns = 0
        self._session_end_ns = 0
        self._here = _ThreadSpans(self)

    @property
    def thread_count(self) -> int:
        """Threads that are remembered: the living ones and a bounded number of ended ones."""
        return len(self._threads)

    def begin(self, name: str, kind: int, name_id: int, size_bytes: int = NOT_GIVEN, sequence: int = NOT_GIVEN) -> None:
        """Open a span on this thread."""
        stack = self._here.stack
        stack.append((name, kind, name_id, perf_counter_ns() + self._offset_ns, size_bytes, sequence))

    def end(self, name: str) -> bool:
        """Close the innermost open span of that name on this thread; False when there is none."""
        end_ns = perf_counter_ns() + self._offset_ns
        here = self._here
        stack = here.stack
        if stack and stack[-1][0] == name:
            _, kind, name_id, start_ns, value, ref = stack.pop()
        else:
            place = next((at for at in range(len(stack) - 1, -1, -1) if stack[at][0] == name), None)
            if place is None:
                return False
            _, kind, name_id, start_ns, value, ref = stack.pop(place)
        self.buffer.append(kind, here.number, name_id, start_ns, end_ns - start_ns, value, ref)
        return True

    def next_sequence(self, group: str) -> int:
        """Return the number of the next collective of a group, from 0: what matches it across ranks."""
        with self._lock:
            number = self._sequences.get(group, 0)
            self._sequences[group] = number + 1
        return number

    def mark_step(self, number: int | None, origin: str | None = None) -> None:
        """End the current step and begin the next one; numbers count up from the last one given.

        Args:
            number: Number of the step that ends.
            origin: What showed the step, where the program did not mark it.
        """
        with self._lock:
            now_ns = self.clock.now_ns()
            step = self._next_step if number is None else int(number)
            self._next_step = step + 1
            begin_ns, self._mark_ns = self._mark_ns, now_ns
        name_id = NOT_GIVEN if origin is None else self.names.number(origin)
        self.buffer.append(STEP, self._here.number, name_id, begin_ns, now_ns - begin_ns, step, NOT_GIVEN)

    def begin_step_here(self) -> None:
        """Let the current step begin now: what went before was the recorder's own work."""
        with self._lock:
            self._mark_ns = self.clock.now_ns()

    def metric(self, name: str, value: float) -> None:
        """Record a logged value."""
        self._number_row(METRIC, self.names.number(name), value)

    def counter(self, name: str, unit: str, value: float) -> None:
        """Record a sample of a series."""
        self._number_row(COUNTER, self.names.described(name, {"unit": unit}), value)

    def lost(self, count: int) -> None:
        """Record that rows were lost before this moment; for the thread that writes and makes room."""
        self.buffer.append(LOST, self._here.number, NOT_GIVEN, self.clock.now_ns(), 0, count, NOT_GIVEN)

    def start_session(self, config_text: str, realtime_ns: int, step: int | None = None) -> None:
        """Open the next session.

        Args:
            config_text: Settings, as JSON.
            realtime_ns: The wall clock, which shows the drift of `ts_ns`.
            step: Number of the step that begins; without it, numbers go on.
        """
        self.session += 1
        if step is not None:
            self._next_step = step
        config_id = self.names.number(config_text)
        with self._lock:
            now_ns = self._session_ns = self._mark_ns = self.clock.now_ns()
        self.buffer.append(SESSION_START, self._here.number, config_id, now_ns, 0, self.session, realtime_ns)

    def end_session(self) -> None:
        """Cut the spans that are still open, on every thread, and close the session."""
        end_ns = self.clock.now_ns()
        with self._lock:
            threads = list(self._threads)
        for thread, stack in threads:
            for _ in range(len(stack)):
                _, kind, name_id, start_ns, value, ref = stack.pop()
                self.buffer.append(kind | OPEN_FLAG, thread, name_id, start_ns, end_ns - start_ns, value, ref)
        self._session_end_ns = end_ns
        self.repeat_session_end()

    def repeat_session_end(self) -> None:
        """Record the end of the session once more, for a trace that had no room for the first one."""
        start_ns, end_ns = self._session_ns, self._session_end_ns
        self.buffer.append(
            SESSION_END, self._here.number, NOT_GIVEN, start_ns, end_ns - start_ns, self.session, NOT_GIVEN
        )

    def enter_thread(self, number: int, stack: list[_OpenSpan]) -> None:
        """Take note of a thread that records for the first time; called by `_ThreadSpans`."""
        ident = threading.get_ident()
        alive = threading.enumerate()
        name = next((thread.name for thread in alive if thread.ident == ident), "")
        with self._lock:
            if len(self._threads) >= self._forget_threads_at:
                living = {thread.native_id for thread in alive}
                self._threads = [entry for entry in self._threads if entry[1] or entry[0] in living]
                self._forget_threads_at = max(_FORGET_THREADS_AT, 2 * len(self._threads))
            self._threads.append((number, stack))
        self.buffer.append(THREAD, number, self.names.number(name), self.clock.now_ns(), 0, NOT_GIVEN, NOT_GIVEN)

    def _number_row(self, kind: int, name_id: int, value: float) -> None:
        bits = double_as_int64(float(value))
        self.buffer.append(kind, self._here.number, name_id, self.clock.now_ns(), 0, bits, NOT_GIVEN)


class _ThreadSpans(threading.local):
    """The open spans of the calling thread and its number (the system's thread id)."""

    number: int
    stack: list[_OpenSpan]

    def __init__(self, recorder: Recorder) -> None:  # runs once in every thread that touches it
        self.number = threading.get_native_id()
        self.stack = []
        recorder.enter_thread(self.number, self.stack)


def double_as_int64(value: float) -> int:
    """Return the bits of a float64 as an int64: how the `value` column holds metrics and counters."""
    number: int = _INT64.unpack(_DOUBLE.pack(value))[0]
    return number


def int64_as_double(bits: int) -> float:
    """Undo `double_as_int64`."""
    value: float = _DOUBLE.unpack(_INT64.pack(bits))[0]
    return value
