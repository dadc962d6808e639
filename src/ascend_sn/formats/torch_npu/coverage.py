"""What a torch_npu capture was asked for and what came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.ledger import CoverageEntry, launches_text
from ascend_sn.model.rows import Rows

__all__ = ["Delivery", "coverage_of"]

_DEVICE_ON: Final = "torch_npu.profiler.profile(activities=[ProfilerActivity.CPU, ProfilerActivity.NPU])"
_MEMORY_ON: Final = "torch_npu.profiler.profile(profile_memory=True)"
_STACK_ON: Final = "torch_npu.profiler.profile(with_stack=True)"
_LEVEL1: Final = "torch_npu.profiler._ExperimentalConfig(profiler_level=Level1)"
_DEVICE_CAUSES: Final = (
    "likely causes: graph mode or speculative decoding that the profiler does not see, activities without NPU, "
    "driver and CANN of different versions, or a capture cut before the device data was written"
)


class Delivery(msgspec.Struct, frozen=True):
    """What the reader found apart from the rows.

    Attributes:
        looked_for: Files or tables in which each table was looked for, in words.
        damaged: Tables of which something could not be read, and why.
        launches: Calls on the host that launch device work.
    """

    looked_for: Mapping[str, str]
    damaged: Mapping[str, str]
    launches: int


def coverage_of(info: RunInfo, tables: Mapping[str, Rows], delivery: Delivery) -> list[CoverageEntry]:
    """Return one entry per table that this format can fill, and per column that may be absent."""
    # Absent steps are told by the stage that infers them.
    names = _TABLES if len(tables["step"]) else [name for name in _TABLES if name != "step"]
    entries = [_table(name, info, tables, delivery) for name in names]
    entries += _columns(info, tables, delivery)
    return entries


_TABLES: Final = (
    "step",
    "operator",
    "host_call",
    "kernel",
    "kernel_metric",
    "collective",
    "comm_task",
    "link",
    "comm_group_member",
    "memory_event",
    "memory_sample",
    "static_memory",
    "counter",
    "span",
    "flow",
    "stack",
)


def _table(name: str, info: RunInfo, tables: Mapping[str, Rows], delivery: Delivery) -> CoverageEntry:
    rows = tables.get(name)
    where = delivery.looked_for.get(name, "")
    asked = _asked(name, info)
    turn_on = _TURN_ON.get(name, "")
    if name in delivery.damaged:
        return CoverageEntry(name, "damaged", delivery.damaged[name])
    if rows is not None and len(rows):
        return CoverageEntry(name, "collected")
    if name == "static_memory" and asked:
        return CoverageEntry(name, "empty", "no graph was compiled for static shapes", turn_on)
    if asked is False or name == "static_memory":
        return CoverageEntry(name, "not_requested", _WHY_NOT.get(name, ""), turn_on)
    if name == "kernel":
        return _no_kernels(delivery)
    if name == "comm_group_member" and len(tables["collective"]):
        return CoverageEntry(name, "missing", "neither the metadata nor the traffic name a group's members", turn_on)
    happened = name in ("comm_task", "link") and len(tables["collective"]) > 0
    if name in _MAY_BE_EMPTY and asked is None and not happened:
        return CoverageEntry(name, "empty", "none happened in the capture", turn_on)
    reason = "requested, but nothing was recorded" if asked else "nothing was recorded"
    if where:
        reason = f"{reason} (looked in {where})"
    return CoverageEntry(name, "missing", reason, "" if asked else turn_on)  # what was on already cannot be turned on


def _no_kernels(delivery: Delivery) -> CoverageEntry:
    count = delivery.launches
    launched = f"{launches_text(count)} on the host, 0 device records: device data is missing; {_DEVICE_CAUSES}"
    reason = launched if count else "no device records and no launches on the host"
    return CoverageEntry("kernel", "missing", reason, _DEVICE_ON)


def _asked(name: str, info: RunInfo) -> bool | None:
    """Whether the configuration asked for a table; None when it does not say."""
    activities = info.config.get("activities")
    level = info.level
    detailed = None if level is None else level in ("Level1", "Level2")
    if name in ("operator", "step"):
        return None if not isinstance(activities, Sequence) else any("CPU" in str(item) for item in activities)
    if name == "kernel":
        if level == "Level_none":
            return False
        return None if not isinstance(activities, Sequence) else any("NPU" in str(item) for item in activities)
    if name in ("memory_event", "memory_sample", "static_memory"):
        return _flag(info.config, "profile_memory")
    if name in ("span", "stack"):
        stack = _flag(info.config, "with_stack")
        marks = _flag(info.experimental, "_mstx") or _flag(info.experimental, "_msprof_tx")
        return stack or (bool(marks) if name == "span" and stack is False else stack)
    if name == "kernel_metric":
        metrics = info.experimental.get("_aic_metrics")
        return None if metrics is None else metrics != "ACL_AICORE_NONE" and detailed is not False
    if name in ("host_call", "comm_task"):
        return None if detailed else detailed
    if name in ("collective", "link", "flow", "comm_group_member"):
        return False if name == "link" and detailed is False else None
    return None


def _columns(info: RunInfo, tables: Mapping[str, Rows], delivery: Delivery) -> list[CoverageEntry]:
    entries: list[CoverageEntry] = []
    partial = delivery.damaged.get("comm_task")
    for table, column, turn_on in _OPTIONAL_COLUMNS:
        rows = tables.get(table)
        if rows is None or not len(rows) or rows.valid(column).any():
            continue
        if column == "size_bytes" and partial is not None:
            entries.append(CoverageEntry(table, "damaged", partial, "", column))
            continue
        asked = _column_asked(table, column, info)
        entries.append(
            CoverageEntry(
                table,
                "not_requested" if asked is False else "missing",
                _column_reason(table, column, info),
                "" if asked else turn_on,
                column,
            )
        )
    kernels = tables.get("kernel")
    if kernels is not None and len(kernels):
        compute = kernels.text("kind").matches(COMPUTE_KINDS)
        if compute.any() and not np.any(kernels.valid("op_type") & compute):
            entries.append(
                CoverageEntry("kernel", "missing", _column_reason("kernel", "op_type", info), _LEVEL1, "op_type")
            )
    return entries


def _column_asked(table: str, column: str, info: RunInfo) -> bool | None:
    if column in ("input_shapes", "input_dtypes") and table == "operator":
        return _flag(info.config, "record_shapes")
    if column == "stack_id":
        return _flag(info.config, "with_stack")
    if column == "module":
        return _flag(info.config, "with_modules")
    return None


def _column_reason(table: str, column: str, info: RunInfo) -> str:
    if table == "kernel" and column != "stream":
        return f"profiler_level={info.level} does not record it" if info.level else "the export does not hold it"
    if table == "collective" and info.level in ("Level0", "Level_none"):
        return f"profiler_level={info.level} does not record it"
    asked = _column_asked(table, column, info)
    return "" if asked is None else "requested, but not recorded" if asked else "not requested"


def _flag(config: Mapping[str, object], key: str) -> bool | None:
    value = config.get(key)
    return value if isinstance(value, bool) else None


_TURN_ON: Final = {
    "operator": _DEVICE_ON,
    "step": "schedule=torch_npu.profiler.schedule(...) and prof.step() after each step",
    "host_call": _LEVEL1,
    "kernel": f"{_DEVICE_ON}, profiler_level=Level0 or above",
    "kernel_metric": "torch_npu.profiler._ExperimentalConfig(profiler_level=Level1, aic_metrics=PipeUtilization)",
    "collective": "",
    "comm_task": _LEVEL1,
    "link": _LEVEL1,
    "comm_group_member": "prof.add_metadata_json(...) or a torch_npu that writes parallel_group_info",
    "memory_event": _MEMORY_ON,
    "memory_sample": _MEMORY_ON,
    "static_memory": f"{_MEMORY_ON}, of a program whose graphs are compiled for static shapes",
    "counter": "torch_npu.profiler._ExperimentalConfig(sys_io=True, sys_interconnection=True)",
    "span": f"{_STACK_ON} or torch_npu.profiler._ExperimentalConfig(mstx=True)",
    "stack": _STACK_ON,
}
_WHY_NOT: Final = {
    "operator": "activities without CPU",
    "step": "activities without CPU",
    "kernel": "activities without NPU, or profiler_level=Level_none",
    "memory_event": "profile_memory=False",
    "memory_sample": "profile_memory=False",
    "static_memory": "no static_op_mem.csv: no graph was compiled, or its memory was not asked for",
    "stack": "with_stack=False",
    "span": "with_stack=False, mstx=False",
    "kernel_metric": "no aic_metrics at this profiler_level",
    "host_call": "profiler_level below Level1",
    "comm_task": "profiler_level below Level1",
    "link": "profiler_level below Level1",
}
_MAY_BE_EMPTY: Final = frozenset({"collective", "comm_task", "link", "comm_group_member", "counter", "span", "flow"})
_OPTIONAL_COLUMNS: Final = (
    ("operator", "input_shapes", "torch_npu.profiler.profile(record_shapes=True)"),
    ("operator", "stack_id", _STACK_ON),
    ("operator", "module", "torch_npu.profiler.profile(with_modules=True)"),
    ("kernel", "input_shapes", _LEVEL1),
    ("collective", "transit_ns", _LEVEL1),
    ("collective", "size_bytes", _LEVEL1),
)
