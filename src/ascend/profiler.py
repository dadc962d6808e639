"""The published collecting interface: `from ascend.profiler import Profiler, ProfilerConfig`."""

from __future__ import annotations

from ascend_sn.collect import Profiler, ProfilerConfig

__all__ = ["Profiler", "ProfilerConfig"]
