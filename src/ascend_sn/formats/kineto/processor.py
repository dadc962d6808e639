"""Captures without a device: the processor is the device, its threads are the streams.

Operators that do the work are the kernels; a call of a communication library that works on the host (gloo, MPI) is a
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

__all__ = ["host_collective_rows", "host_kernel_rows", "host_work", "operations"]

# Calls that only ask a library for work, and ranges that older versions wrote as operators.
_NO_WORK: Final = ("c10d::", "record_param_comms", "enumerate(DataLoader)", "Optimizer.", "ProfilerStep")


def host_work(host: Events, strings: Sequence[str]) -> tuple[Bool, Bool]:
    """Return which host events are the processor's kernels, and which are communication.

    A kernel is a leaf operator, or the outermost one that spends at least half of its time in itself, with
    what it calls: `aten::addmm` multiplies on its own and calls only a small copy.
    """
    communication = lookup(host.name, strings, lambda name: int(categories.is_host_communication(name)), 0) == 1
    no_work = lookup(host.name, strings, lambda name: int(name.startswith(_NO_WORK)), 1) == 1
    operators = np.flatnonzero((host.kind == categories.OPERATOR) & ~communication)
    works = np.zeros(len(host), np.bool_)
    works[operators] = _outermost_workers(host.take(operators), no_work[operators])
    _leave_out_inner_work(host, works, communication)
    return works, communication


def _outermost_workers(operators: Events, no_work: Bool) -> Bool:
    """Return the operators that work on their own and lie in no other that does."""
    tree = nest(thread_keys(operators.pid, operators.tid), operators.ts, operators.dur)
    works = (tree.self_ns * 2 >= operators.dur) & ~no_work
    parent = _strict_parents(tree.parent, operators)
    inner = np.zeros(len(operators), np.bool_)
    order = np.argsort(tree.depth, kind="stable")
    bounds = np.searchsorted(tree.depth[order], np.arange(int(tree.depth.max(initial=0)) + 2))
    for level in range(1, len(bounds) - 1):
        at = order[bounds[level] : bounds[level + 1]]
        at = at[parent[at] >= 0]
        inner[at] = inner[parent[at]] | works[parent[at]]
    return works & ~inner


def _strict_parents(parent: Int64, operators: Events) -> Int64:
    """Return the parents; an operator without length at the very end of another lies beside it."""
    ends = operators.ts + operators.dur
    beside = (parent >= 0) & (operators.ts >= ends[parent])
    return np.where(beside, parent[parent], parent)


def _leave_out_inner_work(host: Events, works: Bool, communication: Bool) -> None:
    """Take out what a communication call does inside itself on its own thread: it is part of the call."""
    threads, ends = thread_keys(host.pid, host.tid), host.ts + host.dur
    calls, workers = np.flatnonzero(communication), np.flatnonzero(works)
    around = enclosing(threads[calls], host.ts[calls], host.dur[calls], threads[workers], host.ts[workers])
    inside = around >= 0
    inside[inside] = ends[workers[inside]] <= ends[calls[around[inside]]]
    works[workers[inside]] = False


def operations(host: Events, communication: Bool, strings: Sequence[str]) -> Text:
    """Return the operation of each communication call, in file order."""
    return categories.known_op(text_column(host.name[communication], strings).mapped(categories.collective_op))


def host_kernel_rows(operators: Rows, works: Bool, communication: Bool, op: Text) -> Rows:
    """Return working operators and communication calls as kernels, in file order.

    Args:
        operators: The operator table.
        works: Which of them are compute.
        communication: Which of them are communication.
        op: Operation of the communication rows, in their order.
    """
    row = np.flatnonzero(works | communication)
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
        op_type=Text(codes, [*names.values, *op.values]).mapped(str),
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
