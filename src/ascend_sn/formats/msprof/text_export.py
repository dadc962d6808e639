"""Read the text export of a `PROF_*` folder: one export per device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from ascend_sn.formats.msprof.devices import chosen_details, chosen_events, divided_calls
from ascend_sn.formats.msprof.layout import ProfFiles
from ascend_sn.formats.msprof.other_csv import OtherFiles, read_iterations, read_memory, read_statistics
from ascend_sn.formats.msprof.tasks_csv import read_op_summary, read_task_time, with_other_tasks
from ascend_sn.formats.msprof.trace_slices import read_trace_slices
from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.collectives import assemble_collectives
from ascend_sn.formats.torch_npu.communication_parts import OpParts, parts_from_json, parts_from_tasks
from ascend_sn.formats.torch_npu.coverage import Delivery
from ascend_sn.formats.torch_npu.export import Export, highest_places, own_places
from ascend_sn.formats.torch_npu.host_rows import launch_count
from ascend_sn.formats.torch_npu.kernel_details import KernelDetails
from ascend_sn.formats.torch_npu.links import LinkEntry, group_members, link_rows, links_from_json
from ascend_sn.formats.torch_npu.text_device import TextDevice, TraceDevice, device_without_trace, join_device
from ascend_sn.formats.torch_npu.trace_device import read_counters, read_device_events
from ascend_sn.formats.torch_npu.trace_events import TraceEvents
from ascend_sn.formats.torch_npu.trace_host import read_trace_host
from ascend_sn.formats.torch_npu.trace_processes import EventClasses, Threads, classify, read_threads
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Nullable, Rows, concatenate, conform
from ascend_sn.model.tables import BY_NAME, LINK, METRIC

__all__ = ["read_text_export"]

_HOST_TABLES: Final = ("operator", "host_call", "span", "stack", "flow")
_LOOKED_FOR: Final = {
    "host_call": "msprof_*.json",
    "kernel": "op_summary, task_time and msprof_*.json",
    "kernel_metric": "op_summary",
    "collective": "op_summary, msprof_*.json and analyze/communication.json",
    "comm_task": "msprof_*.json",
    "link": "analyze/communication_matrix.json",
    "memory_sample": "memory_record, npu_mem and npu_module_mem",
    "memory_event": "operator_memory",
    "static_memory": "static_op_mem",
    "counter": "msprof_*.json and npu_mem",
    "span": "msprof_*.json",
}


@dataclass(frozen=True)
class _Trace:
    """The trace and what was made of it once for all devices."""

    events: TraceEvents
    classes: EventClasses
    threads: Threads
    device: TraceDevice
    host: Mapping[str, Rows]
    file: str


@dataclass(frozen=True)
class _Recorded:
    """What the exporter's own analysis recorded of collectives."""

    parts: Sequence[OpParts]
    links: Sequence[LinkEntry]


def read_text_export(source: Source, files: ProfFiles, ledger: Ledger) -> list[Export]:
    """Return one export per device, in order of the device ids; one without an id where none is named."""
    details = read_op_summary(source, files.text.get("op_summary", ()), ledger)
    trace = _read_trace(source, files, ledger)
    if trace is None:
        details = with_other_tasks(details, read_task_time(source, files.text.get("task_time", ()), ledger))
    other = OtherFiles(source, files.text, ledger)
    recorded = _read_recorded(source, files, ledger)
    devices = _devices(details, trace, other)
    alone = len(devices) < 2
    built = [
        _device_tables(details, trace, other, recorded, None if alone else device, number, ledger)
        for number, device in enumerate(devices or [None])
    ]
    host = trace.host if trace is not None else {name: conform(BY_NAME[name], 0) for name in _HOST_TABLES}
    calls = divided_calls(host["host_call"], [tables["kernel"] for tables in built])
    exports = []
    for number, (tables, (own_calls, kernels)) in enumerate(zip(built, calls, strict=True)):
        tables |= {name: host[name] if number == 0 else conform(BY_NAME[name], 0) for name in _HOST_TABLES}
        tables |= {"host_call": own_calls, "kernel": kernels}
        damaged = _damaged(details, trace, files, tables)
        delivery = Delivery(looked_for=_LOOKED_FOR, damaged=damaged, launches=launch_count(own_calls))
        device = devices[number] if devices else None
        with_sums = _with_statistics(tables, other, None if alone else device)
        exports.append(Export("text", with_sums, delivery, device_id=device))
    return exports


def _read_trace(source: Source, files: ProfFiles, ledger: Ledger) -> _Trace | None:
    paths = files.text.get("msprof", [])
    events = read_trace_slices(source, paths, ledger)
    if events is None:
        return None
    file = source.relative(paths[0])
    threads = read_threads(events)
    classes = classify(events, threads)
    host = read_trace_host(events, classes, file, ledger)
    tasks, ops, planes, group = read_device_events(events, classes, threads, host, file, ledger)
    return _Trace(events, classes, threads, TraceDevice(events, tasks, ops, planes, group), host.tables, file)


