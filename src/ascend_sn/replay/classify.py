"""What time is called on the critical path: by host call, phase or kind of kernel."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn.model.rows import Int64
from ascend_sn.replay.graph import NO_TASK, TimeClass
from ascend_sn.replay.tasks import SourceTable, Tasks

__all__ = ["device_classes", "host_classes"]

_OF_CALL: Final = {
    "gc": TimeClass.GC,
    "allocator": TimeClass.ALLOCATOR,
    "compile": TimeClass.COMPILE,
    "profiler_flush": TimeClass.PROFILER,
    "copy": TimeClass.COPY,
    "sync": TimeClass.SYNC,
    "launch": TimeClass.LAUNCH,
}

_OF_KERNEL_KIND: Final = {
    "compute": TimeClass.COMPUTE,
    "fused": TimeClass.COMPUTE,
    "communication": TimeClass.COMMUNICATION,
    "copy": TimeClass.COPY,
    "sync": TimeClass.KERNEL_GAP,
}

Codes = npt.NDArray[np.uint8]


def host_classes(tasks: Tasks, task: Int64, kernel: Int64) -> Codes:
    """Return the class of stretches of host threads.

    What a call is said to do counts first, then the phase data, then that it launches work.

    Args:
        tasks: All tasks.
        task: Innermost slice of each stretch, NO_TASK for the program between its slices.
        kernel: On a capture without a device, the kernel that each stretch counts as.
    """
    of_task = np.full(len(tasks) + 1, TimeClass.HOST, np.uint8)
    named = of_task[:-1]
    named[tasks.launcher[tasks.launcher >= 0]] = TimeClass.LAUNCH
    named[tasks.is_device | (tasks.table == SourceTable.OPERATOR)] = TimeClass.HOST
    named[tasks.kind.matches(["queue"]) | tasks.call_class.matches(["launch"])] = TimeClass.LAUNCH
    named[~tasks.is_device & tasks.phase.matches(["data"])] = TimeClass.DATA_LOADING
    for name, class_ in _OF_CALL.items():
        if name != "launch":
            named[tasks.call_class.matches([name])] = class_
    found = of_task[task]
    counted = (kernel != NO_TASK) & (found == TimeClass.HOST)
    found[counted] = device_classes(tasks, kernel[counted])
    return found


def device_classes(tasks: Tasks, kernel: Int64) -> Codes:
    """Return the class of kernels."""
    table = [_OF_KERNEL_KIND.get(kind, TimeClass.OTHER_DEVICE) for kind in tasks.kind.values]
    return np.array([*table, TimeClass.OTHER_DEVICE], np.uint8)[tasks.kind.codes[kernel]]
