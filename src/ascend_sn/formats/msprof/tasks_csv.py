"""Device tasks out of op_summary and task_time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from ascend_sn.formats.csv_columns import read_csv_columns
from ascend_sn.formats.msprof.devices import chosen_details, joined_details
from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.groups import is_fused
from ascend_sn.formats.torch_npu.kernel_details import KernelDetails, kernel_details_of, read_kernel_details
from ascend_sn.formats.torch_npu.tasks import CORE_OF_TASK, is_core_task, task_kind
from ascend_sn.formats.torch_npu.text_columns import combined
from ascend_sn.model.ledger import Ledger

__all__ = ["read_op_summary", "read_task_time", "with_other_tasks"]

_RENAMED: Final = {
    "kernel_name": "Name",
    "kernel_type": "Accelerator Core",
    "stream_id": "Stream ID",
    "task_id": "Task ID",
    "task_time(us)": "Duration(us)",
    "task_start(us)": "Start Time(us)",
    "Device_id": "Device_id",
}


def read_op_summary(source: Source, paths: Sequence[Path], ledger: Ledger) -> KernelDetails | None:
    """Read op_summary, whose columns are those of kernel_details.csv under other names; None when unusable."""
    read = [read_kernel_details(path, source.relative(path), ledger) for path in paths]
    return joined_details([details for details in read if details is not None])


def read_task_time(source: Source, paths: Sequence[Path], ledger: Ledger) -> KernelDetails | None:
    """Read task_time: every task of a device with its type, without operator types and shapes."""
    parts = []
    for path in paths:
        file = source.relative(path)
        table = read_csv_columns(path, file, ledger, required=("kernel_type", "task_time(us)", "task_start(us)"))
        if table is None:
            continue
        details = kernel_details_of(table.renamed(_RENAMED, Name="N/A"), ledger)
        if details is not None:
            parts.append(_classified(details))
    return joined_details(parts)


def with_other_tasks(details: KernelDetails | None, tasks: KernelDetails | None) -> KernelDetails | None:
    """Add to the kernels of op_summary the tasks that it does not hold: copies, waits, records."""
    if details is None or tasks is None:
        return details if tasks is None else tasks
    others = np.flatnonzero(tasks.kernels.text("kind").matches(["copy", "sync", "other"]))
    return joined_details([details, chosen_details(tasks, others)])


def _classified(details: KernelDetails) -> KernelDetails:
    kernels = details.kernels
    core, name = kernels.text("core_type"), kernels.text("name")
    kind = combined(name, core, _kind)
    # A task that is no kernel has no name of its own.
    named = combined(name, core, lambda own, type_: type_ if own in ("N/A", "", None) else own)
    cores = core.mapped(lambda type_: CORE_OF_TASK.get(type_, type_) if is_core_task(type_) else None)
    kernels = kernels.replace(kind=kind, name=named, core_type=cores)
    return msgspec.structs.replace(details, kernels=kernels)


def _kind(name: str | None, type_: str | None) -> str:
    if type_ == "COMMUNICATION":
        return "communication"
    if is_core_task(type_ or ""):
        return "fused" if is_fused(name or "") else "compute"
    return task_kind(name or "", type_ or "")