def _read_recorded(source: Source, files: ProfFiles, ledger: Ledger) -> _Recorded:
    parts, matrix = files.analyze / "communication.json", files.analyze / "communication_matrix.json"
    return _Recorded(
        parts_from_json(parts, source.relative(parts), ledger) if parts.is_file() else [],
        links_from_json(matrix, source.relative(matrix), ledger) if matrix.is_file() else [],
    )


def _devices(details: KernelDetails | None, trace: _Trace | None, other: OtherFiles) -> list[int]:
    """Devices that did something; those that only the memory files name count where there is no other."""
    found: set[int] = set()
    if details is not None:
        found |= set(details.kernels.values("device_id")[details.kernels.valid("device_id")].tolist())
    if trace is not None:
        for events in (trace.device.tasks, trace.device.ops):
            found |= set(events.device.values[events.device.valid].tolist())
    return sorted(found or other.devices)


def _device_tables(
    details: KernelDetails | None,
    trace: _Trace | None,
    other: OtherFiles,
    recorded: _Recorded,
    device: int | None,
    number: int,
    ledger: Ledger,
) -> dict[str, Rows]:
    """Return the device's tables, host calls still in the numbering of the process."""
    if details is not None and device is not None:
        details = chosen_details(details, _mine(details.kernels, device, first=number == 0))
    if trace is None:
        found = device_without_trace(details)
        counters = conform(BY_NAME["counter"], 0)
    else:
        own = trace.device if device is None else _trace_of(trace.device, device, first=number == 0)
        found = join_device(details, own, trace.host["host_call"])
        counters = read_counters(trace.events, _counters_of(trace, device), trace.file, ledger)
    steps, metrics = read_iterations(other, device)
    memory = read_memory(other, device, with_counters=not len(counters))
    return {
        "counter": counters,
        **memory,
        **_communication(found, recorded, alone=device is None, first=number == 0),
        "kernel": found.kernels,
        "kernel_metric": found.metrics,
        "comm_task": found.comm_tasks,
        "step": steps,
        "metric": metrics,
    }


def _mine(kernels: Rows, device: int, *, first: bool) -> Int64:
    valid = kernels.valid("device_id")
    return np.flatnonzero((valid & (kernels.values("device_id") == device)) | (~valid & first))


def _trace_of(trace: TraceDevice, device: int, *, first: bool) -> TraceDevice:
    def index(column: Nullable) -> Int64:
        return np.flatnonzero((column.valid & (column.values == device)) | (~column.valid & first))

    ops = index(trace.ops.device)
    return TraceDevice(
        trace.events,
        chosen_events(trace.tasks, index(trace.tasks.device)),
        chosen_events(trace.ops, ops),
        chosen_events(trace.planes, index(trace.planes.device)),
        trace.group.take(ops),
    )


def _counters_of(trace: _Trace, device: int | None) -> EventClasses:
    if device is None:
        return trace.classes
    pids = [pid for pid, number in trace.threads.device.items() if number == device]
    index = trace.classes.counters
    return replace(trace.classes, counters=index[np.isin(trace.events.pid[index], pids)])


def _communication(found: TextDevice, recorded: _Recorded, *, alone: bool, first: bool) -> dict[str, Rows]:
    """Collectives, links and groups; what no operator of the device matches goes to the first one only."""
    tasks = found.comm_tasks
    names = set(found.ops.name.decode())
    parts = recorded.parts if alone else [part for part in recorded.parts if part.name in names]
    links = recorded.links if first else ()
    collectives, per_collective = assemble_collectives(
        found.ops,
        parts,
        parts_from_tasks(len(found.ops.ts), tasks, found.plane),
        [],
    )
    highest, own = highest_places(collectives, tasks, links), own_places(collectives, tasks, links)
    return {
        "collective": collectives,
        "link": concatenate(LINK, [per_collective, link_rows(links, {})]),
        "comm_group_member": group_members({}, highest, own, None),
    }


def _damaged(
    details: KernelDetails | None, trace: _Trace | None, files: ProfFiles, tables: Mapping[str, Rows]
) -> dict[str, str]:
    damaged: dict[str, str] = {}
    if details is None and "op_summary" in files.text and not len(tables["kernel"]):
        damaged["kernel"] = "op_summary could not be read"
    if "static_op_mem" in files.text and not len(tables["static_memory"]):
        damaged["static_memory"] = "no row of static_op_mem could be read"
    if trace is not None and trace.events.truncated:
        reason = f"partial: {trace.file} ends early, {len(trace.events)} complete events were read"
        damaged |= dict.fromkeys(("host_call", "counter", "comm_task"), reason)
        if details is None:
            damaged["kernel"] = reason
    return damaged


def _with_statistics(tables: dict[str, Rows], other: OtherFiles, device: int | None) -> dict[str, Rows]:
    """Sums of the exporter stand in where the rows that they sum are not there."""
    absent = [
        kind
        for kind, table in (
            ("op_statistic", "kernel"),
            ("communication_statistic", "collective"),
            ("api_statistic", "host_call"),
        )
        if not len(tables[table])
    ]
    return tables | {"metric": concatenate(METRIC, [tables["metric"], read_statistics(other, device, absent)])}
