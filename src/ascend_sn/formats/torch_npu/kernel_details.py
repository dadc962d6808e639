"""Read `kernel_details.csv`: one row per device kernel and one per communication operator."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import distinct
from ascend_sn.formats.csv_columns import (
    CsvColumns,
    float_cells,
    integer_cells,
    ns_cells,
    read_csv_columns,
    text_cells,
)
from ascend_sn.formats.torch_npu.groups import is_fused, op_type_of
from ascend_sn.formats.torch_npu.limits import positive, small
from ascend_sn.formats.torch_npu.text_columns import either
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import KERNEL, KERNEL_METRIC
from ascend_sn.model.times import possible_times

__all__ = ["COMMUNICATION_CORES", "KernelDetails", "kernel_details_of", "metric_name", "read_kernel_details"]

COMMUNICATION_CORES: Final = ("HCCL", "COMMUNICATION")

_NAME = ("Name", "Op Name")
_TYPE = ("Type", "OP Type")
_CORE = ("Accelerator Core", "Task Type")
_START = ("Start Time(us)", "Task Start Time(us)")
_DURATION = ("Duration(us)", "Task Duration(us)")
_WAIT = ("Wait Time(us)", "Task Wait Time(us)")
_METRIC = re.compile(
    r"^(aic|aiv|aicore|total|cube|memory|vec|mac|scalar|mte[123]|icache|l2|ub|main_mem|fixpipe|write|r[01])_"
)
_UNIT = re.compile(r"\(([^)]*)\)$")


class KernelDetails(msgspec.Struct, frozen=True, eq=False):
    """Kernel rows without ids of host calls, and what matches them to other files.

    Attributes:
        kernels: Rows of `kernel`, in file order; kinds are compute, fused and communication.
        metrics: Rows of `kernel_metric`.
        step: Step number that the exporter gave each row.
        task: Task id on the device, to match the trace.
        lost_count: Rows of the file that could not be read.
    """

    kernels: Rows
    metrics: Rows
    step: Nullable
    task: Nullable
    lost_count: int = 0


def read_kernel_details(path: Path, file: str, ledger: Ledger) -> KernelDetails | None:
    """Read the file; None (with a ledger entry) when nothing in it is usable."""
    table = read_csv_columns(path, file, ledger)
    return None if table is None else kernel_details_of(table, ledger)


def kernel_details_of(table: CsvColumns, ledger: Ledger) -> KernelDetails | None:
    """Return the rows of a table with such columns; None (with a ledger entry) when nothing in it is usable."""
    file = table.file
    start, duration = table.times(ledger, *_START), ns_cells(table.get(*_DURATION))
    if table.get(*_NAME) is None or start is None or duration is None:
        ledger.add(file, "unknown_header", place="line 1", example=", ".join(table.columns))
        return None
    usable = table.without_unreadable(ledger, {table.name_of(*_START): start, table.name_of(*_DURATION): duration})
    impossible = usable & ~possible_times(start.values, duration.values)
    if impossible.any():
        first = int(np.flatnonzero(impossible)[0])
        ledger.add(file, "impossible_time", place=table.place(first), count=int(impossible.sum()))
        usable &= ~impossible
    table = table.only(usable)
    kernels = _kernels(table, start.values[usable], duration.values[usable])
    length = len(table)
    return KernelDetails(
        kernels=kernels,
        metrics=_metrics(table, kernels),
        step=integer_cells(table.get("Step Id")) or _unknown(length),
        task=integer_cells(table.get("Task ID")) or _unknown(length),
        lost_count=table.lost_count + int((~usable).sum()),
    )


def metric_name(column: str) -> tuple[str, float]:
    """Return our name of a hardware column and the factor to our unit (times ns, percent to a ratio)."""
    unit = _UNIT.search(column)
    name = column if unit is None else column[: unit.start()]
    if unit is None:
        return name, 1.0
    return name, {"us": 1000.0, "%": 0.01}.get(unit[1], 1.0)


def _kernels(table: CsvColumns, start: Int64, duration: Int64) -> Rows:
    core = text_cells(table.get(*_CORE))
    name = text_cells(table.get(*_NAME), absent=())
    length = len(table)
    op_type = text_cells(table.get(*_TYPE)) or Text.constant(None, length)
    kind = _kinds(name, op_type, core, length)
    return conform(
        KERNEL,
        length,
        kernel_id=np.arange(length, dtype=np.int64),
        device_id=_device(table),
        stream=text_cells(table.get("Stream ID")),
        name=name,
        op_type=_typed(op_type, name, kind),
        kind=kind,
        core_type=None if core is None else core.mapped(_core),
        op_state=text_cells(table.get("OP State")),
        ts_ns=start,
        dur_ns=duration,
        wait_ns=ns_cells(table.get(*_WAIT)),
        block_count=_blocks(table),
        input_shapes=text_cells(table.get("Input Shapes")),
        input_dtypes=text_cells(table.get("Input Data Types")),
        input_formats=text_cells(table.get("Input Formats")),
        output_shapes=text_cells(table.get("Output Shapes")),
        output_dtypes=text_cells(table.get("Output Data Types")),
        output_formats=text_cells(table.get("Output Formats")),
    )


def _core(word: str) -> str:
    """Older exporters call the communication engine HCCL."""
    return "COMMUNICATION" if word in COMMUNICATION_CORES else word


def _typed(op_type: Text, name: Text | None, kind: Text) -> Text:
    """Level0 leaves the type out; that of a communication operator is the front of its name."""
    untyped = (op_type.codes < 0) & kind.matches(["communication"])
    if name is None or not untyped.any():
        return op_type
    fronts = name.mapped(op_type_of)
    return either(op_type, Text(np.where(untyped, fronts.codes, -1).astype(np.int32), fronts.values))


def _kinds(name: Text | None, op_type: Text, core: Text | None, length: int) -> Text:
    codes = np.zeros(length, np.int32)
    fused = op_type.where(is_fused)
    if name is not None:
        fused |= (op_type.codes < 0) & name.where(is_fused)
    communication = np.zeros(length, np.bool_) if core is None else core.matches(COMMUNICATION_CORES)
    if name is not None:
        # Old exporters leave the core out: communication rows are then told by their name.
        unknown = np.ones(length, np.bool_) if core is None else core.codes < 0
        communication |= unknown & name.where(lambda text: text.startswith("hcom_"))
        listed = {text.removesuffix("Aicpu") for text in _distinct(name, communication) if text.endswith("Aicpu")}
        fused |= name.matches(listed)
    codes[fused] = 1
    codes[communication] = 2
    return Text(codes, ["compute", "fused", "communication"])


def _distinct(text: Text, mask: npt.NDArray[np.bool_]) -> list[str]:
    return [text.values[code] for code in distinct(text.codes[mask]).tolist() if code >= 0]


def _device(table: CsvColumns) -> Nullable | None:
    device = integer_cells(table.get("Device_id"))
    if device is None:
        return None
    return small(device)


def _blocks(table: CsvColumns) -> Nullable | None:
    blocks = integer_cells(table.get("Block Num", "Block Dim"))
    if blocks is None:
        return None
    return positive(blocks)


def _metrics(table: CsvColumns, kernels: Rows) -> Rows:
    parts = []
    for column in table.columns:
        if not _METRIC.match(column):
            continue
        name, factor = metric_name(column)
        cells = float_cells(table.columns[column], factor)
        if cells is None or not cells.valid.any():
            continue
        parts.append(
            conform(
                KERNEL_METRIC,
                kernel_id=kernels.values("kernel_id")[cells.valid],
                metric=name,
                value=cells.values[cells.valid],
            )
        )
    return concatenate(KERNEL_METRIC, parts)


def _unknown(length: int) -> Nullable:
    return Nullable(np.zeros(length, np.int64), np.zeros(length, np.bool_))
