"""Iterations, memory and statistics of an msprof export, device by device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn.formats.csv_columns import (
    Cells,
    CsvColumns,
    integer_cells,
    ns_cells,
    read_csv_columns,
    size_cells,
    text_cells,
)
from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.host_rows import step_rows
from ascend_sn.formats.torch_npu.memory_csv import memory_record_rows, module_memory_rows, operator_memory_rows
from ascend_sn.formats.torch_npu.static_memory import REQUIRED as STATIC_REQUIRED, static_memory_rows
from ascend_sn.formats.torch_npu.step_trace import STEP_TRACE_METRIC
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import COUNTER, MEMORY_EVENT, MEMORY_SAMPLE, METRIC, STATIC_MEMORY, STEP
from ascend_sn.model.times import possible_times
from ascend_sn.model.units import BYTES_PER_KIB

__all__ = ["STATISTIC_METRIC", "OtherFiles", "read_iterations", "read_memory", "read_statistics"]

STATISTIC_METRIC: Final = "exporter."
"""Prefix of figures that the exporter summed up; behind it the file, the name, and total or count."""

_PARTS_OF_ITERATION: Final = ("FP to BP Time", "Iteration Refresh", "Data Aug Bound")
_STATISTICS: Final = {
    "op_statistic": (("OP Type",), "Total Time(us)"),
    "communication_statistic": (("OP Type",), "Total Time(us)"),
    "api_statistic": (("Level", "API Name"), "Time(us)"),
}
_REQUIRED: Final = {
    "memory_record": ("Component", "Timestamp(us)"),
    "npu_module_mem": ("Component", "Timestamp(us)"),
    "operator_memory": ("Name", "Size(KB)", "Allocation Time(us)"),
    "static_op_mem": STATIC_REQUIRED,
    "npu_mem": ("event", "timestamp(us)"),
    "step_trace": ("Iteration ID", "Iteration End(us)", "Iteration Time(us)"),
    "op_statistic": ("OP Type", "Total Time(us)"),
    "communication_statistic": ("OP Type", "Total Time(us)"),
    "api_statistic": ("API Name", "Time(us)"),
}


class OtherFiles:
    """The CSV files, each read once; `device` tells one device's rows of them."""

    def __init__(self, source: Source, files: Mapping[str, Sequence[Path]], ledger: Ledger) -> None:
        self.ledger = ledger
        self._tables = {
            kind: [
                table
                for path in files[kind]
                if (table := read_csv_columns(path, source.relative(path), ledger, required)) is not None
            ]
            for kind, required in _REQUIRED.items()
            if kind in files
        }

    @property
    def devices(self) -> set[int]:
        """Devices that the files name."""
        found: set[int] = set()
        for table in (table for tables in self._tables.values() for table in tables):
            device = integer_cells(table.get("Device_id"))
            if device is not None:
                found |= set(device.values[device.valid].tolist())
        return {device for device in found if 0 <= device < 1 << 31}

    def of_device(self, kind: str, device: int | None) -> Iterator[CsvColumns]:
        """Yield the tables of a kind with the rows of one device; rows without a device belong to each."""
        for table in self._tables.get(kind, ()):
            column = integer_cells(table.get("Device_id"))
            if device is None or column is None:
                yield table
            else:
                yield table.only(~column.valid | (column.values == device))

    def rows(self, kind: str, device: int | None, read: Callable[[CsvColumns, Ledger], Rows]) -> list[Rows]:
        """Return the rows that `read` makes of each table."""
        return [read(table, self.ledger) for table in self.of_device(kind, device)]


def read_memory(files: OtherFiles, device: int | None, *, with_counters: bool) -> dict[str, Rows]:
    """Return memory_sample, memory_event, static_memory and, where the trace lacks them, counters of device memory."""
    samples = [
        *files.rows("npu_mem", device, _process_memory),
        *files.rows("memory_record", device, memory_record_rows),
        *files.rows("npu_module_mem", device, module_memory_rows),
    ]
    tables = {
        "memory_sample": concatenate(MEMORY_SAMPLE, samples),
        "memory_event": concatenate(MEMORY_EVENT, files.rows("operator_memory", device, operator_memory_rows)),
        "static_memory": concatenate(STATIC_MEMORY, files.rows("static_op_mem", device, static_memory_rows)),
    }
    if with_counters:
        tables["counter"] = concatenate(COUNTER, files.rows("npu_mem", device, _memory_counters))
    return tables


