"""The exporter's own step trace, kept beside our figures: step_trace_time.csv or StepTraceTime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ascend_sn.formats.csv_columns import read_csv_columns
from ascend_sn.formats.sqlite_columns import Database
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, conform
from ascend_sn.model.tables import METRIC
from ascend_sn.model.units import decimal_text_to_int

__all__ = [
    "STEP_TRACE_COLUMNS",
    "STEP_TRACE_METRIC",
    "step_trace_from_csv",
    "step_trace_from_database",
    "step_trace_rows",
    "step_trace_value",
]

STEP_TRACE_METRIC: Final = "exporter.step_trace."
"""Prefix of the metric names; the rest is the exporter's column, the value is in nanoseconds."""

STEP_TRACE_COLUMNS: Final = {
    "computing": "Computing",
    "communication_not_overlapped": "Communication(Not Overlapped)",
    "overlapped": "Overlapped",
    "communication": "Communication",
    "free": "Free",
    "stage": "Stage",
    "bubble": "Bubble",
    "communication_not_overlapped_and_exclude_receive": "Communication(Not Overlapped and Exclude Receive)",
    "preparing": "Preparing",
}
"""The exporter's columns: name in the database, and in the CSV file."""

_LARGEST_NS = 1 << 53


def step_trace_from_csv(path: Path, file: str, ledger: Ledger) -> Rows | None:
    """Read step_trace_time.csv; the step is null where the cell is empty. None when the file is unusable."""
    table = read_csv_columns(path, file, ledger, required=("Computing",))
    if table is None:
        return None
    steps = table.numbers("Step") or [""] * len(table)
    devices = table.get("Device_id")
    rows: list[tuple[str, int | None, float]] = []
    bad = 0
    columns = {column: table.numbers(column) for column in STEP_TRACE_COLUMNS.values()}
    # Several devices of one process give several rows; the name then says which.
    named = devices if devices is not None and len(set(devices)) > 1 else None
    for i, step in enumerate(steps):
        suffix = "" if named is None else f"@{named[i].strip()}"
        for column, cells in columns.items():
            if cells is None:
                continue
            value = step_trace_value(cells[i])
            if value is None:
                bad += 1
            else:
                rows.append((STEP_TRACE_METRIC + column + suffix, decimal_text_to_int(step, 0), value))
    if bad:
        ledger.add(file, "unreadable_cell", count=bad)
    return step_trace_rows(rows)


def step_trace_from_database(database: Database) -> Rows | None:
    """Read StepTraceTime of analysis.db, whose values are microseconds. None when there is no row."""
    table = database.read("StepTraceTime", "step", *STEP_TRACE_COLUMNS)
    rows: list[tuple[str, int | None, float]] = []
    for i, step in enumerate(table["step"]):
        number = decimal_text_to_int(str(step), 0)
        for column, name in STEP_TRACE_COLUMNS.items():
            value: Any = table[column][i]
            if isinstance(value, int | float):
                rows.append((STEP_TRACE_METRIC + name, number, round(value * 1000.0, 0)))
    return step_trace_rows(rows) if rows else None


def step_trace_value(cell: str) -> float | None:
    """Return a cell of microseconds as nanoseconds; None when it holds no such number."""
    value = decimal_text_to_int(cell, 3)
    return None if value is None or not -_LARGEST_NS < value < _LARGEST_NS else float(value)


def step_trace_rows(rows: Sequence[tuple[str, int | None, float]]) -> Rows:
    """Return rows of `metric` out of name, step and value in nanoseconds."""
    return conform(
        METRIC,
        len(rows),
        name=[row[0] for row in rows],
        step=[row[1] for row in rows],
        value=[row[2] for row in rows],
    )
