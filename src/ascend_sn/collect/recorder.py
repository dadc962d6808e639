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
    SPAN,
    STEP,
    THREAD,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn._native.span_calls import SpanCalls
    from ascend_sn.collect.buffer import SpanBuffer
    from ascend_sn.collect.names import NameTable

__all__ = ["Clock", "Recorder", "double_as_int64", "int64_as_double"]

_DOUBLE = Struct("=d")
_INT64 = Struct("=q")


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

    `session` is the number of the session, from 0; `session_step_count` the steps that ended in it.

    Spans nest per thread. A span that is stopped while an inner one is still open is recorded as it was (the
    two overlap); a stop that no start belongs to is refused.
    """

    def __init__(self, buffer: SpanBuffer, names: NameTable, clock: Clock) -> None:
        self.buffer = buffer
        self.names = names
        self.clock = clock
        self.session = -1
        self.session_step_count = 0
        # Reentrant: a signal handler may record while the same thread is inside.
        self._lock = threading.RLock()
        self._sequences: dict[str, int] = {}
        self._next_step = 0
        self._mark_ns = 0
        self._session_ns = 0
        self._session_end_ns = 0
        self._here = _Thread(self)

    def begin(self, name: str, kind: int, name_id: int, size_bytes: int = NOT_GIVEN, sequence: int = NOT_GIVEN) -> None:
        """Open a span on this thread; its row has the number `name_id`, and `end(name)` closes it."""
        _ = self._here.number  # a thread makes itself known before its first span
        self.buffer.begin(self.names.number(name), kind, size_bytes, sequence, name_id)

    def end(self, name: str) -> bool:
        """Close the innermost open span of that name on this thread; False when there is none."""
        return self.buffer.end(self.names.known(name))

    def bind(self, calls: SpanCalls) -> None:
        """Let `start_op` and `stop_op` of an object record plain spans here."""
        self.buffer.bind(calls, SPAN)

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
            self.session_step_count += 1
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
        self.session_step_count = 0
        if step is not None:
            self._next_step = step
        config_id = self.names.number(config_text)
        with self._lock:
            now_ns = self._session_ns = self._mark_ns = self.clock.now_ns()
        self.buffer.append(SESSION_START, self._here.number, config_id, now_ns, 0, self.session, realtime_ns)

    def end_session(self) -> None:
        """Cut the spans that are still open, on every thread, and close the session."""
        end_ns = self.clock.now_ns()
        for row in self.buffer.take_open(end_ns, OPEN_FLAG):
            self.buffer.append(*row)
        self._session_end_ns = end_ns
        self.repeat_session_end()

    def repeat_session_end(self) -> None:
        """Record the end of the session once more, for a trace that had no room for the first one."""
        start_ns, end_ns = self._session_ns, self._session_end_ns
        self.buffer.append(
            SESSION_END, self._here.number, NOT_GIVEN, start_ns, end_ns - start_ns, self.session, NOT_GIVEN
        )

    def enter_thread(self, number: int) -> None:
        """Take note of a thread that records for the first time; called by `_Thread`."""
        now_ns = self.clock.now_ns()
        for row in self.buffer.take_open(now_ns, OPEN_FLAG, number):  # of an ended thread that had the same number
            self.buffer.append(*row)
        ident = threading.get_ident()
        name = next((thread.name for thread in threading.enumerate() if thread.ident == ident), "")
        self.buffer.append(THREAD, number, self.names.number(name), now_ns, 0, NOT_GIVEN, NOT_GIVEN)

    def _number_row(self, kind: int, name_id: int, value: float) -> None:
        bits = double_as_int64(float(value))
        self.buffer.append(kind, self._here.number, name_id, self.clock.now_ns(), 0, bits, NOT_GIVEN)


class _Thread(threading.local):
    """The number of the calling thread (the system's thread id)."""

    number: int

    def __init__(self, recorder: Recorder) -> None:  # runs once in every thread that touches it
        self.number = threading.get_native_id()
        recorder.enter_thread(self.number)


def double_as_int64(value: float) -> int:
    """Return the bits of a float64 as an int64: how the `value` column holds metrics and counters."""
    number: int = _INT64.unpack(_DOUBLE.pack(value))[0]
    return number


def int64_as_double(bits: int) -> float:
    """Undo `double_as_int64`."""
    value: float = _DOUBLE.unpack(_INT64.pack(bits))[0]
    return value
