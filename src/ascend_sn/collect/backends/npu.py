"""Ascend NPUs, through `torch_npu.profiler`; not yet run on hardware, tested against its documented interface.

What it exports stays as it is, in a folder beside the recorder's files; the reader of these puts both together.
"""

from __future__ import annotations

import os
from array import array

from ascend_sn.model.trace_schema import CAPTURE, NOT_GIVEN, NPU_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ascend_sn.collect.buffer import Columns
    from ascend_sn.collect.config import ProfilerConfig
    from ascend_sn.collect.names import NameTable
    from ascend_sn.collect.recorder import Clock

__all__ = ["NpuBackend"]


class NpuBackend:
    """One window of `torch_npu.profiler`.

    | setting | torch_npu |
    |---|---|
    | `trace_level` 1 | `ProfilerLevel.Level0` |
    | `trace_level` 2 | `ProfilerLevel.Level1`, `AiCMetrics.PipeUtilization`, shapes |
    | `trace_level` 3 | `ProfilerLevel.Level2`, `AiCMetrics.PipeUtilization`, shapes, stacks, modules |
    | `comm_level` 2, 3 | at least `ProfilerLevel.Level1`, which holds the parts of collectives |
    | `enable_memory` | `profile_memory` |
    """

    def __init__(self, config: ProfilerConfig, clock: Clock, folder: str) -> None:
        """Load torch_npu; raises ImportError where it is not installed."""
        import torch_npu

        self._torch_npu: Any = torch_npu
        self._config = config
        self._clock = clock
        profiler = torch_npu.profiler
        level = self._level()
        metrics = profiler.AiCMetrics
        self._profile: Any = profiler.profile(
            activities=[profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.NPU],
            on_trace_ready=profiler.tensorboard_trace_handler(os.path.join(folder, NPU_FOLDER)),
            record_shapes=config.trace_level >= 2,
            profile_memory=config.enable_memory,
            with_stack=config.trace_level >= 3,
            with_modules=config.trace_level >= 3,
            experimental_config=profiler._ExperimentalConfig(
                export_type=profiler.ExportType.Text,
                profiler_level=getattr(profiler.ProfilerLevel, f"Level{level}"),
                aic_metrics=metrics.PipeUtilization if level else metrics.AiCoreNone,
            ),
        )
        self._start_ns = 0

    def warm_up(self) -> None:
        """Nothing: torch_npu gets ready when it starts."""

    def cancel(self) -> None:
        """Nothing, for the same reason."""

    def start(self) -> None:
        """Begin the window."""
        self._start_ns = self._clock.now_ns()
        self._profile.start()

    def stop(self) -> None:
        """End the window when the device has done what it was asked; torch_npu parses it then."""
        self._torch_npu.npu.synchronize()
        self._profile.stop()

    def rows(self, names: NameTable) -> list[Columns]:
        """Return the row that tells the reader of the folder."""
        import json

        about = {
            "profiler": "torch_npu.profiler",
            "torch_npu_version": str(getattr(self._torch_npu, "__version__", "")),
            "folder": NPU_FOLDER,
            "profiler_level": self._level(),
        }
        row = (CAPTURE, 0, names.document(json.dumps(about)), self._start_ns, 0, NOT_GIVEN, NOT_GIVEN)
        return [tuple(array(kind, [value]) for kind, value in zip("Biiqqqq", row, strict=True))]

    def device_memory(self) -> dict[str, int]:
        """Return what the allocator of this process's device holds."""
        npu = self._torch_npu.npu
        if not npu.is_available():
            return {}
        device = npu.current_device()
        return {
            f"npu:{device}.allocated_bytes": npu.memory_allocated(),
            f"npu:{device}.reserved_bytes": npu.memory_reserved(),
        }

    def device_capacity(self) -> int:
        """Return the memory of this process's device."""
        npu = self._torch_npu.npu
        return int(npu.get_device_properties(npu.current_device()).total_memory) if npu.is_available() else 0

    def _level(self) -> int:
        level = self._config.trace_level - 1
        return max(level, 1) if self._config.enable_comm and self._config.comm_level >= 2 else level
