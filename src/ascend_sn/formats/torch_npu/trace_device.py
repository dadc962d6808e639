"""Device side of a trace: tasks, communication operators, plane tasks, sampled values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import numpy as np

from ascend_sn._native.codes import compact
from ascend_sn.formats.torch_npu.groups import group_hash
from ascend_sn.formats.torch_npu.matching import lookup, lookup_rows
from ascend_sn.formats.torch_npu.text_columns import combined, number_text
from ascend_sn.formats.torch_npu.trace_events import COUNTER_KEYS, Codes, TraceEvents
from ascend_sn.formats.torch_npu.trace_host import (
    TraceHost,
    checked,
    enclosing_call,
    flow_ends,
    operator_starts,
)
from ascend_sn.formats.torch_npu.trace_processes import EventClasses, Threads
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import COUNTER

__all__ = ["DeviceEvents", "read_counters", "read_device_events"]

_GROUP = re.compile(r"^Group (.+) Communication$")
_COUNTER: Final = ord("C")


@dataclass(frozen=True)
class DeviceEvents:
    """Device events of one kind and what the trace links them to.

    Attributes:
        index: Event positions.
        name: Name of each.
        type: Task type, or type of the plane task.
        ts: Start in nanoseconds.
        dur: Length in nanoseconds.
        device: Accelerator.
        stream: Stream of a task, plane of a plane task, null for an operator.
        connection: Code of the connection id, -1 for none.
        call: host_call_id of the launch.
        operator: operator_id where the trace itself says so.
    """

    index: Int64
    name: Text
    type: Text
    ts: Int64
    dur: Int64
    device: Nullable
    stream: Text
    connection: Codes
    call: Nullable
    operator: Nullable


def read_device_events(
    events: TraceEvents, classes: EventClasses, threads: Threads, host: TraceHost, file: str, ledger: Ledger
) -> tuple[DeviceEvents, DeviceEvents, DeviceEvents, Text]:
    """Return tasks, communication operators and plane tasks, and the group hash of each operator if it is named."""
    tasks = checked(events, classes.tasks, file, ledger)
    ops = checked(events, classes.ops, file, ledger)
    planes = checked(events, classes.planes, file, ledger)
    launched = np.concatenate([tasks, ops])
    call = _calls(events, launched, host)
    operator = _operators(events, launched, host)
    split = len(tasks)
    no_link = Nullable(np.zeros(len(planes), np.int64), np.zeros(len(planes), np.bool_))
    thread_names = _thread_text(events, threads, ops)
    return (
        _events(
            events,
            threads,
            tasks,
            "Task Type",
            events.text(events.tid[tasks]),
            _first(call, split),
            _first(operator, split),
        ),
        _events(
            events, threads, ops, "Task Type", Text.constant(None, len(ops)), _rest(call, split), _rest(operator, split)
        ),
        _events(events, threads, planes, "task type", _thread_text(events, threads, planes), no_link, no_link),
        thread_names.mapped(_named_group),
    )


def read_counters(events: TraceEvents, classes: EventClasses, file: str, ledger: Ledger) -> Rows:
    """Return the sampled values; a series with a key that is not known is counted in the ledger."""
    keys = [key for key in COUNTER_KEYS if len(events.arguments[key].event)]
    counts = [len(events.arguments[key].event) for key in keys]
    event = np.concatenate([np.zeros(0, np.int32), *(events.arguments[key].event for key in keys)])
    order = np.argsort(event, kind="stable") if len(keys) > 1 else np.arange(len(event))
    event = event[order]
    value = np.concatenate([np.zeros(0), *(events.arguments[key].number * COUNTER_KEYS[key][1] for key in keys)])[order]
    unit = Text(np.repeat(np.arange(len(keys), dtype=np.int32), counts)[order], [COUNTER_KEYS[key][0] for key in keys])
    # Other events have arguments of these names too.
    sampled = (events.ph[event] == _COUNTER) & events.has_ts[event]
    accelerator = number_text(events.argument_integers("acc_id", event[sampled]))
    has_value = np.zeros(len(events), np.bool_)
    has_value[event] = True
    told = has_value[classes.counters]
    if not told.all():
        example = events.strings[events.name[classes.counters[~told][0]]]
        ledger.add(file, "unknown_counter", count=int((~told).sum()), example=example, severity="info")
    return conform(
        COUNTER,
        int(sampled.sum()),
        name=combined(events.text(events.name[event[sampled]]), accelerator, _of_accelerator),
        unit=unit.take(sampled),
        ts_ns=events.ts[event[sampled]],
        value=value[sampled],
    )


def _events(
    events: TraceEvents, threads: Threads, index: Int64, type_key: str, stream: Text, call: Nullable, operator: Nullable
) -> DeviceEvents:
    pids, at = compact(events.pid[index], len(events.strings))
    device_of = np.array([*(threads.device.get(pid, -1) for pid in pids.tolist()), -1], np.int64)[at]
    return DeviceEvents(
        index=index,
        name=events.text(events.name[index]),
        type=events.argument_text(type_key, index),
        ts=events.ts[index],
        dur=events.dur[index],
        device=Nullable(device_of, device_of >= 0),
        stream=stream,
        connection=events.argument_codes("connection_id", index),
        call=call,
        operator=operator,
    )


def _calls(events: TraceEvents, index: Int64, host: TraceHost) -> Nullable:
    """Host call of each device event: by connection id, else by the HostToDevice arrow."""
    connection = events.argument_codes("connection_id", index).astype(np.int64)
    found = np.where(connection >= 0, lookup(host.connection.astype(np.int64), connection), -1)
    open_ = np.flatnonzero(found < 0)
    ends, starts = flow_ends(events, "HostToDevice") if len(open_) and len(host.calls) else (open_[:0], open_[:0])
    if len(ends):
        end = _at_place(events, ends, index[open_])
        arrow = starts[end[end >= 0]]
        # The arrow starts inside the call, not with it.
        found[open_[end >= 0]] = enclosing_call(events, host.calls, events.tid[arrow], events.ts[arrow])
    return Nullable(found + host.first_call, found >= 0)


def _operators(events: TraceEvents, index: Int64, host: TraceHost) -> Nullable:
    """Operator of each device event that an `async_npu` arrow reaches."""
    ends, starts = flow_ends(events, "async_npu")
    if not len(ends) or not len(index):
        return Nullable(np.zeros(len(index), np.int64), np.zeros(len(index), np.bool_))
    operator = operator_starts(events, host.operators, events.tid[starts], events.ts[starts])
    end = _at_place(events, ends, index)
    found = np.where(end >= 0, operator[end], -1)
    return Nullable(found, found >= 0)


def _at_place(events: TraceEvents, offered: Int64, wanted: Int64) -> Int64:
    """Return the position among the offered events of one on the same thread at the same moment, or -1."""
    return lookup_rows(*((column[offered], column[wanted]) for column in (events.pid, events.tid, events.ts)))


def _thread_text(events: TraceEvents, threads: Threads, index: Int64) -> Text:
    pids, tids = events.pid[index].astype(np.int64), events.tid[index].astype(np.int64)
    width = len(events.strings) + 1
    places, codes = np.unique((pids + 1) * width + tids + 1, return_inverse=True)
    names = []
    for place in places.tolist():
        pid, tid = place // width - 1, place % width - 1
        names.append(threads.thread.get((pid, tid), events.strings[tid] if tid >= 0 else ""))
    return Text(codes.astype(np.int32), names)


def _named_group(thread: str) -> str | None:
    """Newer versions name the group in its thread; older ones only number it."""
    found = _GROUP.match(thread)
    if found is None or found[1].isdigit():
        return None
    return group_hash(found[1])


def _of_accelerator(name: str | None, number: str | None) -> str | None:
    return name if number is None else f"Acc PMU {number}/{name}"


def _first(numbers: Nullable, split: int) -> Nullable:
    return Nullable(numbers.values[:split], numbers.valid[:split])


def _rest(numbers: Nullable, split: int) -> Nullable:
    return Nullable(numbers.values[split:], numbers.valid[split:])
