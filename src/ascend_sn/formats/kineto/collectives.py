"""Collectives of a device capture: what each communication kernel moved, between whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from ascend_sn._native.codes import distinct
from ascend_sn._native.nesting import enclosing
from ascend_sn.formats.chrome.events import Events, lookup, thread_keys
from ascend_sn.formats.chrome.texts import Codes, text_column
from ascend_sn.formats.kineto import categories
from ascend_sn.formats.kineto.device import Launches
from ascend_sn.formats.kineto.sift import COLLECTIVE_ARGUMENTS
from ascend_sn.model.kinds import UNMATCHED
from ascend_sn.model.rows import Bool, Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import COLLECTIVE

__all__ = ["Called", "called", "collective_rows", "filled_group", "numbered", "sizes"]

_WAIT: Final = "wait"


@dataclass(frozen=True)
class Called:
    """Parameters of the communication kernels, one row per kernel.

    Attributes:
        row: Position of the kernel among the device events.
        op: Operation; `unknown` where neither parameters nor any name say.
        texts: Parameter -> code, -1 where not recorded.
        elements: The larger of sent and received element counts.
        sequence: Number that the communication library gave the call.
        asked_ns: When the host asked for it, else when it started; relative time.
        asked_on_host: Whether every row has the former.
    """

    row: Int64
    op: Text
    texts: dict[str, Codes]
    elements: Nullable
    sequence: Nullable
    asked_ns: Int64
    asked_on_host: bool


def called(
    device: Events,
    is_communication: Bool,
    parameters: Events,
    calls: Events,
    host: Events,
    linked: Launches,
    spans: Events,
    strings: Sequence[str],
) -> Called:
    """Find the parameters of each communication kernel: its own, else those of the call that launched it."""
    row = np.flatnonzero(is_communication)
    kernels = device.take(row)
    call = np.where(linked.host_call.valid, linked.host_call.values, -1)[row]
    at = _parameters_at(parameters, calls, call, strings)
    texts = {key: _filled(kernels.texts[key], parameters.texts[key], at) for key in COLLECTIVE_ARGUMENTS}
    numbers = {
        key: _filled_numbers(kernels.integers[key], parameters.integers[key], at)
        for key in ("In msg nelems", "Out msg nelems", "Seq")
    }
    received, sent = numbers["Out msg nelems"], numbers["In msg nelems"]
    elements = np.maximum(np.where(sent.valid, sent.values, 0), np.where(received.valid, received.values, 0))
    on_host = call >= 0
    asked = np.append(calls.ts, np.int64(0))[call]
    return Called(
        row=row,
        op=_ops(kernels, texts["Collective name"], _ranges_above(host, calls, call, strings), spans, strings),
        texts=texts,
        elements=Nullable(elements, sent.valid | received.valid),
        sequence=numbers["Seq"],
        asked_ns=np.where(on_host, asked, kernels.ts),
        asked_on_host=bool(on_host.all()),
    )


def collective_rows(found: Called, kernels: Rows, only_group: str | None, strings: Sequence[str]) -> Rows:
    """Return one row per communication kernel, in the order of the kernels.

    Args:
        found: The parameters.
        kernels: The finished kernel table.
        only_group: The group of calls that do not name theirs, where the job has just one.
        strings: Texts of the file.
    """
    count = len(found.row)
    names = kernels.text("name").take(found.row)
    dtype = _dtypes(found.texts["dtype"], names, strings)
    group = filled_group(text_column(found.texts["Process Group Name"], strings), only_group)
    starts = kernels.values("ts_ns")[found.row]
    return conform(
        COLLECTIVE,
        count,
        collective_id=np.arange(count),
        kernel_id=kernels.values("kernel_id")[found.row],
        op=found.op,
        name=names,
        group_id=group,
        sequence=numbered(group, found.op, found.asked_ns if found.asked_on_host else starts, found.sequence),
        size_bytes=sizes(found.elements, dtype),
        dtype=dtype,
        ts_ns=starts,
        dur_ns=kernels.values("dur_ns")[found.row],
    )


def filled_group(group: Text, only_group: str | None) -> Text:
    """Return the groups with `only_group` where none is stated."""
    if only_group is None:
        return group
    values = list(group.values) if only_group in group.values else [*group.values, only_group]
    return Text(np.where(group.codes >= 0, group.codes, np.int32(values.index(only_group))), values)


def numbered(group: Text, op: Text, order_ns: Int64, recorded: Nullable) -> Nullable:
    """Return the number of each call in its group.

    The library's own number where every call of the group has one; else its place in order of time, counted
    apart for collectives and for point-to-point calls, which not every member takes part in; calls of an unknown
    operation, which may be such, are counted with the latter.
    """
    unmatched = op.matches(UNMATCHED)
    lane = group.codes.astype(np.int64) * 2 + unmatched
    order = np.lexsort((order_ns, lane))
    ordered = lane[order]
    first = np.searchsorted(ordered, ordered, side="left")
    place = np.empty(len(lane), np.int64)
    place[order] = np.arange(len(lane)) - first
    lacking = distinct(lane[~recorded.valid])
    own = recorded.valid & ~np.isin(lane, lacking)
    return Nullable(np.where(own, recorded.values, place), group.codes >= 0)


def sizes(elements: Nullable, dtype: Text) -> Nullable:
    """Return elements times the bytes of their type; null where either is not known."""
    widths = [categories.dtype_bytes(value) for value in dtype.values]
    width = np.array([*(0 if one is None else one for one in widths), 0], np.int64)[dtype.codes]
    return Nullable(elements.values * width, elements.valid & (width > 0))


def _parameters_at(parameters: Events, calls: Events, call: Int64, strings: Sequence[str]) -> Int64:
    """Return the parameter row that encloses each launching call on its thread, -1 for none."""
    if not len(parameters) or not len(calls):
        return np.full(len(call), -1, np.int64)
    names = text_column(parameters.texts["Collective name"], strings)
    waits = names.matches([_WAIT])
    position = np.flatnonzero(~waits)
    kept = parameters.take(position)
    found = enclosing(
        thread_keys(kept.pid, kept.tid), kept.ts, kept.dur, thread_keys(calls.pid, calls.tid)[call], calls.ts[call]
    )
    return np.where((found >= 0) & (call >= 0), np.append(position, np.int64(-1))[found], -1)


def _filled(own: Codes, others: Codes, at: Int64) -> Codes:
    return np.where(own >= 0, own, np.append(others, np.int32(-1))[at])


def _filled_numbers(own: Nullable, others: Nullable, at: Int64) -> Nullable:
    values, valid = np.append(others.values, np.int64(0))[at], np.append(others.valid, False)[at]
    return Nullable(np.where(own.valid, own.values, values), own.valid | valid)


def _ranges_above(host: Events, calls: Events, call: Int64, strings: Sequence[str]) -> Codes:
    """Return the name of the innermost call of the framework's communication around each launch, -1 for none."""
    asks = lookup(host.name, strings, lambda name: int(categories.is_communication_request(name)), 0) > 0
    requests = host.take(asks)
    if not len(requests) or not len(calls):
        return np.full(len(call), -1, np.int32)
    found = enclosing(
        thread_keys(requests.pid, requests.tid),
        requests.ts,
        requests.dur,
        thread_keys(calls.pid, calls.tid)[call],
        calls.ts[call],
    )
    return np.append(requests.name, np.int32(-1))[np.where(call >= 0, found, -1)]


