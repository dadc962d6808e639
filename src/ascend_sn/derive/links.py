"""Which framework operator launched a kernel.

A kernel knows its host call (by the format's own ids). The call lies inside an operator of the same thread,
or inside the far end of a task queue, whose near end lies inside the operator.
"""

from __future__ import annotations

import numpy as np

from ascend_sn._native.nesting import enclosing
from ascend_sn.derive.positions import positions
from ascend_sn.model.capture import Capture
from ascend_sn.model.rows import Int64, Nullable, Rows, Text

__all__ = ["link_kernels"]


def link_kernels(capture: Capture) -> None:
    """Fill `kernel.operator_id` where the reader left it null and the launch can be followed."""
    kernels, calls, operators = capture.rows("kernel"), capture.rows("host_call"), capture.rows("operator")
    call = positions(calls.values("host_call_id"), kernels.values("host_call_id"))
    open_ = (call >= 0) & kernels.valid("host_call_id") & ~kernels.valid("operator_id")
    if not operators.length or not bool(open_.any()):
        return
    call = call[open_]
    numbers: dict[str, int] = {}
    call_threads = _numbered(calls.text("thread"), numbers)
    operator_threads = _numbered(operators.text("thread"), numbers)
    at_thread, at_ts = _through_queues(capture, calls, call, call_threads, calls.values("ts_ns"))
    found = enclosing(operator_threads, operators.values("ts_ns"), operators.values("dur_ns"), at_thread, at_ts)
    operator_id, valid = kernels.values("operator_id").copy(), kernels.valid("operator_id").copy()
    where = np.flatnonzero(open_)[found >= 0]
    operator_id[where] = operators.values("operator_id")[found[found >= 0]]
    valid[where] = True
    capture.tables["kernel"] = kernels.replace(operator_id=Nullable(operator_id, valid))


def _through_queues(capture: Capture, calls: Rows, call: Int64, threads: Int64, ts: Int64) -> tuple[Int64, Int64]:
    """Return thread and moment at which each call was asked for: at the enqueue where it came through a queue."""
    at_thread, at_ts = threads[call].copy(), ts[call].copy()
    flows = capture.rows("flow")
    if not flows.length:
        return at_thread, at_ts
    queued = flows.text("kind").matches(["queue"])
    if not bool(queued.any()):
        return at_thread, at_ts
    near = positions(calls.values("host_call_id"), flows.values("src_id")[queued])
    far = positions(calls.values("host_call_id"), flows.values("dst_id")[queued])
    near, far = near[(near >= 0) & (far >= 0)], far[(near >= 0) & (far >= 0)]
    inside = enclosing(threads[far], ts[far], calls.values("dur_ns")[far], at_thread, at_ts)
    through = inside >= 0
    origin = near[inside[through]]
    at_thread[through], at_ts[through] = threads[origin], ts[origin]
    return at_thread, at_ts


def _numbered(text: Text, numbers: dict[str, int]) -> Int64:
    """Return thread numbers that mean the same thread in every table numbered with the same dict."""
    table = np.fromiter((numbers.setdefault(value, len(numbers)) for value in text.values), np.int64, len(text.values))
    return np.append(table, np.int64(-1))[text.codes]
