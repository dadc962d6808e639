"""The published collecting interface: `from ascend.profiler import Profiler, ProfilerConfig` and more."""

from __future__ import annotations

from ascend_sn.collect import (
    InferenceProfiler,
    Profiler,
    ProfilerConfig,
    Schedule,
    add_arguments,
    measure_throughput,
    memory_by_module,
)

__all__ = [
    "InferenceProfiler",
    "Profiler",
    "ProfilerConfig",
    "Schedule",
    "add_arguments",
    "measure_throughput",
    "memory_by_module",
]
