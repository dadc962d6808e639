"""The published collecting interface of asc-tools: `from asc_tools.profiler import Profiler`."""

from __future__ import annotations

from ascend_sn.collect import Profiler

__all__ = ["Profiler"]
