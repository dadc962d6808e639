"""What records the work of a framework and its device, beside the spans that the program marks.

A backend is chosen when a session opens; its module, and with it the framework, is loaded only then.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from ascend_sn.collect.buffer import Columns
    from ascend_sn.collect.config import ProfilerConfig
    from ascend_sn.collect.names import NameTable
    from ascend_sn.collect.recorder import Clock

    class Backend(Protocol):
        """Records from `start` to `stop`; then `rows` hands over what came."""

        def warm_up(self) -> None:
            """Get ready, so that the start costs less."""

        def cancel(self) -> None:
            """Undo `warm_up` when no `start` follows."""

        def start(self) -> None:
            """Begin to record, on all threads."""

        def stop(self) -> None:
            """End the recording."""

        def rows(self, names: NameTable) -> list[Columns]:
            """Return the rows of the recording, in batches; names that they use are added to `names`."""

        def device_memory(self) -> dict[str, int]:
            """Return what the device's allocator holds at this moment, bytes by name of the series."""

        def device_capacity(self) -> int:
            """Return the memory of the device in bytes; 0 without a device."""


__all__ = ["HOST", "TORCH", "backend_name", "backend_of"]

HOST = "host"
TORCH = "torch"
TORCH_NPU = "torch_npu"
AUTO = "auto"


def backend_name(config: ProfilerConfig) -> str:
    """Return which backend the settings ask for now: `auto` takes the framework that the program has loaded."""
    if config.backend != AUTO:
        return config.backend
    frameworks = (TORCH_NPU, TORCH) if config.enable_ops else ()
    return next((module for module in frameworks if module in sys.modules), HOST)


def backend_of(config: ProfilerConfig, clock: Clock, folder: str) -> Backend | None:
    """Return the backend that the settings ask for; None where only the program's own spans are recorded.

    Args:
        config: The settings of the session.
        clock: The clock of the trace.
        folder: The run folder, for files that only exist while rows are made.

    Raises:
        ImportError: The framework that was asked for by name is not installed.
    """
    name = backend_name(config)
    if name == TORCH_NPU:
        from ascend_sn.collect.backends.npu import NpuBackend

        return NpuBackend(config, clock, folder)
    if name == TORCH:
        from ascend_sn.collect.backends.torch_profiler import TorchBackend

        return TorchBackend(config, clock, folder)
    return None
