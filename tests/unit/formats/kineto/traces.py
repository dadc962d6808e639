"""Small PyTorch traces written by hand, and a plain second reading of real ones."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

from ascend_sn.formats.kineto.reader import READER, read
from ascend_sn.formats.reader import Source
from ascend_sn.model.capture import Capture

PID = 4000

Event = dict[str, Any]


def operator(name: str, ts: float, dur: float, *, tid: Any = 1, cat: Any = "cpu_op", **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": tid, "ts": ts, "dur": dur, "args": args}


def annotation(name: str, ts: float, dur: float, *, tid: Any = 1, **args: Any) -> Event:
    return operator(name, ts, dur, tid=tid, cat="user_annotation", **args)


def launch(correlation: int, ts: float, *, dur: float = 5, tid: int = 1, name: str = "cudaLaunchKernel") -> Event:
    return operator(name, ts, dur, tid=tid, cat="cuda_runtime", correlation=correlation)


def kernel(
    name: str, ts: float, dur: float, *, stream: Any = 7, device: Any = 0, cat: Any = "kernel", **args: Any
) -> Event:
    return {
        "ph": "X",
        "cat": cat,
        "name": name,
        "pid": device,
        "tid": stream,
        "ts": ts,
        "dur": dur,
        "args": {"device": device, "stream": stream, **args},
    }


def write(folder: Path, *events: Event, name: Any = "trace.json", **metadata: Any) -> Path:
    path = folder.joinpath(name)
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], **metadata, "traceEvents": list(events)}))
    return path


def captured(path: Path) -> Capture:
    (capture,) = read(Source(READER, path, path))
    return capture


def rows(capture: Capture, table: str, *columns: str) -> list[tuple[Any, ...]]:
    return [tuple(row[column] for column in columns) for row in capture.rows(table).to_dicts()]


def ledger(capture: Capture) -> dict[str, int]:
    return {entry.kind: entry.count for entry in capture.ledger.entries}


def state(capture: Capture, table: str, column: str | None = None) -> str:
    (entry,) = (one for one in capture.coverage if (one.table_name, one.column_name) == (table, column))
    return entry.state


def raw_slices(path: Path) -> Counter[tuple[str, int, int]]:
    """Name, start and length in ns of every complete slice, by the standard library and Decimal."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8", "replace")
    found = json.loads(text, parse_float=Decimal)
    base = 0 if isinstance(found, list) else int(found.get("baseTimeNanoseconds", 0))
    events = found if isinstance(found, list) else found["traceEvents"]
    return Counter(
        (event["name"], base + int(Decimal(event["ts"]) * 1000), int(Decimal(event["dur"]) * 1000))
        for event in events
        if event["ph"] == "X"
    )


def read_slices(capture: Capture) -> Counter[tuple[str, int, int]]:
    """Name, start and length of everything the reader placed in a table of slices, each slice once."""
    found: Counter[tuple[str, int, int]] = Counter()
    kernels = () if capture.header.device_kind == "cpu" else ("kernel",)
    for table in ("operator", "host_call", "span", *kernels):
        found.update(rows(capture, table, "name", "ts_ns", "dur_ns"))
    for number, ts_ns, dur_ns in rows(capture, "step", "step", "ts_ns", "dur_ns"):
        found[(f"ProfilerStep#{number}", ts_ns, dur_ns)] += 1
    return found
