"""Figures of MindSpore's input pipeline, kept as rows of `metric`."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ascend_sn.formats.csv_columns import integer_cells, ns_cells, read_csv_columns
from ascend_sn.formats.json_text import json_object
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, conform
from ascend_sn.model.tables import METRIC
from ascend_sn.model.units import NS_PER_MS

__all__ = ["read_dataset", "read_pipeline_summary"]

DATASET_METRIC: Final = "dataset."
PIPELINE_METRIC: Final = "minddata."

_NAMES: Final = ("pipeline_ops", "op_names")
_OF_OPERATORS: Final = {
    "num_workers": ("workers", 1.0),
    "queue_average_size": ("queue_average_size", 1.0),
    "queue_utilization_pct": ("queue_utilization_ratio", 0.01),
    "queue_empty_freq_pct": ("queue_empty_ratio", 0.01),
    "avg_cpu_pct": ("cpu_ratio", 0.01),
    "avg_cpu_pct_per_worker": ("cpu_ratio_per_worker", 0.01),
}
_NOTHING: Final = (None, "", "-", "N/A")
_OF_PIPELINE: Final = ("per_batch_time", "per_pipeline_time", "per_push_queue_time")
_NOT_RECORDED: Final = -1


def read_dataset(path: Path, file: str, ledger: Ledger) -> Rows | None:
    """Read dataset.csv: mean length (nanoseconds) and count of each stage of each operation."""
    table = read_csv_columns(path, file, ledger, required=("Operation", "Stage"))
    if table is None:
        return None
    labels = [
        f"{DATASET_METRIC}{operation.strip()}.{stage.strip()}"
        for operation, stage in zip(table.get("Operation") or (), table.get("Stage") or (), strict=True)
    ]
    rows: list[tuple[str, float]] = []
    for what, cells in (
        ("mean", ns_cells(table.get("Avg. time(us)"))),
        ("count", integer_cells(table.get("Occurrences"))),
    ):
        if cells is not None:
            known = zip(labels, cells.values.tolist(), cells.valid.tolist(), strict=True)
            rows += [(f"{label}.{what}", float(value)) for label, value, ok in known if ok]
    return _metrics(rows)


def read_pipeline_summary(path: Path, file: str, ledger: Ledger) -> tuple[Rows, dict[str, str]]:
    """Read the summary of the input pipeline.

    Returns:
        Rows of `metric`: queue and processor use of each operation (ratios), and times of the whole pipeline
        (nanoseconds); and what the exporter itself says about a bottleneck, in its words.
    """
    summary = json_object(path, file, ledger) if path.suffix == ".json" else _csv(path, file, ledger)
    rows: list[tuple[str, float]] = []
    names = next((_list(summary[key]) for key in _NAMES if key in summary), [])
    for key, (what, factor) in _OF_OPERATORS.items():
        values = _list(summary.get(key))
        if len(values) > len(names):
            ledger.add(file, "unreadable_entry", example=f"{key}: {len(values)} values for {len(names)} operations")
            continue
        unreadable = [value for value in values if _number(value) is None and value not in _NOTHING]
        if unreadable:
            ledger.add(file, "unreadable_cell", place=key, count=len(unreadable), example=str(unreadable[0]))
        for name, value in zip(names, values, strict=False):
            number = _number(value)
            if number is not None and number != _NOT_RECORDED:
                rows.append((f"{PIPELINE_METRIC}{name}.{what}", number * factor))
    for key in _OF_PIPELINE:
        first = next(iter(_list(summary.get(key))), None)
        number = _number(first)
        if number is None and first not in _NOTHING:
            ledger.add(file, "unreadable_cell", place=key, example=str(first))
        if number is not None and number != _NOT_RECORDED:
            rows.append((f"{PIPELINE_METRIC}{key}", number * NS_PER_MS))
    words = {key: text for key in ("bottleneck_warning", "bottleneck_suggestion") if (text := _words(summary, key))}
    return _metrics(rows), words


def _csv(path: Path, file: str, ledger: Ledger) -> dict[str, Any]:
    """One row per figure: its name, then a cell per operation."""
    try:
        text = path.read_bytes().decode("utf-8-sig", errors="replace")
    except OSError as error:
        ledger.add(file, "unreadable_file", example=error.strerror or str(error))
        return {}
    if "\ufffd" in text:
        ledger.add(file, "invalid_utf8", count=text.count("\ufffd"))
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    except csv.Error as error:
        ledger.add(file, "csv_syntax", example=str(error))
        return {}
    summary = {row[0].strip(): row[1:] for row in rows}
    if not any(name in summary for name in _NAMES):
        ledger.add(file, "unknown_header", place="line 1", example=",".join(rows[0]) if rows else "")
    return summary


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or (isinstance(value, str) and ("_" in value or not value.isascii())):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < 1e15 else None


def _words(summary: Mapping[str, Any], key: str) -> str:
    return " ".join(str(part) for part in _list(summary.get(key)) if part)


def _metrics(rows: Sequence[tuple[str, float]]) -> Rows:
    return conform(METRIC, len(rows), name=[row[0] for row in rows], value=[row[1] for row in rows])
