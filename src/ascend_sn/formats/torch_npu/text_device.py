"""Device tables of a text export: kernel_details.csv joined with the trace."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn.formats.torch_npu.collectives import CommOps
from ascend_sn.formats.torch_npu.groups import is_fused, op_type_of
from ascend_sn.formats.torch_npu.kernel_details import KernelDetails
from ascend_sn.formats.torch_npu.kernel_matching import matched_by_name, matched_events
from ascend_sn.formats.torch_npu.limits import ranks
from ascend_sn.formats.torch_npu.matching import left_over, lookup, lookup_rows
from ascend_sn.formats.torch_npu.tasks import copy_directions, is_core_task, joined_transport, task_kind
from ascend_sn.formats.torch_npu.text_columns import combined, either, taken
from ascend_sn.formats.torch_npu.trace_device import DeviceEvents
from ascend_sn.formats.torch_npu.trace_events import TraceEvents
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import COMM_TASK, KERNEL, KERNEL_METRIC

__all__ = ["TextDevice", "TraceDevice", "device_without_trace", "join_device"]

Mask = npt.NDArray[np.bool_]


class TraceDevice(msgspec.Struct, frozen=True, eq=False):
    """Device events of the trace: tasks, communication operators with their group, plane tasks."""

    events: TraceEvents
    tasks: DeviceEvents
    ops: DeviceEvents
    planes: DeviceEvents
    group: Text


class TextDevice(msgspec.Struct, frozen=True, eq=False):
    """Kernels (with communication operators), their metrics, and what collectives are made of."""

    kernels: Rows
    metrics: Rows
    ops: CommOps
    comm_tasks: Rows
    plane: Text


def device_without_trace(details: KernelDetails | None) -> TextDevice:
    """Return the tables of kernel_details.csv alone, or empty ones."""
    kernels = details.kernels if details is not None else conform(KERNEL, 0)
    metrics = details.metrics if details is not None else conform(KERNEL_METRIC, 0)
    whole = np.flatnonzero(kernels.text("kind").matches(["communication"]))
    nothing = Nullable(np.zeros(len(whole), np.int64), np.zeros(len(whole), np.bool_))
    return TextDevice(
        kernels=kernels,
        metrics=metrics,
        ops=CommOps(
            name=kernels.text("name").take(whole),
            ts=kernels.values("ts_ns")[whole],
            dur=kernels.values("dur_ns")[whole],
            kernel_id=Nullable(whole.astype(np.int64), np.ones(len(whole), np.bool_)),
            group=Text.constant(None, len(whole)),
            count=nothing,
            dtype=Text.constant(None, len(whole)),
        ),
        comm_tasks=conform(COMM_TASK, 0),
        plane=Text.constant(None, 0),
    )


def join_device(details: KernelDetails | None, trace: TraceDevice, calls: Rows) -> TextDevice:
    """Join the two files: the CSV has types, shapes and exact lengths, the trace streams and launches.

    Args:
        details: kernel_details.csv, where it is usable.
        trace: Device events of the trace.
        calls: The table `host_call`.
    """
    alone = device_without_trace(details)
    csv = alone.kernels
    is_op = csv.text("kind").matches(["communication"])
    ids = None
    if details is not None:
        ids = (details.task, trace.events.argument_integers("Task Id", trace.tasks.index))
    task_of = matched_events(csv, ~is_op, trace.tasks, ids)
    op_of = matched_events(csv, is_op, trace.ops, None)
    op_of = matched_by_name(csv, is_op, op_of, trace.ops)
    own = _with_links(csv, task_of, trace.tasks, op_of, trace.ops)
    new_ops = left_over(len(trace.ops.ts), op_of)
    # Tasks that share their launch with a communication operator are its parts.
    op_at = lookup(trace.ops.connection.astype(np.int64), trace.tasks.connection.astype(np.int64))
    op_at[trace.tasks.connection < 0] = -1
    unmatched = np.ones(len(trace.tasks.ts), np.bool_)
    unmatched[task_of[task_of >= 0]] = False
    parts = np.flatnonzero(unmatched & (op_at >= 0))
    rest = np.flatnonzero(unmatched & (op_at < 0))
    kernels = concatenate(
        KERNEL, [own, _op_kernels(trace.ops, new_ops), _task_kernels(trace, rest, calls, _lists_all(details))]
    )
    kernel_of_op = np.full(len(trace.ops.ts), -1, np.int64)
    kernel_of_op[op_of[op_of >= 0]] = np.flatnonzero(op_of >= 0)
    kernel_of_op[new_ops] = len(own) + np.arange(len(new_ops))
    kernels = _with_streams(kernels, kernel_of_op, op_at, trace.tasks)
    lonely = np.flatnonzero(is_op & (op_of < 0))
    ops, order = _comm_ops(kernels, trace, kernel_of_op, lonely)
    comm_tasks, plane = _comm_tasks(trace, parts, op_at, order)
    return TextDevice(
        kernels=kernels.replace(kernel_id=np.arange(len(kernels), dtype=np.int64)),
        metrics=alone.metrics,
        ops=ops,
        comm_tasks=comm_tasks,
        plane=plane,
    )


def _lists_all(details: KernelDetails | None) -> bool:
    """Whether the kernels are those of kernel_details.csv; not where rows were lost, or none was written."""
    return details is not None and len(details.kernels) > 0 and not details.lost_count


def _with_links(csv: Rows, task_of: Int64, tasks: DeviceEvents, op_of: Int64, ops: DeviceEvents) -> Rows:
    columns: dict[str, Nullable] = {}
    for column, of_task, of_op in (
        ("host_call_id", tasks.call, ops.call),
        ("operator_id", tasks.operator, ops.operator),
        ("device_id", tasks.device, ops.device),
    ):
        values, valid = csv.values(column).copy(), csv.valid(column).copy()
        for at, source in ((task_of, of_task), (op_of, of_op)):
            rows = np.flatnonzero((at >= 0) & ~valid)
            known = source.valid[at[rows]]
            values[rows[known]] = source.values[at[rows[known]]]
            valid[rows[known]] = True
        columns[column] = Nullable(values, valid)
    return csv.replace(**columns, stream=either(csv.text("stream"), taken(tasks.stream, task_of)))


def _op_kernels(ops: DeviceEvents, index: Int64) -> Rows:
    return conform(
        KERNEL,
        len(index),
        kind="communication",
        core_type="COMMUNICATION",
        op_type=ops.name.take(index).mapped(op_type_of),
        **_shared(ops, index),
    )


def _task_kernels(trace: TraceDevice, index: Int64, calls: Rows, lists_all: bool) -> Rows:
    """Kernels out of tasks that kernel_details.csv does not hold: copies, waits, records, marks."""
    tasks = trace.tasks
    names, types = tasks.name.take(index), tasks.type.take(index)
    on_core = types.where(is_core_task)
    kind = combined(names, types, lambda name, type_: _kind(name or "", type_ or "", lists_all))
    call = Nullable(tasks.call.values[index], tasks.call.valid[index] & kind.matches(["copy"]))
    recorded = trace.events.argument_text("memcpy direction", tasks.index[index]).mapped(_direction)
    return conform(
        KERNEL,
        len(index),
        kind=kind,
        core_type=Text(np.where(on_core, types.codes, -1).astype(np.int32), types.values),
        stream=tasks.stream.take(index),
        copy_direction=either(recorded, copy_directions(calls, call)),
        size_bytes=trace.events.argument_integers("data size(Byte)", tasks.index[index]),
        **_shared(tasks, index),
    )


def _kind(name: str, type_: str, lists_all: bool) -> str:
    """Where kernel_details.csv lists all kernels, its rows are they; else what ran on a core is one too."""
    if lists_all or not is_core_task(type_):
        return task_kind(name, type_)
    return "fused" if is_fused(name) else "compute"


def _shared(found: DeviceEvents, index: Int64) -> dict[str, Nullable | Text | Int64]:
    return {
        "device_id": Nullable(found.device.values[index], found.device.valid[index]),
        "name": found.name.take(index),
        "ts_ns": found.ts[index],
        "dur_ns": found.dur[index],
        "host_call_id": Nullable(found.call.values[index], found.call.valid[index]),
        "operator_id": Nullable(found.operator.values[index], found.operator.valid[index]),
    }


def _with_streams(kernels: Rows, kernel_of_op: Int64, op_at: Int64, tasks: DeviceEvents) -> Rows:
    """Give communication operators the stream of their first task."""
    first = lookup(op_at, np.arange(len(kernel_of_op), dtype=np.int64))
    task_of = np.full(len(kernels), -1, np.int64)
    known = kernel_of_op >= 0
    task_of[kernel_of_op[known]] = first[known]
    return kernels.replace(stream=either(kernels.text("stream"), taken(tasks.stream, task_of)))


def _comm_ops(kernels: Rows, trace: TraceDevice, kernel_of_op: Int64, lonely: Int64) -> tuple[CommOps, Int64]:
    """Operators of the trace and, behind them, rows of the CSV that the trace lacks; in order of start."""
    kernel = np.concatenate([kernel_of_op, lonely])
    starts = kernels.values("ts_ns")[kernel]
    order = np.argsort(starts, kind="stable")
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    count = trace.events.argument_integers("count", trace.ops.index)
    padding = len(lonely)
    kernel = kernel[order]
    return (
        CommOps(
            name=kernels.text("name").take(kernel),
            ts=kernels.values("ts_ns")[kernel],
            dur=kernels.values("dur_ns")[kernel],
            kernel_id=Nullable(kernel, np.ones(len(kernel), np.bool_)),
            group=_padded(trace.group, padding).take(order),
            count=Nullable(
                np.concatenate([count.values, np.zeros(padding, np.int64)])[order],
                np.concatenate([count.valid, np.zeros(padding, np.bool_)])[order],
            ),
            dtype=_padded(trace.events.argument_text("data_type", trace.ops.index), padding).take(order),
        ),
        position,
    )


def _padded(text: Text, count: int) -> Text:
    return Text(np.concatenate([text.codes, np.full(count, -1, np.int32)]), text.values)


def _comm_tasks(trace: TraceDevice, parts: Int64, op_at: Int64, position: Int64) -> tuple[Rows, Text]:
    """Plane tasks of each collective; where a collective has none, the tasks on its streams."""
    planes, tasks, ops = trace.planes, trace.tasks, trace.ops
    at = _op_of_planes(trace, op_at)
    inside = np.flatnonzero(at >= 0)
    with_planes = np.zeros(len(ops.ts), np.bool_)
    with_planes[at[inside]] = True
    bare = parts[~with_planes[op_at[parts]]]
    events, index = trace.events, planes.index[inside]
    plane_names = planes.stream.take(inside)
    transport = events.argument_text("transport type", index)
    link = events.argument_text("link type", index)
    detailed = conform(
        COMM_TASK,
        len(inside),
        collective_id=position[at[inside]],
        stream=plane_names,
        name=planes.name.take(inside),
        ts_ns=planes.ts[inside],
        dur_ns=planes.dur[inside],
        size_bytes=events.argument_integers("size(Byte)", index),
        src_rank=ranks(events.argument_integers("src rank", index)),
        dst_rank=ranks(events.argument_integers("dst rank", index)),
        transport=combined(transport, link, joined_transport),
    )
    plain = conform(
        COMM_TASK,
        len(bare),
        collective_id=position[op_at[bare]],
        stream=tasks.stream.take(bare),
        name=tasks.name.take(bare),
        ts_ns=tasks.ts[bare],
        dur_ns=tasks.dur[bare],
    )
    rows = concatenate(COMM_TASK, [detailed, plain])
    return rows, _padded(plane_names, len(bare))


def _op_of_planes(trace: TraceDevice, op_at: Int64) -> Int64:
    """Operator of each plane task: by the device task it describes, else by the time it lies in."""
    planes, tasks, ops, events = trace.planes, trace.tasks, trace.ops, trace.events
    found = np.full(len(planes.ts), -1, np.int64)
    if not len(ops.ts):
        return found
    inside = np.flatnonzero(op_at >= 0)
    if len(inside):
        numbers = [
            (_argument(events, names, tasks.index[inside]), _argument(events, (own,), planes.index))
            for names, own in ((("Physic Stream Id", "Stream Id"), "stream id"), (("Task Id",), "task id"))
        ]
        at = lookup_rows(*numbers, (tasks.ts[inside], planes.ts))
        found = np.where(at >= 0, op_at[inside[at]], -1)
    order = np.argsort(ops.ts, kind="stable")
    latest = np.searchsorted(ops.ts[order], planes.ts, side="right") - 1
    candidate = order[latest.clip(min=0)]
    within = (latest >= 0) & (planes.ts <= (ops.ts + ops.dur)[candidate])
    return np.where((found < 0) & within, candidate, found)


def _argument(events: TraceEvents, names: tuple[str, ...], index: Int64) -> Int64:
    result = np.full(len(index), -1, np.int64)
    for name in reversed(names):
        numbers = events.argument_integers(name, index)
        result = np.where(numbers.valid, numbers.values, result)
    return result


def _direction(text: str) -> str | None:
    words = text.lower().replace("_", " ").replace("-", " ").split()
    known = {"host": "h", "device": "d"}
    ends = [known[word] for word in words if word in known]
    return f"{ends[0]}2{ends[1]}" if len(ends) == 2 else None