def read_iterations(files: OtherFiles, device: int | None) -> tuple[Rows, Rows]:
    """Return `step` and `metric` out of step_trace, which graph mode alone writes.

    Models iterate on their own; the iterations of the model that has most of them are the steps.
    """
    tables = [_of_busiest_model(table) for table in files.of_device("step_trace", device)]
    steps, metrics = [], []
    for table in tables:
        number = integer_cells(table.get("Iteration ID")) or _nothing(len(table))
        end = ns_cells(table.get("Iteration End(us)")) or _nothing(len(table))
        length = ns_cells(table.get("Iteration Time(us)")) or _nothing(len(table))
        usable = number.valid & end.valid & length.valid
        usable &= possible_times(end.values - length.values, length.values)
        if not usable.all():
            first = int(np.flatnonzero(~usable)[0])
            files.ledger.add(table.file, "unreadable_cell", place=table.place(first), count=int((~usable).sum()))
        steps.append(
            conform(
                STEP,
                int(usable.sum()),
                step=number.values[usable],
                ts_ns=(end.values - length.values)[usable],
                dur_ns=length.values[usable],
            )
        )
        metrics += [rows for name in _PARTS_OF_ITERATION if (rows := _iteration_part(table, name, number)) is not None]
    joined = concatenate(STEP, steps)
    numbers = Nullable(joined.values("step"), joined.valid("step"))
    rows = step_rows(numbers, joined.values("ts_ns"), joined.values("dur_ns"))
    return rows, concatenate(METRIC, metrics)


def read_statistics(files: OtherFiles, device: int | None, kinds: Sequence[str]) -> Rows:
    """Return the exporter's sums as rows of `metric`: totals in nanoseconds, and counts."""
    parts = []
    for kind in kinds:
        names, total = _STATISTICS[kind]
        for table in files.of_device(kind, None if kind == "api_statistic" else device):
            labels = [cells for name in names if (cells := table.get(name)) is not None]
            joined = [".".join(cell.strip() for cell in row) for row in zip(*labels, strict=True)]
            for what, values in (("total", ns_cells(table.get(total))), ("count", integer_cells(table.get("Count")))):
                if values is not None:
                    name = Text.of(f"{STATISTIC_METRIC}{kind}.{label}.{what}" for label in joined)
                    parts.append(_metric(name.take(values.valid), values, None))
    return concatenate(METRIC, parts)


def _of_busiest_model(table: CsvColumns) -> CsvColumns:
    model = integer_cells(table.get("Model ID"))
    if model is None or not model.valid.any():
        return table
    numbers, counts = np.unique(model.values[model.valid], return_counts=True)
    return table.only(model.valid & (model.values == numbers[counts.argmax()]))


def _iteration_part(table: CsvColumns, name: str, number: Nullable) -> Rows | None:
    values = ns_cells(table.get(f"{name}(us)"))
    if values is None or not values.valid.any():
        return None
    return _metric(Text.constant(STEP_TRACE_METRIC + name, int(values.valid.sum())), values, number)


def _metric(name: Text, values: Nullable, step: Nullable | None) -> Rows:
    there = values.valid
    return conform(
        METRIC,
        int(there.sum()),
        name=name,
        step=None if step is None else Nullable(step.values[there], step.valid[there]),
        value=values.values[there].astype(np.float64),
    )


def _process_memory(table: CsvColumns, ledger: Ledger) -> Rows:
    """The process's own rows (APP); the rest of the device's memory is not the run's."""
    ts = ns_cells(table.get("timestamp(us)")) or _nothing(len(table))
    events = text_cells(table.get("event")) or Text.constant(None, len(table))
    usable = table.without_unreadable(ledger, {"timestamp(us)": ts}) & events.matches(["APP", "app"])
    sizes = _kib(table.get("memory(KB)"))
    return conform(
        MEMORY_SAMPLE,
        int(usable.sum()),
        ts_ns=ts.values[usable],
        component="APP",
        reserved_bytes=None if sizes is None else Nullable(sizes.values[usable], sizes.valid[usable]),
    )


def _memory_counters(table: CsvColumns, ledger: Ledger) -> Rows:
    ts = ns_cells(table.get("timestamp(us)")) or _nothing(len(table))
    events = text_cells(table.get("event")) or Text.constant(None, len(table))
    parts = []
    for column, label in (("ddr(KB)", "DDR"), ("hbm(KB)", "HBM"), ("memory(KB)", "Memory")):
        sizes = _kib(table.get(column))
        if sizes is None:
            continue
        there: npt.NDArray[np.bool_] = ts.valid & sizes.valid
        names = events.take(there).mapped(lambda event, label=label: f"{event}/{label}")
        parts.append(
            conform(
                COUNTER,
                int(there.sum()),
                name=names,
                unit="bytes",
                ts_ns=ts.values[there],
                value=sizes.values[there].astype(np.float64),
            )
        )
    return concatenate(COUNTER, parts)


def _kib(cells: Cells | None) -> Nullable | None:
    sizes = size_cells(cells, BYTES_PER_KIB)
    return None if sizes is None else Nullable(sizes.values, sizes.valid & (sizes.values >= 0))


def _nothing(length: int) -> Nullable:
    return Nullable(np.zeros(length, np.int64), np.zeros(length, np.bool_))
