"""Memory of compiled graphs: static_op_mem.csv, which operator holds how much while which nodes run."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np

from ascend_sn.formats.csv_columns import CsvColumns, integer_cells, read_csv_columns, size_cells, text_cells
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Nullable, Rows, conform
from ascend_sn.model.tables import STATIC_MEMORY
from ascend_sn.model.units import BYTES_PER_KIB, BYTES_PER_MIB

__all__ = ["REQUIRED", "read_static_memory", "static_memory_rows"]

REQUIRED: Final = ("Op Name", "Node Index Start", "Node Index End")
_SIZES: Final = {"Size(KB)": BYTES_PER_KIB, "Size(MB)": BYTES_PER_MIB, "Size(B)": 1}
_TOTAL: Final = "TOTAL"
_TO_THE_END: Final = (1 << 32) - 1
"""Index of the last node that stands for the end of the graph."""


def read_static_memory(path: Path, file: str, ledger: Ledger) -> Rows | None:
    """Read static_op_mem.csv; None (with a ledger entry) where the file is of no use."""
    table = read_csv_columns(path, file, ledger, required=REQUIRED)
    return None if table is None else static_memory_rows(table, ledger)


def static_memory_rows(table: CsvColumns, ledger: Ledger) -> Rows:
    """Return the rows of `static_memory`; those without a size or a range of nodes go to the ledger.

    The row TOTAL states the memory of the whole graph; its range says nothing.
    """
    column = next((name for name in _SIZES if table.get(name) is not None), None)
    if column is None:
        ledger.add(table.file, "unknown_header", place="line 1", example="no column 'Size(KB)'")
        return conform(STATIC_MEMORY, 0)
    operators = text_cells(table.get("Op Name"))
    size = _natural(size_cells(table.get(column), _SIZES[column]), None)
    first = _natural(integer_cells(table.get("Node Index Start")), _TO_THE_END)
    last = _natural(integer_cells(table.get("Node Index End")), _TO_THE_END)
    assert operators is not None
    is_total = operators.matches([_TOTAL])
    required = {
        column: size,
        "Node Index Start": Nullable(first.values, first.valid | is_total),
        "Node Index End": Nullable(last.values, last.valid | is_total),
    }
    usable = table.without_unreadable(ledger, required)
    backwards = usable & ~is_total & (last.values < first.values)
    if backwards.any():
        row = int(np.flatnonzero(backwards)[0])
        example = f"Node Index End = {int(last.values[row])} before Node Index Start = {int(first.values[row])}"
        ledger.add(table.file, "unreadable_cell", place=table.place(row), count=int(backwards.sum()), example=example)
        usable &= ~backwards
    ends = last.valid & (last.values != _TO_THE_END) & ~is_total
    texts = {
        name: None if (cells := text_cells(table.get(header))) is None else cells.take(usable)
        for name, header in (("device", "Device_id"), ("model", "Model Name"), ("graph_id", "Graph ID"))
    }
    return conform(
        STATIC_MEMORY,
        int(usable.sum()),
        operator_name=operators.take(usable),
        first_node=Nullable(first.values[usable], (first.valid & ~is_total)[usable]),
        last_node=Nullable(last.values[usable], ends[usable]),
        size_bytes=size.values[usable],
        is_total=is_total[usable],
        **texts,
    )


def _natural(numbers: Nullable | None, highest: int | None) -> Nullable:
    assert numbers is not None
    fits = numbers.valid & (numbers.values >= 0)
    if highest is not None:
        fits &= numbers.values <= highest
    return Nullable(np.where(fits, numbers.values, 0), fits)
