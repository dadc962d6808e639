"""What the recorder was asked for, and what came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from ascend_sn.formats.kineto.coverage import coverage as kineto_coverage
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import CoverageEntry
from ascend_sn.model.rows import Rows

__all__ = ["coverage_of", "framework_coverage"]

_HOST_ONLY: Final = "recorded without a framework"
_UNSUPPORTED: Final = {
    "host_call": f"{_HOST_ONLY}: there are no runtime calls",
    "kernel_metric": f"{_HOST_ONLY}: there are no hardware figures",
    "comm_task": f"{_HOST_ONLY}: collectives are known as a whole",
    "link": f"{_HOST_ONLY}: collectives are known as a whole",
    "memory_event": f"{_HOST_ONLY}: allocations are not seen, only the memory of the process",
    "memory_sample": f"{_HOST_ONLY}: allocations are not seen, only the memory of the process",
    "stack": f"{_HOST_ONLY}: there are no call stacks",
    "flow": f"{_HOST_ONLY}: work starts where it is called",
}
_MEMORY_ON: Final = "ProfilerConfig(enable_memory=True) or ASCEND_MEMORY_PROFILING_ENABLE=1"
_COMM_ON: Final = "ProfilerConfig(enable_comm=True) or ASCEND_HCCL_PROFILING_ENABLE=1"
_SPAN_ON: Final = "profiler.start_op(name) and stop_op(name) around the parts of a step"
_TURN_ON: Final = {
    "operator": _SPAN_ON,
    "kernel": f"{_SPAN_ON}, with kind='compute' where the name does not say it",
    "span": _SPAN_ON,
    "collective": "profiler.start_op('all_reduce', kind='communication', size_bytes=..., group=...)",
    "comm_group_member": "start_op(..., ranks=[...])",
    "metric": "profiler.log_metric(name, value)",
    "counter": _MEMORY_ON,
}
_MEMORY: Final = ("memory_event", "memory_sample")


def coverage_of(tables: Mapping[str, Rows], config: Mapping[str, Any], is_host_only: bool) -> list[CoverageEntry]:
    """Return one entry per table; the absence of steps is told where they are inferred."""
    return [
        entry for name in (*_TURN_ON, *_UNSUPPORTED, "step") for entry in _entry(name, tables, config, is_host_only)
    ]


def _entry(name: str, tables: Mapping[str, Rows], config: Mapping[str, Any], is_host_only: bool) -> list[CoverageEntry]:
    rows = tables.get(name)
    if rows is not None and len(rows):
        return [CoverageEntry(name, "collected")]
    if name == "step":
        return []
    asked_for_memory = bool(config.get("enable_memory"))
    if not asked_for_memory and (name == "counter" or (name in _MEMORY and not is_host_only)):
        return [CoverageEntry(name, "not_requested", "enable_memory=False", _MEMORY_ON)]
    if name in ("collective", "comm_group_member") and config.get("enable_comm") is False:
        return [CoverageEntry(name, "not_requested", "enable_comm=False", _COMM_ON)]
    if name in _UNSUPPORTED:
        if is_host_only:
            return [CoverageEntry(name, "unsupported", _UNSUPPORTED[name])]
        return [CoverageEntry(name, "missing", "nothing was recorded")]
    return [CoverageEntry(name, "empty", "", _TURN_ON[name])]


_OURS: Final = (
    ("profile_memory", _MEMORY_ON),
    ("record_shapes", "ProfilerConfig(trace_level=2) or ASCEND_PROFILING_TRACE_LEVEL=2"),
    ("with_stack", "ProfilerConfig(trace_level=3) or ASCEND_PROFILING_TRACE_LEVEL=3"),
    ("activities", "ProfilerConfig(enable_ops=True)"),
)


def framework_coverage(capture: Capture, about: Mapping[str, Any], launch_count: int) -> list[CoverageEntry]:
    """Return the coverage of a capture by a framework's profiler, in the words of our own settings.

    Args:
        capture: The capture with its tables.
        about: What the recorder wrote of the profiler's settings.
        launch_count: Host calls that launch device work.
    """
    entries = kineto_coverage(capture, dict(about), capture.header.device_kind == "cpu", launch_count)
    known = {entry.table_name for entry in entries if entry.column_name is None}
    for name, turn_on in (("metric", _TURN_ON["metric"]), ("counter", _MEMORY_ON)):
        if name in known and not len(capture.rows(name)):
            entries = [entry for entry in entries if entry.table_name != name]
            entries.append(CoverageEntry(name, "empty", "", turn_on))
        elif name not in known and len(capture.rows(name)):
            entries.append(CoverageEntry(name, "collected"))
    return [_in_our_words(entry) for entry in entries]


def _in_our_words(entry: CoverageEntry) -> CoverageEntry:
    turn_on = next((ours for theirs, ours in _OURS if theirs in entry.turn_on), entry.turn_on)
    return replace(entry, turn_on=turn_on)
