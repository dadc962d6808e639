"""PyTorch on the processor and on CUDA, through `torch.profiler`.

Its results become rows by way of its own export file and the native scanner. Measured for 200,000 events with
shapes: export 3.8 us and scan 1.2 us of processor time an event, against 14 us for asking the raw results for the same
figures; without shapes 2.5 us and 0.8 us against 10 us. The export alone holds addresses, totals of the allocator
and the parameters of collectives.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from statistics import median
from time import perf_counter_ns

from ascend_sn.collect.backends.kineto_rows import CLOCK_MARK, WindowRows, read_window
from ascend_sn.collect.backends.main_thread import done_by_main_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ascend_sn.collect.buffer import Columns
    from ascend_sn.collect.config import ProfilerConfig
    from ascend_sn.collect.names import NameTable
    from ascend_sn.collect.recorder import Clock

__all__ = ["TorchBackend"]

_used_by: dict[str, int] = {}
"""The process that has used torch.profiler, here or before this process was forked."""

_at_work = threading.Lock()
"""Held by the one window that may be open in a process: torch crashes when two are exported."""

_MARKS = 5
_EXPORT_NAME = ".window.json"


class TorchBackend:
    """One window of `torch.profiler`."""

    def __init__(self, config: ProfilerConfig, clock: Clock, folder: str) -> None:
        """Load torch; raises ImportError where it is not installed."""
        import torch
        from torch.autograd.profiler import record_function
        from torch.profiler import ProfilerActivity, profile

        self._torch: Any = torch
        self._record_function: Any = record_function
        self._config = config
        self._clock = clock
        self._export = os.path.join(folder, _EXPORT_NAME)
        self._has_device = bool(torch.cuda.is_available())
        activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if self._has_device else [])]
        self._profile: Any = profile(
            activities=activities,
            record_shapes=config.trace_level >= 2,
            profile_memory=config.enable_memory,
            with_stack=config.trace_level >= 3,
            with_modules=config.trace_level >= 3,
            experimental_config=None if config.enable_memory else _all_threads(),
        )
        self._hears_all_threads = not config.enable_memory and _all_threads() is not None
        self._owner: int | None = None
        self._is_ready = False
        self._marked_ns: list[int] = []

    def warm_up(self) -> None:
        """Load what the tracing of a device needs.

        Raises:
            RuntimeError: Another profiler of torch is at work, or an ancestor that this process was forked from
                has used it: started again it would wait for ever for the ancestor's threads.
        """
        user = _used_by.setdefault("pid", os.getpid())
        if user != os.getpid():
            raise RuntimeError(f"forked from process {user}, which has used torch.profiler: only spans are recorded")
        if self._is_enabled() or not _at_work.acquire(blocking=False):
            raise RuntimeError("torch.profiler is at work already: only spans are recorded")
        self._is_ready = True
        try:
            self._profile.prepare_trace()
        except BaseException:
            self._release()
            raise

    def cancel(self) -> None:
        """Undo a warm-up that no window followed, as torch itself does it: by a window of no length."""
        if self._is_ready:
            try:
                self._profile.start_trace()
                self._profile.stop_trace()
            finally:
                self._release()

    def start(self) -> None:
        """Begin the window, on all threads; RuntimeError where another profiler of torch is at work."""
        if not self._is_ready:
            self.warm_up()
        self._owner = threading.get_ident()
        self._profile.start_trace()
        self._mark()

    def stop(self) -> None:
        """End the window; on any thread.

        Raises:
            RuntimeError: A profiler of the program's own ended ours, and took what it had; or the window can only be
                ended by the thread that began it, and that one did not come to it.
        """
        try:
            if self._hears_all_threads or threading.get_ident() == self._owner:
                self._end()
            elif self._owner != threading.main_thread().ident or not done_by_main_thread(self._end):
                raise RuntimeError(
                    "with memory, torch.profiler is stopped by the thread that started it, and that is busy"
                )
        finally:
            self._release()
        if not self._profile.profiler.kineto_results.trace_start_ns():  # to export such a result crashes torch
            raise RuntimeError("somebody else has stopped torch.profiler: the operators are lost")

    def rows(self, names: NameTable) -> list[Columns]:
        """Export the window, turn it into rows and delete the export; the window is gone afterwards."""
        try:
            self._profile.export_chrome_trace(self._export)
            # Now: torch takes 6 us an operator to let go of it, and Python would choose some later step for that.
            self._profile.profiler.kineto_results = None
            window = read_window(self._export, names, self._config)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(self._export)
        return window.columns(self._shift_ns(window), names, self._about(window))

    def device_memory(self) -> dict[str, int]:
        """Return what the allocator of each CUDA device in use holds."""
        cuda = self._torch.cuda
        if not self._has_device or not cuda.is_initialized():
            return {}
        held: dict[str, int] = {}
        for device in range(cuda.device_count()):
            held[f"cuda:{device}.allocated_bytes"] = cuda.memory_allocated(device)
            held[f"cuda:{device}.reserved_bytes"] = cuda.memory_reserved(device)
        return held

    def device_capacity(self) -> int:
        """Return the memory of the current CUDA device, once the program has used it."""
        cuda = self._torch.cuda
        if not self._has_device or not cuda.is_initialized():
            return 0
        return int(cuda.get_device_properties(cuda.current_device()).total_memory)

    def _end(self) -> None:
        self._mark()
        self._profile.stop_trace()

    def _is_enabled(self) -> bool:
        return bool(self._torch.autograd._profiler_enabled())

    def _mark(self) -> None:
        """Put ranges into the window whose moments are known by our own clock."""
        for _ in range(_MARKS):
            before_ns = perf_counter_ns()
            with self._record_function(CLOCK_MARK):
                after_ns = perf_counter_ns()
            self._marked_ns.append((before_ns + after_ns) // 2 + self._clock.offset_ns)

    def _shift_ns(self, window: WindowRows) -> int:
        """Return what to add to the window's times so that they are those of our clock."""
        if len(window.marks) != len(self._marked_ns):
            return 0
        return int(median(ours - theirs for ours, theirs in zip(self._marked_ns, window.marks, strict=True)))

    def _about(self, window: WindowRows) -> dict[str, object]:
        """Return what the reader has to know of the window beside its rows."""
        torch = self._torch
        about: dict[str, object] = {
            "profiler": "torch.profiler",
            "torch_version": str(torch.__version__),
            "record_shapes": int(self._config.trace_level >= 2),
            "profile_memory": int(self._config.enable_memory),
            "with_stack": int(self._config.trace_level >= 3),
            "with_modules": int(self._config.trace_level >= 3),
        }
        if self._config.trace_ops is not None:
            about["trace_ops"] = list(self._config.trace_ops)
            about["trace_ops_without_match"] = window.unmatched
        kept = ("distributedInfo", "deviceProperties")
        return about | {key: window.metadata[key] for key in kept if window.metadata.get(key)}

    def _release(self) -> None:
        """Let another window be opened."""
        if self._is_ready:
            self._is_ready = False
            _at_work.release()


def _all_threads() -> Any:
    """Return the setting with which torch hears all threads, and any of them may end the window; None without it.

    Under it torch hears nothing of memory.
    """
    from torch._C._profiler import _ExperimentalConfig

    with suppress(TypeError):  # torch before 2.5
        return _ExperimentalConfig(profile_all_threads=True)
    return None
