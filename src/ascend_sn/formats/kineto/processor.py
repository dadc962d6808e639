"""Captures without a device: the processor is the device, its threads are the streams.

Leaf operators are the kernels; a call of a communication library that works on the host (gloo, MPI) is a
communication kernel and a collective.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ascend_sn._native.nesting import enclosing, nest
from ascend_sn.formats.chrome.events import Events, lookup, thread_keys
from ascend_sn.formats.chrome.texts import Codes, distinct_pairs, expand, text_column
from ascend_sn.formats.kineto import categories
from ascend_sn.formats.kineto.collectives import filled_group, numbered, sizes
from ascend_sn.formats.kineto.shapes import element_count, parsed_list
from ascend_sn.model.rows import Bool, Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import COLLECTIVE, KERNEL

__all__ = ["host_collective_rows", "host_kernel_rows", "is_host_work", "operations"]

# Calls that only ask a library for work, and ranges that older versions wrote as operators.
_NO_WORK: Final = ("c10d::", "record_param_comms", "enumerate(DataLoader)", "Optimizer.", "ProfilerStep")


def is_host_work(host: Events, strings: Sequence[str]) -> tuple[Bool, Bool]:
    """Return which host events are leaf operators, and which are communication."""
    communication = lookup(host.name, strings, lambda name: int(categories.is_host_communication(name)), 0) == 1
    operators = np.flatnonzero((host.kind == categories.OPERATOR) & ~communication)
    threads = thread_keys(host.pid, host.tid)
    leaf = np.zeros(len(host), np.bool_)
    leaf[operators] = True
    leaf[operators[_holders(threads[operators], host.ts[operators], host.dur[operators])]] = False
    leaf &= lookup(host.name, strings, lambda name: int(name.startswith(_NO_WORK)), 1) == 0
    # What a communication call does inside itself on its own thread is part of it.
    calls = np.flatnonzero(communication)
    leaves = np.flatnonzero(leaf)
    inside = enclosing(threads[calls], host.ts[calls], host.dur[calls], threads[leaves], host.ts[leaves])
    contained = inside >= 0
    ends = (host.ts + host.dur)[calls]
    contained[contained] = (host.ts + host.dur)[leaves[contained]] <= ends[inside[contained]]
    leaf[leaves[contained]] = False
    return leaf, communication


def _holders(thread: Int64, ts: Int64, dur: Int64) -> Int64:
    """Return the slices that hold another; one without length at the very end of a slice is beside it."""
    parent = nest(thread, ts, dur).parent
    child = np.flatnonzero(parent >= 0)
    holder = parent[child]
    return holder[ts[child] < ts[holder] + dur[holder]]


def operations(host: Events, communication: Bool, strings: Sequence[str]) -> Text:
    """Return the operation of each communication call, in file order."""
    return text_column(host.name[communication], strings).mapped(categories.collective_op)


def host_kernel_rows(operators: Rows, leaf: Bool, communication: Bool, op: Text) -> Rows:
    """Return leaf operators and communication calls as kernels, in file order.

    Args:
        operators: The operator table.
        leaf: Which of them are compute.
        communication: Which of them are communication.
        op: Operation of the communication rows, in their order.
    """
    row = np.flatnonzero(leaf | communication)
    names = operators.text("name").take(row)
    is_communication = communication[row]
    codes = names.codes.copy()
    codes[is_communication] = np.where(op.codes >= 0, op.codes + len(names.values), -1)
    taken = operators.take(row)
    return conform(
        KERNEL,
        len(row),
        kernel_id=np.arange(len(row)),
        device_id=0,
        stream=taken.text("thread"),
        name=names,
        op_type=Text.of(Text(codes, [*names.values, *op.values]).decode()),
        kind=Text(is_communication.astype(np.int32), ["compute", "communication"]),
        ts_ns=taken.values("ts_ns"),
        dur_ns=taken.values("dur_ns"),
        operator_id=row,
        input_shapes=taken.text("input_shapes"),
        input_dtypes=taken.text("input_dtypes"),
    )


def host_collective_rows(
    host: Events, kernels: Rows, communication: Bool, op: Text, only_group: str | None, strings: Sequence[str]
) -> Rows:
    """Return one row per call of a communication library on the host; `op` gives their operations."""
    row = np.flatnonzero(kernels.text("kind").matches(["communication"]))
    calls = host.take(np.flatnonzero(communication))
    count = len(row)
    elements, dtype = _payload(calls.texts["Input Dims"], calls.texts["Input type"], strings)
    group = filled_group(Text.constant(None, count), only_group)
    starts = kernels.values("ts_ns")[row]
    return conform(
        COLLECTIVE,
        count,
        collective_id=np.arange(count),
        kernel_id=row,
        op=op,
        name=kernels.text("name").take(row),
        group_id=group,
        sequence=numbered(group, op, _asked_ns(host, calls, op, strings), Nullable(starts, np.zeros(count, np.bool_))),
        size_bytes=sizes(elements, dtype),
        dtype=dtype,
        ts_ns=starts,
        dur_ns=kernels.values("dur_ns")[row],
    )


def _payload(dims: Codes, types: Codes, strings: Sequence[str]) -> tuple[Nullable, Text]:
    dims_of, types_of, row = distinct_pairs(dims, types)
    counts: list[int | None] = []
    dtypes: list[str | None] = []
    for dims_code, types_code in zip(dims_of.tolist(), types_of.tolist(), strict=True):
        sizes_list = parsed_list(strings[dims_code]) if dims_code >= 0 else None
        kinds = parsed_list(strings[types_code]) if types_code >= 0 else None
        counts.append(element_count(sizes_list[0]) if sizes_list else None)
        dtypes.append(str(kinds[0]) if kinds else None)
    dtype = Text.of(dtypes)
    return expand(counts, row), Text(np.append(dtype.codes, np.int32(-1))[row], dtype.values)


def _asked_ns(host: Events, calls: Events, op: Text, strings: Sequence[str]) -> Int64:
    """Return when each call was asked for: the k-th request of an operation is its k-th call.

    Worker threads start calls in a slightly different order on every rank; the order of the requests is the
    same on all. Where their numbers differ (a capture that starts in between) the calls' own starts are taken.
    """
    asked = calls.ts.copy()
    requests = host.take(lookup(host.name, strings, lambda name: int(name.startswith("c10d::")), 0) == 1)
    requested = text_column(requests.name, strings).mapped(lambda name: categories.collective_op(name[6:]))
    for value in op.values:
        mine = np.flatnonzero(op.matches([value]))
        theirs = np.sort(requests.ts[requested.matches([value])])
        if len(mine) == len(theirs):
            asked[mine[np.argsort(asked[mine], kind="stable")]] = theirs
    return asked
