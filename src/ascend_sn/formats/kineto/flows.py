"""Arrows of a PyTorch trace: forward to backward operators, recorded events to the waits for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ascend_sn._native.nesting import enclosing
from ascend_sn._native.trace_scan import Strings
from ascend_sn.formats.chrome.events import Events, lookup, thread_keys
from ascend_sn.formats.kineto.categories import OPERATOR
from ascend_sn.formats.kineto.device import partners
from ascend_sn.formats.kineto.host import connections
from ascend_sn.model.rows import Int64, Rows, Text, conform
from ascend_sn.model.tables import FLOW

__all__ = ["event_waits", "flow_rows", "forward_backward"]


def flow_rows(autograd: tuple[Int64, Int64], waits: tuple[Int64, Int64]) -> Rows:
    """Return the flow table from pairs of ids: operators, and host calls with the kernels that wait for them."""
    first, second = len(autograd[0]), len(waits[0])
    tables = ["operator", "host_call", "kernel"]
    source = np.repeat(np.array([0, 1], np.int32), [first, second])
    target = np.repeat(np.array([0, 2], np.int32), [first, second])
    return conform(
        FLOW,
        first + second,
        src_table=Text(source, tables),
        src_id=np.concatenate([autograd[0], waits[0]]),
        dst_table=Text(target, tables),
        dst_id=np.concatenate([autograd[1], waits[1]]),
        kind=Text(source, ["fwdbwd", "event"]),
    )


def forward_backward(flows: Events, host: Events, strings: Sequence[str]) -> tuple[Int64, Int64]:
    """Return the operators at both ends of the autograd flows, whose two ends share an id."""
    flows = flows.take(lookup(flows.category, strings, lambda name: int(name == "fwdbwd"), 0) == 1)
    starts, finishes = flows.take(flows.phase == ord("s")), flows.take(flows.phase == ord("f"))
    near = partners(finishes.id, starts.id)
    paired = near >= 0
    source, target = _operator_at(starts, host), _operator_at(finishes, host)
    source, target = np.append(source, np.int64(-1))[near[paired]], target[paired]
    known = (source >= 0) & (target >= 0)
    return source[known], target[known]


def event_waits(device: Events, calls: Events, strings: Strings) -> tuple[Int64, Int64]:
    """Return the host calls that recorded an event, and the device waits for it."""
    recorded = partners(device.texts["wait_on_cuda_event_record_corr_id"], connections(calls, strings))
    waits = np.flatnonzero(recorded >= 0)
    return recorded[waits], waits


def _operator_at(ends: Events, host: Events) -> Int64:
    """Return the innermost framework operator that is open at each end."""
    row = np.flatnonzero(host.kind == OPERATOR)
    kept = host.take(row)
    found = enclosing(thread_keys(kept.pid, kept.tid), kept.ts, kept.dur, thread_keys(ends.pid, ends.tid), ends.ts)
    return np.append(row, np.int64(-1))[found]
