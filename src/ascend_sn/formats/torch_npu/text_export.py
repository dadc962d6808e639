"""Read the text export of a run: trace_view.json and the CSV and JSON files beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.collectives import assemble_collectives
from ascend_sn.formats.torch_npu.communication_parts import parts_from_json, parts_from_tasks
from ascend_sn.formats.torch_npu.coverage import Delivery
from ascend_sn.formats.torch_npu.export import Export, first_device, highest_places, named_groups, own_places
from ascend_sn.formats.torch_npu.host_rows import launch_count, step_rows
from ascend_sn.formats.torch_npu.kernel_details import KernelDetails, read_kernel_details
from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.formats.torch_npu.links import group_members, link_rows, links_from_json
from ascend_sn.formats.torch_npu.operator_details import check_operator_details
from ascend_sn.formats.torch_npu.step_trace import step_trace_from_csv
from ascend_sn.formats.torch_npu.text_device import TraceDevice, device_without_trace, join_device
from ascend_sn.formats.torch_npu.text_memory import read_text_memory, unread_static_memory
from ascend_sn.formats.torch_npu.trace_device import read_counters, read_device_events
from ascend_sn.formats.torch_npu.trace_events import TraceEvents, read_trace_events
from ascend_sn.formats.torch_npu.trace_host import read_trace_host
from ascend_sn.formats.torch_npu.trace_processes import Threads, classify, read_threads
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Nullable, Rows, concatenate, conform
from ascend_sn.model.tables import BY_NAME, LINK, METRIC

__all__ = ["read_text_export"]

_HOST_TABLES = ("operator", "host_call", "step", "span", "stack", "flow", "counter")
_LOOKED_FOR = {
    "operator": "trace_view.json",
    "host_call": "trace_view.json",
    "kernel": "kernel_details.csv and trace_view.json",
    "kernel_metric": "kernel_details.csv",
    "collective": "kernel_details.csv and communication.json",
    "comm_task": "trace_view.json",
    "link": "communication_matrix.json",
    "memory_sample": "memory_record.csv and npu_module_mem.csv",
    "memory_event": "operator_memory.csv",
    "static_memory": "static_op_mem.csv",
    "counter": "trace_view.json",
    "step": "trace_view.json",
}


def read_text_export(source: Source, files: Mapping[str, Path], info: RunInfo, ledger: Ledger) -> Export:
    """Read the text files of a run; each that is absent or damaged leaves its tables empty, not the others.

    Args:
        source: What was opened.
        files: Path of each file by its usual name.
        info: What the run says about itself.
        ledger: Takes what could not be read.
    """

    def present(name: str) -> tuple[Path, str] | None:
        path = files.get(name)
        return None if path is None else (path, source.relative(path))

    if (found := present("operator_details.csv")) is not None:
        check_operator_details(*found, ledger)
    details = read_kernel_details(*found, ledger) if (found := present("kernel_details.csv")) else None
    trace = read_trace_events(*found, ledger) if (found := present("trace_view.json")) else None
    tables = {name: conform(BY_NAME[name], 0) for name in _HOST_TABLES}
    damaged: dict[str, str] = {}
    if details is None and "kernel_details.csv" in files:
        damaged["kernel"] = "kernel_details.csv could not be read"
    threads: Threads | None = None
    if trace is None:
        device = device_without_trace(details)
    else:
        file = source.relative(files["trace_view.json"])
        threads = read_threads(trace)
        classes = classify(trace, threads)
        host = read_trace_host(trace, classes, file, ledger)
        tasks, ops, planes, group = read_device_events(trace, classes, threads, host, file, ledger)
        tables |= {**host.tables, "counter": read_counters(trace, classes, file, ledger)}
        device = join_device(details, TraceDevice(trace, tasks, ops, planes, group), tables["host_call"])
        if trace.truncated:
            damaged |= _partial(trace, file, details, tables)
    if not len(tables["step"]) and details is not None:
        tables["step"] = _steps_of_kernels(details)
    parts = parts_from_json(*found, ledger) if (found := present("communication.json")) else []
    entries = links_from_json(*found, ledger) if (found := present("communication_matrix.json")) else []
    step_trace = step_trace_from_csv(*found, ledger) if (found := present("step_trace_time.csv")) else None
    comm_tasks = device.comm_tasks
    collectives, per_collective = assemble_collectives(
        device.ops,
        parts,
        parts_from_tasks(len(device.ops.ts), comm_tasks, device.plane),
        list(groups := named_groups(info)),
    )
    ranks = {key: members for key, (_, members) in groups.items()}
    tables |= {
        **read_text_memory(source, files, ledger),
        "kernel": device.kernels,
        "kernel_metric": device.metrics,
        "comm_task": comm_tasks,
        "collective": collectives,
        "link": concatenate(LINK, [per_collective, link_rows(entries, ranks)]),
        "comm_group_member": group_members(
            groups,
            highest_places(collectives, comm_tasks, entries),
            own_places(collectives, comm_tasks, entries),
            info.rank,
        ),
        "metric": step_trace if step_trace is not None else concatenate(METRIC, []),
    }
    damaged |= unread_static_memory(files, tables)
    return Export(
        read_from="text",
        tables=tables,
        delivery=Delivery(looked_for=_LOOKED_FOR, damaged=damaged, launches=launch_count(tables["host_call"])),
        pid=threads.python_pid if threads is not None else None,
        device_id=first_device(device.kernels),
    )


def _partial(trace: TraceEvents, file: str, details: KernelDetails | None, host: dict[str, Rows]) -> dict[str, str]:
    reason = f"partial: {file} ends early, {len(trace)} complete events were read"
    tables = ["operator", "host_call", "flow", "counter", "comm_task"]
    tables += [name for name in ("span", "stack") if len(host[name])]
    if details is None:
        tables.append("kernel")
    return dict.fromkeys(tables, reason)


def _steps_of_kernels(details: KernelDetails) -> Rows:
    """Steps out of the step number of each kernel, where no mark was read; only device windows are known."""
    known = details.step.valid
    numbers, at = np.unique(details.step.values[known], return_inverse=True)
    start = np.full(len(numbers), np.iinfo(np.int64).max, np.int64)
    end = np.zeros(len(numbers), np.int64)
    ts, dur = details.kernels.values("ts_ns")[known], details.kernels.values("dur_ns")[known]
    np.minimum.at(start, at, ts)
    np.maximum.at(end, at, ts + dur)
    # A window ends where the next one starts: kernels of neighbours may overlap.
    if len(numbers) > 1 and bool((np.diff(start) > 0).all()):
        end[:-1] = np.minimum(end[:-1], start[1:])
    valid = np.ones(len(numbers), np.bool_)
    return step_rows(Nullable(numbers, valid), start, end - start, origin="inferred")
