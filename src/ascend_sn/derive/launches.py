"""Repair launches that seem to come after their kernel.

The launch that a format names is the innermost one, and its start is stamped late: a kernel may start a few
microseconds before it. The kernel was asked for by the call around it, so where such a call (of the same
thread, not a task queue's) starts in time, that is taken as the launch. What no enclosing call explains stays
a violation of causality and is counted in the data health.
"""

from __future__ import annotations

import numpy as np

from ascend_sn._native.nesting import nest
from ascend_sn.derive.positions import positions
from ascend_sn.model.capture import Capture
from ascend_sn.model.rows import Int64, Nullable

__all__ = ["repair_launches"]


def repair_launches(capture: Capture) -> None:
    """Move `kernel.host_call_id` to the nearest enclosing host call that starts no later than the kernel."""
    kernels, calls = capture.rows("kernel"), capture.rows("host_call")
    if not kernels.length or not calls.length:
        return
    linked = np.flatnonzero(kernels.valid("host_call_id"))
    start = calls.values("ts_ns")
    at = positions(calls.values("host_call_id"), kernels.values("host_call_id")[linked])
    late = (at >= 0) & (kernels.values("ts_ns")[linked] < start[np.maximum(at, 0)])
    if not bool(late.any()):
        return
    parent = _enclosing_calls(capture)
    kernel, call = linked[late], at[late]
    moment = kernels.values("ts_ns")[kernel]
    climbing = np.ones(len(call), np.bool_)
    while bool(climbing.any()):
        call[climbing] = parent[call[climbing]]
        climbing &= call >= 0
        climbing[climbing] = start[call[climbing]] > moment[climbing]
    found = call >= 0
    ids = kernels.values("host_call_id").copy()
    ids[kernel[found]] = calls.values("host_call_id")[call[found]]
    capture.tables["kernel"] = kernels.replace(host_call_id=Nullable(ids, kernels.valid("host_call_id")))
    if bool(found.any()):
        capture.ledger.add(
            capture.header.source,
            "launch_repaired",
            count=int(np.count_nonzero(found)),
            severity="info",
            example="kernels that start before the launch they are linked to; the call around it is taken",
        )


def _enclosing_calls(capture: Capture) -> Int64:
    """Position of the nearest enclosing call of each host call, queue ends left out; -1 for none."""
    calls = capture.rows("host_call")
    inner = np.flatnonzero(~calls.text("level").matches(["queue"]))
    found = nest(calls.text("thread").codes[inner], calls.values("ts_ns")[inner], calls.values("dur_ns")[inner])
    parent = np.full(calls.length, -1, np.int64)
    parent[inner] = np.where(found.parent >= 0, inner[np.maximum(found.parent, 0)], -1)
    return parent
