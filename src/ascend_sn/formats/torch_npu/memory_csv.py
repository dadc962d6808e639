"""Memory of the text export: curves of components and modules, allocations of operators."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ascend_sn.formats.csv_columns import (
    Cells,
    CsvColumns,
    read_csv_columns,
    size_cells,
    text_cells,
)
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.memory_parts import MODULE_PREFIX
from ascend_sn.model.rows import Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import MEMORY_EVENT, MEMORY_SAMPLE
from ascend_sn.model.units import BYTES_PER_KIB, BYTES_PER_MIB

__all__ = [
    "allocation_events",
    "memory_record_rows",
    "module_memory_rows",
    "operator_memory_rows",
    "read_memory_record",
    "read_module_memory",
    "read_operator_memory",
]

_TIME = "Timestamp(us)"


def read_memory_record(path: Path, file: str, ledger: Ledger) -> Rows | None:
    """Read memory_record.csv: allocator (PTA), GE, their sum, WORKSPACE, and the process (APP)."""
    table = read_csv_columns(path, file, ledger, required=("Component", _TIME))
    return None if table is None else memory_record_rows(table, ledger)


def read_module_memory(path: Path, file: str, ledger: Ledger) -> Rows | None:
    """Read npu_module_mem.csv; a negative size (only frees were seen) is null."""
    table = read_csv_columns(path, file, ledger, required=("Component", _TIME))
    return None if table is None else module_memory_rows(table, ledger)


def read_operator_memory(path: Path, file: str, ledger: Ledger) -> Rows | None:
    """Read operator_memory.csv: an alloc and, where it was released in the window, a free row per allocation."""
    table = read_csv_columns(path, file, ledger, required=("Name", "Size(KB)", "Allocation Time(us)"))
    return None if table is None else operator_memory_rows(table, ledger)


def memory_record_rows(table: CsvColumns, ledger: Ledger) -> Rows:
    """Return the rows of `memory_sample` out of the columns of memory_record.csv."""
    table, ts = _timed(table, ledger)
    return conform(
        MEMORY_SAMPLE,
        len(table),
        ts_ns=ts.values,
        component=text_cells(table.get("Component")),
        allocated_bytes=_sizes(table, "Total Allocated"),
        reserved_bytes=_sizes(table, "Total Reserved"),
        active_bytes=_sizes(table, "Total Active"),
    )


def module_memory_rows(table: CsvColumns, ledger: Ledger) -> Rows:
    """Return the rows of `memory_sample` out of the columns of npu_module_mem.csv."""
    table, ts = _timed(table, ledger)
    reserved = _sizes(table, "Total Reserved")
    if reserved is not None:
        reserved = Nullable(reserved.values, reserved.valid & (reserved.values >= 0))
    component = text_cells(table.get("Component"))
    return conform(
        MEMORY_SAMPLE,
        len(table),
        ts_ns=ts.values,
        component=None if component is None else component.mapped(lambda name: MODULE_PREFIX + name),
        reserved_bytes=reserved,
    )


def operator_memory_rows(table: CsvColumns, ledger: Ledger) -> Rows:
    """Return the rows of `memory_event` out of the columns of operator_memory.csv."""
    size = size_cells(table.get("Size(KB)"), BYTES_PER_KIB)
    usable = table.without_unreadable(ledger, {"Size(KB)": size or _nothing(len(table))})
    table = table.only(usable)
    size = size_cells(table.get("Size(KB)"), BYTES_PER_KIB)
    nothing = _nothing(len(table))
    return allocation_events(
        name=text_cells(table.get("Name")) or Text.constant(None, len(table)),
        size=size or nothing,
        allocated_at=table.times(ledger, "Allocation Time(us)") or nothing,
        released_at=table.times(ledger, "Release Time(us)") or nothing,
        after_allocation=_totals(table, "Allocation"),
        after_release=_totals(table, "Release"),
        stream=text_cells(table.get("Stream Ptr")),
        device=text_cells(table.get("Device Type")),
    )


def allocation_events(
    *,
    name: Text,
    size: Nullable,
    allocated_at: Nullable,
    released_at: Nullable,
    after_allocation: dict[str, Nullable | None],
    after_release: dict[str, Nullable | None],
    stream: Text | None,
    device: Text | None,
) -> Rows:
    """Return rows of `memory_event`, allocations and frees, in time order.

    The source has no addresses: `row:<n>` of the allocation stands for one, so that a free finds its
    allocation. A size that is negative belongs to a block allocated before the window.
    """
    bytes_ = np.abs(size.values)
    address = Text(np.arange(len(name), dtype=np.int32), [f"row:{i}" for i in range(len(name))])
    parts = []
    for kind, at, totals in (("alloc", allocated_at, after_allocation), ("free", released_at, after_release)):
        there = at.valid
        parts.append(
            conform(
                MEMORY_EVENT,
                int(there.sum()),
                ts_ns=at.values[there],
                kind=kind,
                size_bytes=bytes_[there],
                address=address.take(there),
                device=None if device is None else device.take(there),
                stream=None if stream is None else stream.take(there),
                operator_name=name.take(there),
                **{
                    column: None if values is None else Nullable(values.values[there], values.valid[there])
                    for column, values in totals.items()
                },
            )
        )
    rows = concatenate(MEMORY_EVENT, parts)
    return rows.take(np.argsort(rows.values("ts_ns"), kind="stable"))


def _timed(table: CsvColumns, ledger: Ledger) -> tuple[CsvColumns, Nullable]:
    ts = table.times(ledger, _TIME) or _nothing(len(table))
    component = text_cells(table.get("Component")) or Text.constant(None, len(table))
    named = Nullable(component.codes.astype(np.int64), component.codes >= 0)
    usable = table.without_unreadable(ledger, {_TIME: ts, "Component": named})
    return table.only(usable), Nullable(ts.values[usable], ts.valid[usable])


def _totals(table: CsvColumns, when: str) -> dict[str, Nullable | None]:
    return {
        f"{kind.lower()}_bytes": _sizes(table, f"{when} Total {kind}") for kind in ("Allocated", "Reserved", "Active")
    }


def _sizes(table: CsvColumns, name: str) -> Nullable | None:
    """Memory files of torch_npu are in MB of 2**20, those of msprof in KB."""
    in_mib: Cells | None = table.get(f"{name}(MB)")
    if in_mib is not None:
        return size_cells(in_mib, BYTES_PER_MIB)
    return size_cells(table.get(f"{name}(KB)"), BYTES_PER_KIB)


def _nothing(length: int) -> Nullable:
    return Nullable(np.zeros(length, np.int64), np.zeros(length, np.bool_))
