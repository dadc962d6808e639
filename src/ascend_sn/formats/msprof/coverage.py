"""What an msprof capture holds, and which option of msprof collects the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from ascend_sn.formats.torch_npu.coverage import Delivery
from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.model.kinds import COMPUTE_KINDS
from ascend_sn.model.ledger import CoverageEntry, launches_text
from ascend_sn.model.rows import Rows

__all__ = ["coverage_of"]

_TASKS: Final = "msprof --task-time=l1"
_ANALYZED: Final = "msprof --analyze=on --rule=communication,communication_matrix --output=<PROF folder>"
_TURN_ON: Final[dict[str, str]] = {
    "step": "",
    "host_call": "msprof --ascendcl=on --runtime-api=on",
    "kernel": _TASKS,
    "kernel_metric": "msprof --ai-core=on --aic-metrics=PipeUtilization",
    "collective": _TASKS,
    "comm_task": _TASKS,
    "link": _ANALYZED,
    "comm_group_member": _ANALYZED,
    "memory_event": "msprof --task-memory=on",
    "memory_sample": "msprof --task-memory=on --sys-hardware-mem=on",
    "static_memory": "msprof --task-memory=on, of a program whose graphs are compiled for static shapes",
    "counter": "msprof --sys-hardware-mem=on --sys-io-profiling=on --sys-interconnection-profiling=on",
    "span": "msprof --msproftx=on",
}
_UNSUPPORTED: Final = {
    "operator": "msprof does not see the framework",
    "stack": "msprof does not record call stacks",
    "flow": "msprof does not see the framework, between whose calls they lie",
}
_FRAMEWORK: Final = "the profiler of the framework (torch_npu.profiler, mindspore.profiler)"
_MAY_BE_EMPTY: Final = frozenset({"collective", "comm_task", "link", "comm_group_member"})
_COLUMNS: Final = (
    ("kernel", "op_type", _TASKS),
    ("kernel", "input_shapes", _TASKS),
    ("collective", "transit_ns", _ANALYZED),
    ("collective", "size_bytes", _TASKS),
)


def coverage_of(info: RunInfo, tables: Mapping[str, Rows], delivery: Delivery) -> list[CoverageEntry]:
    """Return one entry per table and per column that may be absent; msprof's own configuration is not exported.

    Args:
        info: Not used: nothing beside the exports is read.
        tables: What was read.
        delivery: Where it was looked for, and what is damaged.
    """
    entries = [_table(name, tables, delivery) for name in _TURN_ON if name != "step" or len(tables["step"])]
    for name, reason in _UNSUPPORTED.items():
        state = CoverageEntry(name, "collected") if len(tables[name]) else None
        entries.append(state or CoverageEntry(name, "unsupported", reason, _FRAMEWORK))
    for name, column, turn_on in _COLUMNS:
        rows = tables[name]
        wanted = rows.text("kind").matches(COMPUTE_KINDS) if name == "kernel" else np.ones(len(rows), np.bool_)
        if wanted.any() and not np.any(rows.valid(column) & wanted):
            entries.append(CoverageEntry(name, "missing", "the export does not hold it", turn_on, column))
    return entries


def _table(name: str, tables: Mapping[str, Rows], delivery: Delivery) -> CoverageEntry:
    if name in delivery.damaged:
        return CoverageEntry(name, "damaged", delivery.damaged[name])
    if len(tables[name]):
        return CoverageEntry(name, "collected")
    if name == "static_memory":
        reason = "no static_op_mem: no graph was compiled, or its memory was not asked for"
        return CoverageEntry(name, "not_requested", reason, _TURN_ON[name])
    where = delivery.looked_for.get(name, "")
    looked = f" (looked in {where})" if where else ""
    if name == "kernel" and delivery.launches:
        reason = f"{launches_text(delivery.launches)} on the host, 0 device records: device data is missing{looked}"
        return CoverageEntry(name, "missing", reason, _TURN_ON[name])
    happened = name in ("comm_task", "link", "comm_group_member") and len(tables["collective"]) > 0
    if name in _MAY_BE_EMPTY and not happened and len(tables["kernel"]):
        return CoverageEntry(name, "empty", f"none in the export{looked}", _TURN_ON[name])
    return CoverageEntry(name, "missing", f"the export does not hold it{looked}", _TURN_ON[name])
