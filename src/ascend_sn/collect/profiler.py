"""The Profiler that a training script uses."""

from __future__ import annotations

import os
import threading

from ascend_sn._native.span_calls import SpanCalls, own_calls
from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.described import begin_described
from ascend_sn.collect.environment import job_place
from ascend_sn.collect.exit_hook import ExitHook
from ascend_sn.collect.faults import FaultLog
from ascend_sn.collect.fork import call_in_children
from ascend_sn.collect.neighbours import ask_others_aside, note_recording
from ascend_sn.collect.scheduled import ScheduledRun
from ascend_sn.collect.scopes import OpScope, recorded_function
from ascend_sn.model.trace_schema import SPAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import ParamSpec, TypeVar

    from ascend_sn.collect.recorder import Recorder
    from ascend_sn.collect.trace import Trace

    P = ParamSpec("P")
    R = TypeVar("R")

__all__ = ["Profiler"]


@own_calls
class Profiler(SpanCalls):
    """Records spans, steps and values of this process into `train.trace`.

    Recording starts with `start()`, with `with profiler:`, or, when neither was ever used, with the first
    `start_op`, `step` or `log_metric`; it ends with `stop()` or with the process. Every start and stop is a
    session of one trace. Explicit `start()` raises on misuse and on a path that cannot be written; whatever
    else goes wrong is said once through `logging` (logger `ascend_sn.collect`) and never reaches the program.

    Args:
        config: Settings. Single settings can be given by name instead or beside it, and then win.
        **settings: Arguments of `ProfilerConfig`, such as `output_path=` or `device_id=`.

    Raises:
        TypeError: A setting that does not exist; the message names the nearest one that does.
    """

    def __init__(self, config: ProfilerConfig | None = None, **settings: object) -> None:
        if config is not None and not isinstance(config, ProfilerConfig):
            raise TypeError(f"config is a ProfilerConfig, not {config!r}; a folder is given as output_path=")
        self.config = (ProfilerConfig() if config is None else config).replaced(**settings)
        self._faults = FaultLog()
        self._lock = threading.RLock()
        self._trace: Trace | None = None
        self._recorder: Recorder | None = None  # set while recording
        self._exit_hook: ExitHook | None = None
        self._scheduled: ScheduledRun | None = None
        self._starts_by_use = self.config.backend != "off"
        self._started_by_use = False
        self._span_cost_ns = 0

    @classmethod
    def from_args(cls, args: Namespace) -> Profiler:
        """Return a profiler as a script's own arguments ask for (see `add_arguments`).

        Without `--profile` every call is taken and nothing is recorded, so that the script needs no condition.
        """
        from ascend_sn.collect.arguments import config_of

        return cls(config_of(args))

    @property
    def is_recording(self) -> bool:
        """Whether a session is open; also while a schedule lets steps pass unrecorded."""
        return self._recorder is not None or self._scheduled is not None

    @property
    def output_folder(self) -> str | None:
        """The folder that holds this process's files, once recording has started."""
        return None if self._trace is None else self._trace.path

    @property
    def fault_counts(self) -> dict[str, int]:
        """How often what went wrong and was kept from the program, by kind."""
        return dict(self._faults.counts)

    def start(
        self,
        output_dir: str | os.PathLike[str] | None = None,
        collect_ops: bool | None = None,
        collect_memory: bool | None = None,
        collect_comm: bool | None = None,
        sample_interval_us: float | None = None,
    ) -> None:
        """Open a session; what is given replaces the settings from here on.

        Sessions into one output folder are parts of one trace; another folder begins another trace.

        Args:
            output_dir: As `ProfilerConfig.output_path`.
            collect_ops: As `enable_ops`.
            collect_memory: As `enable_memory`.
            collect_comm: As `enable_comm`.
            sample_interval_us: As `sample_interval`, microseconds.

        Raises:
            ProfilerStateError: A session is open already; it goes on unharmed.
            ProfilerPathError: The output folder cannot be written; the profiler is as before.
        """
        with self._lock:
            if self.config.backend == "off":
                return
            if self.is_recording and not self._started_by_use:
                from ascend_sn.errors import ProfilerStateError

                raise ProfilerStateError(
                    f"this profiler is recording into {self.output_folder} already; stop() it first"
                )
            config = self.config.replaced(
                output_path=output_dir,
                enable_ops=collect_ops,
                enable_memory=collect_memory,
                enable_comm=collect_comm,
                sample_interval=sample_interval_us,
            )
            self._open_session(config)
            self._started_by_use = False

    def stop(self) -> None:
        """Close the session and write all of it; without an open session nothing happens."""
        with self._lock:
            try:
                self._starts_by_use = False
                self._close_session()
            except Exception:  # noqa: BLE001 - the boundary to the user's program
                self._faults.exception("stop")

    def save(self, intermediate: bool = False) -> None:
        """Bring everything recorded so far onto the disk, readable at once; recording goes on if it was on.

        What a framework's profiler holds is written too, which takes some microseconds an operator; so not at every
        step.

        Args:
            intermediate: Says that it is called in the middle of a session; the effect is the same.
        """
        with self._lock:
            try:
                if self._trace is not None:
                    if self._recorder is not None:
                        self._trace.write_window(self.config)
                        self._trace.flush()
                    self._trace.sync()
            except Exception:  # noqa: BLE001 - the boundary to the user's program
                self._faults.exception("save")

    def export(self, format: str, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write the recording in another form, by a process of its own, and return where it lies.

        Args:
            format: `chrome` (a trace for Perfetto), `csv`, `parquet` (a folder with a file per table), `json` (the
                analysis), `html` (the report) or `arrow` (the events).
            path: Where to; beside the recording, named after the format, when not given.

        Returns:
            The path; None when nothing was recorded or it could not be made, which is logged.

        Raises:
            ValueError: The format is none of these.
        """
        from ascend_sn.collect.export import FORMATS, export_recording

        if format not in FORMATS:
            raise ValueError(f"export knows the formats {', '.join(FORMATS)}, not {format!r}")
        try:
            self.save()
            folder = self.output_folder
            if folder is None:
                self._faults.warning("export", "nothing was recorded, so nothing was exported")
                return None
            return export_recording(folder, format, None if path is None else os.fspath(path))
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("export")
            return None

    def view(self) -> str | None:
        """Show the recording as a web page, and return its address.

        A process of its own serves the page; it opens a browser where there is a display, and ends after an hour
        without a visitor. The address, which holds a secret token, is printed, and so is the ssh command that makes
        it reachable from another machine. None, and a warning, where nothing was recorded.
        """
        try:
            self.save()
            folder = self.output_folder
            if folder is None:
                self._faults.warning("view", "nothing was recorded, so there is nothing to view")
                return None
            from ascend_sn.collect.export import view_recording

            address, said = view_recording(folder)
            print(said, flush=True)
            return address
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("view")
            return None

    def _start_op(
        self,
        name: str,
        kind: str | None = None,
        *,
        size_bytes: int | None = None,
        group: str | None = None,
        op: str | None = None,
        ranks: Sequence[int] | None = None,
        dtype: str | None = None,
        sequence: int | None = None,
    ) -> None:
        """Do what the compiled `start_op` does not do by itself."""
        try:
            recorder = self._recorder
            if recorder is None:
                recorder = self._begin_by_use()
                if recorder is None:
                    return
            if (
                kind is None
                and size_bytes is None
                and group is None
                and op is None
                and ranks is None
                and (dtype is None and sequence is None)
            ):
                recorder.begin(name, SPAN, recorder.names.number(name))
            else:
                begin_described(
                    recorder,
                    self._faults,
                    name,
                    kind,
                    size_bytes=size_bytes,
                    group=group,
                    op=op,
                    ranks=ranks,
                    dtype=dtype,
                    sequence=sequence,
                )
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("start_op")

    def _stop_op(self, name: str) -> None:
        """Do what the compiled `stop_op` does not do by itself."""
        try:
            recorder = self._recorder
            if recorder is not None and not recorder.end(name):
                self._faults.warning("unmatched stop_op", f"stop_op({name!r}) has no open start_op on its thread")
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("stop_op")

    def op(
        self,
        name: str,
        kind: str | None = None,
        *,
        size_bytes: int | None = None,
        group: str | None = None,
        op: str | None = None,
        ranks: Sequence[int] | None = None,
        dtype: str | None = None,
        sequence: int | None = None,
    ) -> OpScope:
        """Return a context manager: `start_op` with these arguments before its body, `stop_op` after it."""

        def begin() -> None:
            self.start_op(
                name,
                kind,
                size_bytes=size_bytes,
                group=group,
                op=op,
                ranks=ranks,
                dtype=dtype,
                sequence=sequence,
            )

        return OpScope(self, name, begin)

    def step(self, n: int | None = None) -> None:
        """End the current training step and begin the next; the first one begins with the session.

        Args:
            n: Number of the step that ends. Without it, one more than the last, from 0.
        """
        try:
            if self._scheduled is None and self._recorder is None:
                self._begin_by_use()
            self._mark_step(n, None)
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("step")

    def log_metric(self, name: str, value: float) -> None:
        """Record a value at this moment; `data_time` (seconds) counts as the data phase of `summary()`."""
        try:
            recorder = self._recorder or self._begin_by_use()
            if recorder is not None:
                recorder.metric(name, value)
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("log_metric")

    def summary(self) -> str:
        """Return a table of everything recorded so far: phases, operations, metrics; at any time."""
        with self._lock:
            try:
                return self._summary()
            except Exception:  # noqa: BLE001 - the boundary to the user's program
                self._faults.exception("summary")
                return "ascend-sn: the summary could not be made, see the log"

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        self.save()

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Decorate a function: each call is a span; a call outside a session is a session of its own.

        Raises:
            TypeError: For a coroutine function or an asynchronous generator, whose calls only begin the work.
        """
        return recorded_function(self, function)

    def __getstate__(self) -> dict[str, object]:
        return {"config": self.config}

    def __setstate__(self, state: dict[str, ProfilerConfig]) -> None:
        # A copy, or an object that went to another process, is silent until it is started.
        self.__init__(state["config"])  # type: ignore[misc]
        self._starts_by_use = False

    def _forget_parent(self) -> None:
        """Leave the parent's recording alone; a forked child, where this runs, records only when started."""
        self._lock = threading.RLock()
        if self._trace is not None:
            self._trace.abandon()
        self._trace = None
        self._record_with(None)
        self._scheduled = None
        self._starts_by_use = False
        if self._exit_hook is not None:
            self._exit_hook.cancel()
            self._exit_hook = None

    def _begin_by_use(self) -> Recorder | None:
        """Start recording because it is being used; only when nobody ever started or stopped it."""
        if not self._starts_by_use:
            return None
        with self._lock:
            if self._recorder is None and self._starts_by_use:
                self._starts_by_use = False  # whatever comes of it: a failure is not repeated at every call
                self._open_session(self.config, by_use=True)
                self._started_by_use = True
            return self._recorder

    def _open_session(self, config: ProfilerConfig, *, by_use: bool = False) -> None:
        from ascend_sn.collect.overhead import span_cost_ns
        from ascend_sn.collect.trace import Trace, scratch_recorder

        output = os.path.abspath(os.fspath(config.output_path))
        trace = self._trace
        if trace is None or trace.output != output or not trace.is_in_place:
            if not self._span_cost_ns:
                scratch = Profiler()
                scratch._record_with(scratch_recorder())
                self._span_cost_ns = span_cost_ns(scratch)
                scratch._record_with(None)
            trace = Trace(output, config, job_place(), self._faults, span_cost_ns=self._span_cost_ns)
        # A program that only marks its spans has not asked for more: a loaded framework is left alone then.
        with_framework = not by_use or config.backend != "auto"
        if with_framework:
            ask_others_aside(self)
        self._close_session()  # one that was started by use goes over into the new one
        if self._trace is not None and self._trace is not trace:
            self._trace.close()
        call_in_children(self._forget_parent)
        self.config = config
        self._starts_by_use = False
        self._trace = trace
        note_recording(self)
        self._exit_hook = ExitHook(self.stop)
        if with_framework:
            trace.tell_expected(config)
        if config.schedule is not None and not by_use:
            self._scheduled = ScheduledRun(config.schedule)
            self._follow_schedule(self._scheduled)
            return
        trace.start_session(config, self._tick, with_framework=with_framework)
        self._record_with(trace.recorder)

    def _record_with(self, recorder: Recorder | None) -> None:
        """Record with this from now on; None ends it."""
        self._recorder = recorder
        if recorder is None:
            self._unbind()
        else:
            recorder.bind(self)

    def _mark_step(self, number: int | None, origin: str | None) -> None:
        recorder = self._recorder
        if recorder is not None:
            recorder.mark_step(number, origin)
        if self._scheduled is not None:
            with self._lock:
                if self._scheduled is not None:
                    self._scheduled.step_ended()
                    self._follow_schedule(self._scheduled)
        elif recorder is not None and self._trace is not None:
            self._trace.turn_window(self.config)

    def _follow_schedule(self, scheduled: ScheduledRun) -> None:
        """Do what the step that begins asks for."""
        trace = self._trace
        if trace is None:
            return
        if self._recorder is not None and scheduled.is_cycle_over:
            self._record_with(None)
            trace.end_session()
        if scheduled.begins_warmup:
            trace.warm_up(self.config)
        elif scheduled.is_active and self._recorder is None:
            trace.start_session(self.config, self._tick, step=scheduled.step)
            self._record_with(trace.recorder)

    def _close_session(self) -> None:
        trace, scheduled = self._trace, self._scheduled
        if not self.is_recording or trace is None:
            return
        was_open, self._scheduled = self._recorder is not None, None
        self._record_with(None)
        if self._exit_hook is not None:
            self._exit_hook.cancel()
            self._exit_hook = None
        if scheduled is not None and scheduled.missing_text is not None:
            self._faults.warning("short schedule", scheduled.missing_text)
            trace.note_missing_steps(scheduled.missing_steps)
        if was_open:
            trace.end_session()
        else:
            trace.cancel_warm_up()
        if scheduled is not None and not scheduled.kept_steps and not trace.has_content:
            self._trace = None
            trace.discard()

    def _tick(self) -> None:
        try:
            if self._trace is not None:
                self._trace.tick()
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("writing the trace")

    def _summary(self) -> str:
        trace = self._trace
        if trace is None:
            return "ascend-sn: nothing recorded yet"
        if self._recorder is not None:
            trace.flush()
        return trace.summary()
