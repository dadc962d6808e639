"""One output folder of this process while it is recorded: buffer, names, files and the writing thread."""

from __future__ import annotations

import os
import threading
from errno import ENOSPC
from time import perf_counter, perf_counter_ns, sleep, time_ns

from ascend_sn.collect.buffer import SpanBuffer
from ascend_sn.collect.framework import FrameworkRecorder
from ascend_sn.collect.garbage import CollectionWatch
from ascend_sn.collect.header import metadata, session_text
from ascend_sn.collect.host_state import host_state
from ascend_sn.collect.names import NameTable
from ascend_sn.collect.recorder import Clock, Recorder
from ascend_sn.collect.run_folder import create_run_folder
from ascend_sn.collect.summary import Totals, summary_text
from ascend_sn.collect.volume import VolumeForecast, limit_bytes
from ascend_sn.collect.writer import TraceWriter
from ascend_sn.model.trace_schema import (
    CAPACITY_METRIC,
    COLLECTIONS_METRIC,
    FLUSH_METRIC,
    MISSING_STEPS_METRIC,
    NAMES_NAME,
    RING_NAME,
    SPAN_COST_METRIC,
    TRACE_NAME,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ascend_sn.collect.buffer import Columns
    from ascend_sn.collect.config import ProfilerConfig
    from ascend_sn.collect.environment import JobPlace
    from ascend_sn.collect.faults import FaultLog
    from ascend_sn.collect.sampling import Sampler

__all__ = ["Trace", "scratch_recorder"]

BUFFER_ROWS = 16_384
FLUSH_INTERVAL_S = 1.0
"""Rows wait no longer than this before they are written; they are safe from the first moment on."""

_BATCHES = 3
"""Batches that a full buffer makes, with one for what comes meanwhile. A batch of at most half of the buffer needs the
same memory however long the thread that writes was kept waiting."""

_FEWEST_ROWS = 64
"""Rows of a batch that is not written in parts, where the disk has no room for it."""

ROOM_PATIENCE_S = 0.1
"""How long a call of the program waits for room when rows come faster than they are written; once, then rows are
counted as lost until a write has succeeded."""


class Trace:
    """The recording of one process into one folder, over any number of sessions."""

    def __init__(
        self, output: str, config: ProfilerConfig, place: JobPlace, faults: FaultLog, *, span_cost_ns: int
    ) -> None:
        """Create folder and files.

        Raises:
            ProfilerPathError: They cannot be written; nothing is left behind.
        """
        clock = Clock(time_ns(), perf_counter_ns())
        host = os.uname().nodename
        self.output = output
        self.names = NameTable()
        self.totals = Totals(self.names)
        self._lock = threading.RLock()
        self._faults = faults
        self._is_flushing = False
        self._is_full = False
        self._limit_bytes = config.max_size
        self._framework: FrameworkRecorder | None = None
        self._framework_row_count = 0
        self._span_cost_ns = span_cost_ns
        self._flush_ns = 0
        self._sampler: Sampler | None = None
        self._sample_at_s = self._flush_at_s = 0.0
        self._thread: threading.Thread | None = None
        self._pause = threading.Lock()  # held while the writing thread has nothing to do
        self._pause.acquire()
        self._stopping = False
        self._is_stuck = False
        self._is_warm = False
        self._forecast = VolumeForecast(faults)
        self._folder = folder = create_run_folder(output, place, start_ns=clock.realtime_ns, host=host, pid=os.getpid())
        try:
            self._writer = TraceWriter(folder, metadata(config, place, clock, host))
        except OSError as error:
            from ascend_sn.errors import ProfilerPathError

            folder.discard()
            raise ProfilerPathError(folder.path, f"cannot write there: {error.strerror}") from error
        self.path = folder.path
        self._limit_bytes = limit_bytes(config, folder.path, faults)
        self.names.write_to(self._writer.write_names)
        self.buffer = self._new_buffer(clock)
        self.recorder = Recorder(self.buffer, self.names, clock)
        self._collections: CollectionWatch | None = None

    @property
    def is_in_place(self) -> bool:
        """Whether both files still exist under their names (a user may have cleared the folder)."""
        return all(os.path.exists(os.path.join(self.path, name)) for name in (TRACE_NAME, NAMES_NAME))

    @property
    def has_content(self) -> bool:
        """Whether the program or its framework did something that was recorded."""
        return self._framework_row_count > 0 or self.totals.has_spans

    def warm_up(self, config: ProfilerConfig) -> None:
        """Let the framework's profiler get ready; the next session records with it."""
        self._framework = FrameworkRecorder(config, self.recorder.clock, self.path, self.names, self._faults)
        self._framework.warm_up()

    def cancel_warm_up(self) -> None:
        """Undo `warm_up`: no session follows."""
        if self._framework is not None:
            self._framework.cancel()
            self._framework = None

    def start_session(
        self, config: ProfilerConfig, tick: Callable[[], None], *, step: int | None = None, with_framework: bool = True
    ) -> None:
        """Open a session and start the writing thread, which calls `tick` at every turn.

        Args:
            config: Settings of the session.
            tick: Called by the writing thread.
            step: Number of the step that begins; without it, numbers go on.
            with_framework: Whether the work of a loaded framework is recorded too.
        """
        interval_s = FLUSH_INTERVAL_S
        self._open_buffer()
        if with_framework and self._framework is None:
            self._framework = FrameworkRecorder(config, self.recorder.clock, self.path, self.names, self._faults)
        if self._framework is not None:
            self._framework.start()
        self.recorder.start_session(session_text(config), time_ns(), step)
        self._forecast.begin(config, self._writer.trace_bytes)
        try:
            if config.enable_memory:
                self._sampler = self._new_sampler(config)
                self._sampler.start()
                interval_s = min(self._sampler.interval_s, FLUSH_INTERVAL_S)
                self._sample_at_s = perf_counter() + self._sampler.interval_s
            self._stopping = False
            thread = threading.Thread(
                target=self._write_until_stopped, args=(interval_s, tick), name="ascend-sn-writer", daemon=True
            )
            thread.start()
        except BaseException:  # no descriptor or thread is free: without a session nobody would end these
            sampler, self._sampler = self._sampler, None
            if sampler is not None:
                sampler.stop()
            framework, self._framework = self._framework, None
            if framework is not None:
                framework.stop()
            raise
        self._thread = thread
        # Last: Python's list of callbacks keeps the watch for the life of the process unless it is stopped.
        self._forget_collections()
        self._collections = CollectionWatch(self.recorder)
        self._collections.start()

    def end_session(self) -> None:
        """Close the session, write everything and put the end mark; a later session takes its place."""
        self._stopping = True
        self._wake()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._thread = None
        collections, self._collections = self._collections, None
        collections_ns = 0 if collections is None else collections.stop()
        if self._framework is not None:
            self._framework.stop()
            capacity = self._framework.device_capacity()
            if capacity:
                self.recorder.metric(CAPACITY_METRIC, capacity)
        if self._sampler is not None:
            self._sampler.sample()
            self._sampler.stop()
            self._sampler = None
        self.recorder.metric(SPAN_COST_METRIC, self._span_cost_ns)
        self.recorder.metric(FLUSH_METRIC, self._flush_ns)
        self.recorder.metric(COLLECTIONS_METRIC, collections_ns)
        for name, value in host_state().items():
            self.recorder.metric(name, value)
        self.recorder.end_session()
        self.flush()
        self._write_framework_rows()
        self._framework = None
        with self._lock:
            self._write_what_was_lost()
            self._writer.finish()
            self.buffer.close()

    def note_missing_steps(self, count: int) -> None:
        """Record that the program ended before its schedule; also when no session is open."""
        self._open_buffer()
        self.recorder.metric(MISSING_STEPS_METRIC, count)
        if self._thread is None:
            self.flush()
            with self._lock:
                self._writer.finish()
                self.buffer.close()

    def turn_window(self, config: ProfilerConfig) -> None:
        """Write what the framework's profiler holds once that is much, and go on; between two steps."""
        if self._framework is not None and self._framework.is_due:
            self.write_window(config)
            self.recorder.begin_step_here()

    def write_window(self, config: ProfilerConfig) -> None:
        """Write what the framework's profiler holds, and go on."""
        framework = self._framework
        if framework is None or not framework.is_running:
            return
        framework.stop()
        self._write_framework_rows()
        self._framework = None
        self._tell_forecast()
        if not self._is_full:
            self._framework = FrameworkRecorder(config, self.recorder.clock, self.path, self.names, self._faults)
            self._framework.start()

    def tick(self) -> None:
        """Take a sample when one is due, and write when rows have waited long enough or are many."""
        if not self._is_warm:
            self._is_warm = True
            with self._lock:
                self._writer.warm_up(self.buffer.most_peeked)
        now_s = perf_counter()
        if self._sampler is not None and now_s >= self._sample_at_s:
            self._sample_at_s = max(self._sample_at_s + self._sampler.interval_s, now_s)
            self._sampler.sample()
        if now_s >= self._flush_at_s or self.buffer.is_half_full:
            self._flush_at_s = now_s + FLUSH_INTERVAL_S
            self.flush()
            # What a framework's profiler holds is not on the disk yet.
            if self._forecast.is_due and (self._framework is None or not self._framework.is_running):
                self._tell_forecast()

    def tell_expected(self, config: ProfilerConfig) -> None:
        """Say before anything is recorded how large it may become; once."""
        self._forecast.tell_expected(config, self._limit_bytes - self._writer.trace_bytes)

    def _tell_forecast(self) -> None:
        """Say once, after the first steps, when the recording is going to be larger than there is room for."""
        self._forecast.tell(self._writer.trace_bytes, self._limit_bytes, self.recorder.session_step_count)

    def _new_sampler(self, config: ProfilerConfig) -> Sampler:
        from ascend_sn.collect.sampling import Sampler, utilisation_source

        def device_memory() -> dict[str, int]:
            return {} if self._framework is None else self._framework.device_memory()

        return Sampler(self.recorder, config.sample_interval, device_memory, utilisation_source(config.device_id))

    def flush(self) -> None:
        """Write the waiting rows, their names first; rows of a write that fails are counted as lost.

        Raises:
            OSError: The disk did not take them; the files end with the last whole batch.
        """
        with self._lock:
            if self._is_flushing:  # a row recorded while writing, on this same thread
                return
            self._is_flushing = True
            begin_ns = perf_counter_ns()
            try:
                self._write_waiting_rows()
            finally:
                self._is_flushing = False
                self._flush_ns += perf_counter_ns() - begin_ns

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        with self._lock:
            self._writer.sync()

    def summary(self) -> str:
        """Return the table of everything written so far."""
        with self._lock:
            return summary_text(self.totals, title=f"ascend-sn: recorded into {self.path}")

    def discard(self) -> None:
        """Take the files away again: nothing was recorded."""
        self._forget_collections()
        with self._lock:
            self.names.write_to(None)
            if not self.buffer.is_closed:
                while self.buffer.peek() is not None:
                    self.buffer.release()
                self.buffer.close()
            self._writer.release()
            self._folder.discard()

    def abandon(self) -> None:
        """Close the files in a forked child, where no lock of the parent can be trusted."""
        self._forget_collections()
        self.buffer.abandon()
        self.names.abandon()
        self._writer.close()

    def close(self) -> None:
        """Close the files; nothing can be recorded afterwards."""
        self._forget_collections()
        with self._lock:
            self.names.write_to(None)
            self.buffer.close()
            self._writer.close()

    def _forget_collections(self) -> None:
        collections, self._collections = self._collections, None
        if collections is not None:
            collections.abandon()

    def _write_waiting_rows(self) -> None:
        if self.buffer.is_closed:
            return
        self._write_ring()
        if self._collections is not None and self._collections.has_waiting:
            self._collections.take()  # now that there is room
            self._write_ring()
        lost_count = 0 if self._is_full else self.buffer.take_lost()  # a full trace says it once, at its end
        if lost_count:
            self.recorder.lost(lost_count)  # now that there is room
            self._write_ring()

    def _write_ring(self) -> None:
        for _ in range(_BATCHES):
            columns = self._write_what_fits()
            if columns is None:
                return
            self.buffer.release()
            self._is_stuck = False
            self.totals.add(columns)
            if len(columns[0]) < self.buffer.most_peeked:
                return

    def _write_what_fits(self) -> Columns | None:
        """Write the oldest rows, fewer where the disk has no room for all; where it fails they wait on."""
        most = self.buffer.most_peeked
        while True:
            columns = self.buffer.peek(most)
            self.names.write_pending()  # after the rows were taken: it then has every name they use
            if columns is None:
                return None
            try:
                self._write_batch(columns)
            except OSError as error:
                if error.errno != ENOSPC or len(columns[0]) <= _FEWEST_ROWS:
                    raise
                most = len(columns[0]) // 2
                continue
            return columns

    def _write_batch(self, columns: Columns) -> None:
        if self._is_full or self._writer.size_bytes > self._limit_bytes:
            if not self._is_full:
                self._is_full = True
                limit = f"{self._limit_bytes / 1e6:.3g} MB"
                self._faults.warning("size limit", f"{self.path} has reached its limit of {limit}; recording ends")
            self.buffer.add_lost(len(columns[0]))
            return
        self._writer.write_batch(columns)

    def _write_framework_rows(self) -> None:
        if self._framework is None:
            return
        batches = self._framework.rows()
        self._framework_row_count += sum(len(columns[0]) for columns in batches[1:])  # the first one is the window
        with self._lock:
            try:
                self.names.write_pending()
                for columns in batches:
                    self._write_batch(columns)
            except OSError:
                self.buffer.add_lost(sum(len(columns[0]) for columns in batches))
                raise

    def _write_what_was_lost(self) -> None:
        """Say how much a full trace did not take: the rows that end the session are few and always fit."""
        if not self._is_full:
            return
        self._is_full = False
        limit, self._limit_bytes = self._limit_bytes, 1 << 62
        try:
            self.recorder.lost(self.buffer.take_lost())
            self.recorder.repeat_session_end()
            self._write_waiting_rows()
        finally:
            self._limit_bytes = limit

    def _new_buffer(self, clock: Clock) -> SpanBuffer:
        return SpanBuffer(
            os.path.join(self.path, RING_NAME),
            BUFFER_ROWS,
            self.names,
            clock.offset_ns,
            wake=self._wake,
            make_room=self._make_room,
            faults=self._faults,
        )

    def _open_buffer(self) -> None:
        if self.buffer.is_closed:
            self.buffer = self.recorder.buffer = self._new_buffer(self.recorder.clock)

    def _make_room(self) -> None:
        """Let a thread that records wait for the thread that writes; where there is none it writes itself."""
        if self._thread is None or self._thread is threading.current_thread():
            try:
                self.flush()
            except OSError:
                self._faults.exception("writing the trace")
            return
        self._wake()
        if self._is_stuck:
            return
        last_s = perf_counter() + ROOM_PATIENCE_S
        while self.buffer.is_full and not self._is_stuck:
            self._is_stuck = perf_counter() > last_s
            sleep(0.0005)

    def _wake(self) -> None:
        # A bare lock and no Event: a signal handler that records inside Event.set would wait for ever.
        if self._pause.locked():
            try:
                self._pause.release()
            except RuntimeError:  # another thread was faster
                return

    def _write_until_stopped(self, interval_s: float, tick: Callable[[], None]) -> None:
        while not self._stopping:
            self._pause.acquire(timeout=interval_s)
            if not self._stopping:
                tick()


def scratch_recorder() -> Recorder:
    """Return a recorder without files, to measure with."""
    clock, names = Clock(time_ns(), perf_counter_ns()), NameTable()
    return Recorder(SpanBuffer(None, BUFFER_ROWS, names, clock.offset_ns), names, clock)
