"""What runs inside the user's process: the Profiler and the file it writes.

Importing this package is cheap on purpose (no numpy, no nanoarrow, no framework); what writing the file needs
is loaded when recording starts.
"""

from __future__ import annotations

from ascend_sn.collect.arguments import add_arguments
from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.inference import InferenceProfiler, measure_throughput
from ascend_sn.collect.module_memory import memory_by_module
from ascend_sn.collect.profiler import Profiler
from ascend_sn.collect.schedule import Schedule

__all__ = [
    "InferenceProfiler",
    "Profiler",
    "ProfilerConfig",
    "Schedule",
    "add_arguments",
    "measure_throughput",
    "memory_by_module",
]