def _ops(kernels: Events, stated: Codes, asked: Codes, spans: Events, strings: Sequence[str]) -> Text:
    """Return the operation from the parameters, the kernel's name, the range drawn above it, or the call on the host.

    One kernel serves several operations in some versions of the libraries (`ncclDevKernel_Generic`).
    """
    sources = [text_column(stated, strings), text_column(kernels.name, strings)]
    twins = spans.take(spans.kind == categories.DEVICE_ANNOTATION)
    if len(twins):
        # A device range starts up to 1 ns early and ends with its kernels.
        above = enclosing(
            thread_keys(twins.pid, twins.tid), twins.ts, twins.dur, thread_keys(kernels.pid, kernels.tid), kernels.ts
        )
        sources.append(text_column(np.append(twins.name, np.int32(-1))[above], strings))
    sources.append(text_column(asked, strings))
    values: list[str] = []
    codes = np.full(len(kernels), -1, np.int32)
    for source in sources:
        op = source.mapped(categories.collective_op)
        codes = np.where(codes >= 0, codes, np.where(op.codes >= 0, op.codes + len(values), -1)).astype(np.int32)
        values.extend(op.values)
    return categories.known_op(Text(codes, values).mapped(str))


def _dtypes(stated: Codes, names: Text, strings: Sequence[str]) -> Text:
    first = text_column(stated, strings)
    second = names.mapped(categories.dtype_of_kernel)
    moved = np.where(second.codes >= 0, second.codes + len(first.values), -1)
    return Text(np.where(first.codes >= 0, first.codes, moved).astype(np.int32), [*first.values, *second.values])
