"""Captures for the tests of `derive`: rows as dicts, every id dense in the order given."""

from __future__ import annotations

from typing import Any

from ascend_sn.model.capture import Capture, ProfileHeader
from ascend_sn.model.rows import conform
from ascend_sn.model.tables import BY_NAME

_IDS = {
    "operator": "operator_id",
    "host_call": "host_call_id",
    "kernel": "kernel_id",
    "step": "step_id",
    "span": "span_id",
}


def capture(**tables: list[dict[str, Any]]) -> Capture:
    """Return a capture with these rows; columns not given are null, ids count from 0."""
    made = Capture(ProfileHeader(format="drawing", source="r0", device_kind="npu", rank=0))
    for name, rows in tables.items():
        names = {column: None for row in rows for column in row}
        columns: dict[str, Any] = {column: [row.get(column) for row in rows] for column in names}
        if name in _IDS:
            columns.setdefault(_IDS[name], list(range(len(rows))))
        made.tables[name] = conform(BY_NAME[name], len(rows), **columns)
    return made


def column(made: Capture, table: str, name: str) -> list[Any]:
    """Return a column as a list, None where null."""
    return [row[name] for row in made.rows(table).to_dicts()]


def slices(thread: str, *placed: tuple[str, int, int], **more: Any) -> list[dict[str, Any]]:
    """Return rows of one thread: (name, start, end)."""
    return [
        {"thread": thread, "name": name, "ts_ns": start, "dur_ns": end - start, **more} for name, start, end in placed
    ]
