"""The work of a framework beside the program's spans: one window of its profiler, guarded."""

from __future__ import annotations

from time import monotonic

from ascend_sn.collect.backends import backend_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.backends import Backend
    from ascend_sn.collect.buffer import Columns
    from ascend_sn.collect.config import ProfilerConfig
    from ascend_sn.collect.faults import FaultLog
    from ascend_sn.collect.names import NameTable
    from ascend_sn.collect.recorder import Clock

__all__ = ["WINDOW_S", "FrameworkRecorder"]

WINDOW_S = 20.0
"""A framework's profiler keeps everything in memory until it is stopped: after this long, at the next step."""


class FrameworkRecorder:
    """Starts, stops and empties a backend; whatever goes wrong is said and leaves the spans as they are."""

    def __init__(self, config: ProfilerConfig, clock: Clock, folder: str, names: NameTable, faults: FaultLog) -> None:
        self._names = names
        self._faults = faults
        self._backend: Backend | None = None
        self._is_running = False
        self._has_rows = False
        self._started_s = 0.0
        try:
            self._backend = backend_of(config, clock, folder)
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            faults.exception(f"the backend {config.backend!r}")

    @property
    def is_running(self) -> bool:
        """Whether the window is open."""
        return self._is_running

    @property
    def is_due(self) -> bool:
        """Whether the window has become so long that it should be written."""
        return self._is_running and monotonic() - self._started_s > WINDOW_S

    def warm_up(self) -> None:
        """Get ready, so that the start costs the program less."""
        if self._backend is not None:
            try:
                self._backend.warm_up()
            except Exception:  # noqa: BLE001 - the boundary to the user's program
                self._give_up("warming up the framework's profiler")

    def cancel(self) -> None:
        """Undo the warm-up: no window follows."""
        if self._backend is not None and not self._is_running:
            try:
                self._backend.cancel()
            except Exception:  # noqa: BLE001 - the boundary to the user's program
                self._give_up("ending the warm-up of the framework's profiler")

    def start(self) -> None:
        """Open the window."""
        if self._backend is not None:
            try:
                self._started_s = monotonic()
                self._backend.start()
                self._is_running = True
            except Exception:  # noqa: BLE001 - the boundary to the user's program
                self._give_up("starting the framework's profiler")

    def stop(self) -> None:
        """Close the window."""
        if self._backend is not None and self._is_running:
            self._is_running = False
            try:
                self._backend.stop()
                self._has_rows = True
            except Exception:  # noqa: BLE001 - the boundary to the user's program
                self._give_up("stopping the framework's profiler")

    def rows(self) -> list[Columns]:
        """Return the rows of the closed window, once."""
        if self._backend is None or not self._has_rows:
            return []
        self._has_rows = False
        try:
            return self._backend.rows(self._names)
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._give_up("reading what the framework's profiler recorded")
            return []

    def device_memory(self) -> dict[str, int]:
        """Return what the device's allocator holds, bytes by series; empty where nothing is known."""
        if self._backend is None:
            return {}
        try:
            return self._backend.device_memory()
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("device memory")
            return {}

    def device_capacity(self) -> int:
        """Return the memory of the device in bytes; 0 where nothing is known."""
        if self._backend is None:
            return 0
        try:
            return self._backend.device_capacity()
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("the memory of the device")
            return 0

    def _give_up(self, place: str) -> None:
        self._faults.exception(place)
        self._backend = None
