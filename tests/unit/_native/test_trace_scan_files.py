"""The compiled scanner on every trace of the shared data and cases."""

from __future__ import annotations

import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_sn._native.trace_scan import TraceColumns, scan
from tests.reference import chrome_trace as reference
from tests.reference.scanned import comparable, counted, rows
from tests.shared_data import requires_shared, shared_path, shared_root

KEYS = ("External id", "connection_id", "Call stack", "Input Dims", "correlation", "Task Type", "name", "labels")
FILES = sorted(
    path
    for pattern in ("data/**/trace_view.json", "data/kineto/**/*.json.gz", "cases/**/*.json")
    for path in (shared_path().glob(pattern) if shared_root() else ())
    if path.name not in {"checks.json", "golden.json"}
)
LARGEST = 150_000  # bytes that the plain reader is given: it is slow


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def written(columns: TraceColumns, field: str) -> list[str | None]:
    strings = list(columns.strings)
    return [None if code < 0 else strings[code] for code in getattr(columns, field).tolist()]


def as_written(value: Any) -> str | None:
    return None if value is None else str(value)


@requires_shared
def test_sample_files_are_there() -> None:
    assert len(FILES) > 40


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(shared_path())))
def test_a_file_is_read_as_the_plain_reader_does(path: Path) -> None:
    data = content(path)
    part = data[:LARGEST]
    expected = reference.scan(part, KEYS, keep_other_args=True)

    found = scan(path if part == data else part, KEYS, keep_other_args=True)

    assert comparable(list(rows([found]))) == comparable(expected.events)
    assert counted(found.damage) == expected.damage
    assert found.metadata == expected.metadata


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(shared_path())))
def test_a_whole_file_is_read_as_json_and_decimal_do(path: Path) -> None:
    text = content(path).decode(errors="replace")
    try:
        document = json.loads(text, parse_float=str, parse_int=str)
    except json.JSONDecodeError:
        return  # damaged on purpose: the plain reader is the measure
    listed = document if isinstance(document, list) else document.get("traceEvents", [])

    found = scan(path)

    assert found.count == len(listed)
    for field in ("name", "cat", "pid", "tid", "id"):
        assert written(found, field) == [as_written(event.get(field)) for event in listed]
    for key, column in (("ts", found.ts_ns), ("dur", found.dur_ns)):
        exact = [Decimal(event.get(key, 0)) * 1000 for event in listed]
        off = np.array([abs(int(ns) - whole) for ns, whole in zip(column, exact, strict=True)])
        assert (off <= Decimal("0.5")).all()
        assert column.tolist() == [int(whole.to_integral_value("ROUND_HALF_UP")) for whole in exact]
