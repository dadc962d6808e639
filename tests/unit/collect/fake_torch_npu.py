"""A stand-in for torch_npu that takes what its documented profiler interface takes, and no more.

`torch_npu.profiler`: Ascend Extension for PyTorch, profiler interface. Its `stop` leaves a finished export.
"""

from __future__ import annotations

import enum
import shutil
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


class ProfilerActivity(enum.Enum):
    CPU = 0
    NPU = 1


class ProfilerLevel:
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"
    Level_none = "Level_none"


class AiCMetrics:
    AiCoreNone = "ACL_AICORE_NONE"
    PipeUtilization = "ACL_AICORE_PIPE_UTILIZATION"
    ArithmeticUtilization = "ACL_AICORE_ARITHMETIC_UTILIZATION"
    Memory = "ACL_AICORE_MEMORY_BANDWIDTH"


class ExportType:
    Text = "text"
    Db = "db"


class _ExperimentalConfig:
    def __init__(
        self,
        profiler_level: str = ProfilerLevel.Level0,
        aic_metrics: str = AiCMetrics.AiCoreNone,
        l2_cache: bool = False,
        msprof_tx: bool = False,
        data_simplification: bool = True,
        record_op_args: bool = False,
        op_attr: bool = False,
        gc_detect_threshold: float | None = None,
        export_type: str = ExportType.Text,
        host_sys: list[str] | None = None,
        mstx: bool = False,
        sys_io: bool = False,
        sys_interconnection: bool = False,
    ) -> None:
        if profiler_level == ProfilerLevel.Level0 and aic_metrics != AiCMetrics.AiCoreNone:
            raise ValueError("Level0 takes no AI-core metrics")
        self.profiler_level, self.aic_metrics, self.export_type = profiler_level, aic_metrics, export_type


def fake_torch_npu(export: Path) -> Any:
    """Return the module; `profiles` lists the profiles that were made, with what was asked of them."""
    profiles: list[profile] = []

    class profile:
        def __init__(
            self,
            *,
            activities: Iterable[ProfilerActivity] | None = None,
            schedule: Callable[[int], Any] | None = None,
            on_trace_ready: Callable[..., Any] | None = None,
            record_shapes: bool = False,
            profile_memory: bool = False,
            with_stack: bool = False,
            with_modules: bool = False,
            with_flops: bool = False,
            experimental_config: _ExperimentalConfig | None = None,
        ) -> None:
            self.asked = {key: value for key, value in locals().items() if key != "self"}
            self.calls: list[str] = []
            profiles.append(self)

        def start(self) -> None:
            if any(other.calls[-1:] == ["start"] for other in profiles):
                raise RuntimeError("a profiler is at work")
            self.calls.append("start")

        def step(self) -> None:
            self.calls.append("step")

        def stop(self) -> None:
            if self.calls[-1:] != ["start"]:
                raise RuntimeError("stop without start")
            self.calls.append("stop")
            self.asked["on_trace_ready"](self)

    def tensorboard_trace_handler(
        dir_name: str | None = None, worker_name: str | None = None, analyse_flag: bool = True, async_mode: bool = False
    ) -> Callable[..., None]:
        def handler(_profile: profile) -> None:
            number = sum(one.calls[-1:] == ["stop"] for one in profiles)
            shutil.copytree(export, Path(str(dir_name)) / f"host_1234_{20250101000000000 + number}_ascend_pt")

        return handler

    npu = types.SimpleNamespace(
        is_available=lambda: True,
        synchronize=lambda: None,
        current_device=lambda: 0,
        memory_allocated=lambda: 4096,
        memory_reserved=lambda: 8192,
        get_device_properties=lambda device: types.SimpleNamespace(total_memory=1 << 36),
    )
    module: Any = types.ModuleType("torch_npu")
    module.__version__ = "2.6.0"
    module.npu = npu
    module.profiles = profiles
    module.profiler = types.SimpleNamespace(
        profile=profile,
        tensorboard_trace_handler=tensorboard_trace_handler,
        ProfilerActivity=ProfilerActivity,
        ProfilerLevel=ProfilerLevel,
        AiCMetrics=AiCMetrics,
        ExportType=ExportType,
        _ExperimentalConfig=_ExperimentalConfig,
    )
    return module
