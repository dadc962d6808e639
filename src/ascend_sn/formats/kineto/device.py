"""Kernels, copies and synchronisations of a device, and how they tie to the calls that launched them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import first_match
from ascend_sn._native.trace_scan import Strings
from ascend_sn.errors import JsonTextError
from ascend_sn.formats.chrome.events import Events, lookup
from ascend_sn.formats.chrome.texts import Codes, mapped_integers, text_column
from ascend_sn.formats.json_text import json_value
from ascend_sn.formats.kineto import categories
from ascend_sn.formats.kineto.host import connections
from ascend_sn.formats.kineto.sift import OCCUPANCY
from ascend_sn.model.rows import Bool, Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import KERNEL, KERNEL_METRIC

__all__ = ["Launches", "kernel_rows", "launches", "metric_rows", "overlapping_pairs", "partners"]

_KINDS: Final = ("compute", "communication", "copy", "sync", "other")
_COMPUTE, _COMMUNICATION, _COPY, _SYNC, _OTHER = range(5)
_KIND_OF_CLASS: Final = {
    categories.KERNEL: _COMPUTE,
    categories.COPY: _COPY,
    categories.SET: _OTHER,
    categories.SYNC: _SYNC,
    categories.UNKNOWN: _OTHER,
}
_SYNC_THREAD_OFFSET: Final = 1_000_000
"""Newer traces draw synchronisations of stream N on the thread N + 1 000 000."""

_SAME_SHARE: Final = 0.5
"""Above this share of kernels whose external id is their correlation, the id says nothing about operators."""


@dataclass(frozen=True)
class Launches:
    """Position of the host call of each device event, and the operator where only that is known."""

    host_call: Nullable
    operator: Nullable


def launches(device: Events, calls: Events, host: Events, flows: Events, strings: Strings) -> Launches:
    """Tie device events to host calls by correlation, else by launch flows, else to operators by external id."""
    call = partners(connections(device, strings), connections(calls, strings))
    open_ = np.flatnonzero(call < 0)
    if len(open_) and len(flows):
        call[open_] = _through_flows(device.take(open_), calls, flows, strings)
    operator = np.full(len(device), -1, np.int64)
    if bool((call < 0).any()) and _external_ids_name_operators(device):
        operator = np.where(call < 0, partners(device.texts["External id"], host.texts["External id"]), -1)
    return Launches(Nullable(call, call >= 0), Nullable(operator, operator >= 0))


def partners(wanted: Codes, offered: Codes) -> Int64:
    """Return for each code the first position at which it is offered, -1 for none and for negative codes."""
    limit = int(max(wanted.max(initial=-1), offered.max(initial=-1))) + 1
    first = np.full(limit + 1, -1, np.int64)
    rows = np.flatnonzero(offered >= 0)[::-1]
    first[offered[rows]] = rows
    return first[np.maximum(wanted, -1)]


def kernel_rows(
    device: Events, base_ns: int, strings: Sequence[str], linked: Launches, calls: Events, op_types: Text
) -> Rows:
    """Return one row per device event, in file order.

    Args:
        device: Kernels, copies, sets and synchronisations.
        base_ns: Added to the times.
        strings: Texts of the file.
        linked: Where the events were launched.
        calls: Host calls, whose `size` gives the bytes of copies that do not state their own.
        op_types: Operation of the collectives among them, null elsewhere.
    """
    names = text_column(device.name, strings)
    kind = kinds(device, names)
    copies = kind == _COPY
    return conform(
        KERNEL,
        len(device),
        kernel_id=np.arange(len(device)),
        device_id=_device_ids(device, strings),
        stream=_streams(device, strings),
        name=names,
        op_type=_op_types(device, op_types),
        kind=Text(kind.astype(np.int32), _KINDS),
        ts_ns=device.ts + base_ns,
        dur_ns=device.dur,
        operator_id=linked.operator,
        host_call_id=linked.host_call,
        block_count=_block_counts(device.texts["grid"], strings),
        copy_direction=_directions(names, copies),
        size_bytes=_sizes(device, calls, linked, strings, copies | (device.kind == categories.SET)),
    )


def kinds(device: Events, names: Text) -> npt.NDArray[np.int8]:
    """Return the number of the kind of each device event in the order of the kernel kinds of this module."""
    table = np.zeros(max(_KIND_OF_CLASS) + 1, np.int8)
    for class_, kind in _KIND_OF_CLASS.items():
        table[class_] = kind
    found = table[device.kind]
    found[(found == _COMPUTE) & names.where(categories.is_communication_kernel)] = _COMMUNICATION
    return found


def is_communication(device: Events, strings: Sequence[str]) -> Bool:
    """Return which device events are communication kernels."""
    found: Bool = kinds(device, text_column(device.name, strings)) == _COMMUNICATION
    return found


def metric_rows(device: Events) -> Rows:
    """Return the estimated occupancy of the kernels that state it, as a ratio."""
    occupancy = device.reals[OCCUPANCY]
    rows = np.flatnonzero(~np.isnan(occupancy))
    return conform(
        KERNEL_METRIC,
        len(rows),
        kernel_id=rows,
        metric="est. achieved occupancy",
        value=occupancy[rows] / 100.0,
    )


def overlapping_pairs(kernels: Rows) -> int:
    """Count neighbours on a stream of which the later starts before the earlier ends."""
    stream, device_id = kernels.text("stream"), kernels.values("device_id").astype(np.int64)
    serial = ~kernels.text("kind").matches(["sync"]) & (stream.codes >= 0)
    lane = (device_id * (len(stream.values) + 1) + stream.codes)[serial]
    start = kernels.values("ts_ns")[serial]
    end = start + kernels.values("dur_ns")[serial]
    order = np.lexsort((start, lane))
    lane, start, end = lane[order], start[order], end[order]
    return int(np.count_nonzero((lane[1:] == lane[:-1]) & (start[1:] < end[:-1])))


def _through_flows(device: Events, calls: Events, flows: Events, strings: Sequence[str]) -> Int64:
    """Return the call at the near end of the launch flow that ends where a device event starts."""
    launch = lookup(flows.category, strings, lambda name: int(name == "ac2g" or name.startswith("async")), 0)
    flows = flows.take(launch == 1)
    starts, finishes = flows.take(flows.phase == ord("s")), flows.take(flows.phase == ord("f"))
    finish = _at(device, finishes)
    near = partners(finishes.id, starts.id)
    start = np.append(near, np.int64(-1))[finish]
    return np.append(_at(starts, calls), np.int64(-1))[start]


def _at(wanted: Events, offered: Events) -> Int64:
    """Return the position of the event of the same thread and moment, -1 for none."""
    return first_match([offered.pid, offered.tid, offered.ts], [wanted.pid, wanted.tid, wanted.ts])


def _external_ids_name_operators(device: Events) -> bool:
    external, correlation = device.texts["External id"], device.texts["correlation"]
    stated = external >= 0
    if not bool(stated.any()):
        return False
    return float(np.mean(external[stated] == correlation[stated])) <= _SAME_SHARE


def _device_ids(device: Events, strings: Sequence[str]) -> Nullable:
    stated = device.integers["device"]
    process = mapped_integers(device.pid, strings, _small_integer)
    usable = stated.valid & (stated.values >= 0) & (stated.values < 1 << 31)
    return Nullable(np.where(usable, stated.values, process.values), usable | process.valid)


def _small_integer(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _streams(device: Events, strings: Sequence[str]) -> Text:
    """Return the stream as text; null for a synchronisation of the whole device."""
    stated = device.integers["stream"]
    codes = np.where(stated.valid, device.texts["stream"], device.tid)
    return text_column(codes, strings).mapped(_stream_name)


def _stream_name(text: str) -> str | None:
    number = _small_integer(text)
    if number is not None and number >= _SYNC_THREAD_OFFSET:
        return str(number - _SYNC_THREAD_OFFSET)
    return None if text.startswith("-") else text


def _op_types(device: Events, collectives: Text) -> Text:
    values = [*collectives.values, "Memcpy", "Memset"]
    codes = collectives.codes.copy()
    codes[device.kind == categories.COPY] = len(values) - 2
    codes[device.kind == categories.SET] = len(values) - 1
    return Text(codes, values)


def _block_counts(grid: Codes, strings: Sequence[str]) -> Nullable:
    return mapped_integers(grid, strings, _product)


def _product(text: str) -> int | None:
    try:
        sizes = json_value(text, list[int])
    except JsonTextError:
        return None
    product = 1
    for size in sizes:
        product *= size
    return product if 0 <= product < 1 << 31 else None


def _directions(names: Text, copies: Bool) -> Text:
    found = names.mapped(categories.copy_direction)
    return Text(np.where(copies, found.codes, np.int32(-1)), found.values)


def _sizes(device: Events, calls: Events, linked: Launches, strings: Sequence[str], moving: Bool) -> Nullable:
    stated = device.integers["bytes"]
    of_call = mapped_integers(calls.texts["size"], strings, _integer)
    through = np.append(of_call.valid, False)[np.where(linked.host_call.valid, linked.host_call.values, -1)]
    from_call = np.append(of_call.values, np.int64(0))[np.where(linked.host_call.valid, linked.host_call.values, -1)]
    return Nullable(np.where(stated.valid, stated.values, from_call), moving & (stated.valid | through))


def _integer(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
