"""Device side of the profiler database: kernels, hardware figures, collectives, plane tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ascend_sn.formats.sqlite_columns import Database, sqlite_integers, sqlite_reals
from ascend_sn.formats.torch_npu.collectives import CommOps
from ascend_sn.formats.torch_npu.db_host import DatabaseHost
from ascend_sn.formats.torch_npu.db_rows import checked_times, ids, known, lookup_dict, padded
from ascend_sn.formats.torch_npu.groups import group_hash, is_fused, op_type_of
from ascend_sn.formats.torch_npu.limits import positive, ranks
from ascend_sn.formats.torch_npu.matching import lookup
from ascend_sn.formats.torch_npu.tasks import (
    COPY_DIRECTIONS,
    CORE_OF_TASK,
    copy_directions,
    is_core_task,
    joined_transport,
    task_kind,
)
from ascend_sn.formats.torch_npu.text_columns import combined, either, number_text
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import COMM_TASK, KERNEL, KERNEL_METRIC

__all__ = ["DatabaseDevice", "read_device"]

_METRIC_NAMES: Final = {"aic_total_time": "aicore_time", "aiv_total_time": "aiv_time"}


@dataclass(frozen=True)
class DatabaseDevice:
    """Kernels (with communication operators), their metrics, and what collectives are made of."""

    kernels: Rows
    metrics: Rows
    ops: CommOps
    comm_tasks: Rows
    plane: Text


@dataclass(frozen=True)
class _Tasks:
    ts: Int64
    dur: Int64
    device: Nullable
    connection: Int64
    id: Int64
    stream: Nullable
    type: Text


@dataclass(frozen=True)
class _Ops:
    ops: CommOps
    connection: Int64
    op_id: Int64
    device: Nullable


def read_device(database: Database, host: DatabaseHost) -> DatabaseDevice:
    """Read TASK, COMPUTE_TASK_INFO, COMMUNICATION_OP, COMMUNICATION_TASK_INFO, TASK_PMU_INFO, MEMCPY_INFO."""
    tasks = _tasks(database)
    ops = _communication_ops(database)
    info = database.read(
        "COMPUTE_TASK_INFO",
        *("name", "globalTaskId", "blockDim", "blockNum", "taskType", "opType", "opState"),
        *("inputFormats", "inputDataTypes", "inputShapes", "outputFormats", "outputDataTypes", "outputShapes"),
    )
    compute = lookup(ids(info["globalTaskId"]), tasks.id)
    details = database.read(
        "COMMUNICATION_TASK_INFO",
        *("globalTaskId", "taskType", "planeId", "srcRank", "dstRank", "transportType", "size", "linkType", "opId"),
    )
    plane_task = lookup(ids(details["globalTaskId"]), tasks.id)
    plane_task[compute >= 0] = -1
    of_op = lookup(ops.connection, tasks.connection)
    on_core = tasks.type.where(is_core_task)
    part = (compute < 0) & (plane_task < 0) & on_core
    part &= (of_op >= 0) | np.isin(tasks.connection, tasks.connection[(compute >= 0) & (tasks.connection >= 0)])
    if part.any():
        example = "a core's share of a kernel or collective that has its own row"
        database.ledger.add(
            database.file, "task_part", place="table TASK", count=int(part.sum()), example=example, severity="info"
        )
    in_collective = (plane_task >= 0) | ((compute < 0) & (of_op >= 0) & ~part)
    rest = (compute < 0) & ~in_collective & ~part
    kernels, task_of_kernel = _kernels(database, host, tasks, ops, info, compute, np.flatnonzero(rest))
    comm_tasks, plane = _comm_tasks(database, tasks, ops, details, plane_task, of_op, np.flatnonzero(in_collective))
    first_op = len(kernels) - len(ops.connection)
    kernel_of_op = np.arange(first_op, len(kernels), dtype=np.int64)
    named = ops.ops
    return DatabaseDevice(
        kernels=kernels,
        metrics=_metrics(database, tasks.id[task_of_kernel]),
        ops=CommOps(
            name=named.name,
            ts=named.ts,
            dur=named.dur,
            kernel_id=Nullable(kernel_of_op, np.ones(len(kernel_of_op), np.bool_)),
            group=named.group,
            count=named.count,
            dtype=named.dtype,
        ),
        comm_tasks=comm_tasks,
        plane=plane,
    )


def _tasks(database: Database) -> _Tasks:
    rows = database.read("TASK", "startNs", "endNs", "deviceId", "connectionId", "globalTaskId", "taskType", "streamId")
    start, end = sqlite_integers(rows["startNs"]), sqlite_integers(rows["endNs"])
    usable = checked_times(database, "TASK", start, end)
    index = np.flatnonzero(usable).tolist()
    kept = {name: [column[i] for i in index] for name, column in rows.items()}
    return _Tasks(
        ts=start.values[usable],
        dur=(end.values - start.values)[usable],
        device=known(kept["deviceId"]),
        connection=ids(kept["connectionId"]),
        id=ids(kept["globalTaskId"]),
        stream=known(kept["streamId"]),
        type=database.texts(kept["taskType"]),
    )


def _communication_ops(database: Database) -> _Ops:
    rows = database.read(
        "COMMUNICATION_OP",
        *("opName", "startNs", "endNs", "connectionId", "groupName", "opId", "dataType", "count", "deviceId"),
    )
    start, end = sqlite_integers(rows["startNs"]), sqlite_integers(rows["endNs"])
    usable = checked_times(database, "COMMUNICATION_OP", start, end)
    index = np.flatnonzero(usable).tolist()
    kept = {name: [column[i] for i in index] for name, column in rows.items()}
    length = len(index)
    ops = CommOps(
        name=database.texts(kept["opName"]),
        ts=start.values[usable],
        dur=(end.values - start.values)[usable],
        kernel_id=Nullable(np.zeros(length, np.int64), np.zeros(length, np.bool_)),
        group=database.texts(kept["groupName"]).mapped(_hash_of),
        count=sqlite_integers(kept["count"]),
        dtype=database.names("ENUM_HCCL_DATA_TYPE", kept["dataType"]),
    )
    return _Ops(ops, ids(kept["connectionId"]), ids(kept["opId"]), known(kept["deviceId"]))


def _hash_of(group: str) -> str:
    # The database gives the id; a bare number of that size is a hash already.
    return group if group.isascii() and group.isdigit() and len(group) > 12 else group_hash(group)


def _kernels(
    database: Database,
    host: DatabaseHost,
    tasks: _Tasks,
    ops: _Ops,
    info: dict[str, Sequence[Any]],
    compute: Int64,
    rest: Int64,
) -> tuple[Rows, Int64]:
    computing = np.flatnonzero(compute >= 0)
    rows = compute[computing].tolist()
    picked = {name: [column[i] for i in rows] for name, column in info.items()}
    op_type = _meaningful(database.texts(picked["opType"]))
    core = _meaningful(database.texts(picked["taskType"]))
    task_core = tasks.type.take(computing).mapped(lambda name: CORE_OF_TASK.get(name, name))
    fused = op_type.where(is_fused)
    parts = [
        conform(
            KERNEL,
            len(computing),
            name=database.texts(picked["name"]),
            op_type=op_type,
            kind=Text(fused.astype(np.int32), ["compute", "fused"]),
            # Level0 leaves the core out, the task itself still tells it.
            core_type=either(core, task_core),
            op_state=_meaningful(database.texts(picked["opState"])),
            block_count=_blocks(picked),
            input_shapes=_shapes(database, picked["inputShapes"]),
            input_dtypes=_meaningful(database.texts(picked["inputDataTypes"])),
            input_formats=_meaningful(database.texts(picked["inputFormats"])),
            output_shapes=_shapes(database, picked["outputShapes"]),
            output_dtypes=_meaningful(database.texts(picked["outputDataTypes"])),
            output_formats=_meaningful(database.texts(picked["outputFormats"])),
        ),
        _other_tasks(database, host, tasks, rest),
    ]
    index = np.concatenate([computing, rest])
    of_tasks = concatenate(KERNEL, parts).replace(
        device_id=Nullable(tasks.device.values[index], tasks.device.valid[index]),
        stream=number_text(tasks.stream).take(index),
        ts_ns=tasks.ts[index],
        dur_ns=tasks.dur[index],
        **_launched(tasks.connection[index], host),
    )
    first = lookup(tasks.connection, ops.connection)
    there = (first >= 0) & (ops.connection >= 0)
    at = np.where(there, first, 0)
    streams = number_text(padded(tasks.stream)).take(at)
    device = padded(tasks.device)
    of_ops = conform(
        KERNEL,
        len(ops.connection),
        name=ops.ops.name,
        op_type=ops.ops.name.mapped(op_type_of),
        kind="communication",
        device_id=Nullable(
            np.where(ops.device.valid, ops.device.values, device.values[at]),
            ops.device.valid | (device.valid[at] & there),
        ),
        stream=Text(np.where(there, streams.codes, -1).astype(np.int32), streams.values),
        core_type="COMMUNICATION",
        ts_ns=ops.ops.ts,
        dur_ns=ops.ops.dur,
        **_launched(ops.connection, host),
    )
    kernels = concatenate(KERNEL, [of_tasks, of_ops])
    return kernels.replace(kernel_id=np.arange(len(kernels), dtype=np.int64)), index


def _other_tasks(database: Database, host: DatabaseHost, tasks: _Tasks, rest: Int64) -> Rows:
    kind = tasks.type.mapped(lambda name: task_kind(name, name)).take(rest)
    copies = database.read("MEMCPY_INFO", "globalTaskId", "size", "memcpyOperation")
    at = lookup(ids(copies["globalTaskId"]), tasks.id[rest]).tolist()
    sizes = [copies["size"][i] if i >= 0 else None for i in at]
    recorded = [COPY_DIRECTIONS.get(copies["memcpyOperation"][i]) if i >= 0 else None for i in at]
    calls = lookup_dict(host.call_of_connection, tasks.connection[rest])
    is_copy = kind.matches(["copy"])
    guessed = copy_directions(host.tables["host_call"], Nullable(calls.values, calls.valid & is_copy))
    return conform(
        KERNEL,
        len(rest),
        name=tasks.type.take(rest),
        kind=kind,
        copy_direction=either(Text.of(recorded), guessed),
        size_bytes=sqlite_integers(sizes),
    )


def _launched(connection: Int64, host: DatabaseHost) -> dict[str, Nullable]:
    return {
        "host_call_id": lookup_dict(host.call_of_connection, connection),
        "operator_id": lookup_dict(host.operator_of_connection, connection),
    }


def _comm_tasks(
    database: Database,
    tasks: _Tasks,
    ops: _Ops,
    details: dict[str, Sequence[Any]],
    plane_task: Int64,
    of_op: Int64,
    index: Int64,
) -> tuple[Rows, Text]:
    at = plane_task[index]
    rows = at.tolist()
    picked = {name: [column[i] if i >= 0 else None for i in rows] for name, column in details.items()}
    collective = lookup(ops.op_id, ids(picked["opId"]))
    collective = np.where(collective >= 0, collective, of_op[index])
    homeless = collective < 0
    if homeless.any():
        database.ledger.add(
            database.file, "task_without_operator", place="table COMMUNICATION_TASK_INFO", count=int(homeless.sum())
        )
    kept = np.flatnonzero(~homeless)
    transport = database.names("ENUM_HCCL_TRANSPORT_TYPE", picked["transportType"])
    link = database.names("ENUM_HCCL_LINK_TYPE", picked["linkType"])
    plane = number_text(known(picked["planeId"])).mapped(lambda number: f"Plane {number}")
    rows_ = conform(
        COMM_TASK,
        len(index),
        collective_id=collective,
        stream=either(plane, number_text(tasks.stream).take(index)),
        name=either(database.texts(picked["taskType"]), tasks.type.take(index)),
        ts_ns=tasks.ts[index],
        dur_ns=tasks.dur[index],
        size_bytes=sqlite_integers(picked["size"]),
        src_rank=ranks(sqlite_integers(picked["srcRank"])),
        dst_rank=ranks(sqlite_integers(picked["dstRank"])),
        transport=combined(transport, link, joined_transport),
    )
    return rows_.take(kept), plane.take(kept)


def _metrics(database: Database, task_ids: Int64) -> Rows:
    rows = database.read("TASK_PMU_INFO", "globalTaskId", "name", "value")
    kernel = lookup(task_ids, ids(rows["globalTaskId"]))
    value = sqlite_reals(rows["value"])
    usable = (kernel >= 0) & value.valid
    names = database.texts(rows["name"]).mapped(lambda name: _METRIC_NAMES.get(name, name))
    return conform(
        KERNEL_METRIC,
        int(usable.sum()),
        kernel_id=kernel[usable],
        metric=names.take(usable),
        value=value.values[usable],
    )


def _shapes(database: Database, ids: Sequence[Any]) -> Text:
    return _meaningful(database.texts(ids).mapped(lambda text: text.strip('"')))


def _meaningful(text: Text) -> Text:
    return text.mapped(lambda value: None if value in ("N/A", "") else value)


def _blocks(info: Mapping[str, Sequence[Any]]) -> Nullable:
    blocks = sqlite_integers(
        [new if new is not None else old for new, old in zip(info["blockNum"], info["blockDim"], strict=True)]
    )
    return positive(blocks)
