"""Small `PROF_*` folders, drawn by hand after the documentation of msprof."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_sn.formats.msprof.reader import READER
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.model.capture import Capture

__all__ = ["NAME", "STAMP", "START_US", "comm_info", "op_summary", "open_prof", "write_csv", "write_json"]

NAME = "PROF_000001_20251009081320123_ABC"
STAMP = "20251009081321"
START_US = 1_760_000_000_000_000

_SUMMARY = (
    *("Device_id", "Model ID", "Task ID", "Stream ID", "Op Name", "OP Type", "Task Type", "Task Start Time(us)"),
    *("Task Duration(us)", "Task Wait Time(us)", "Block Num", "Input Shapes", "aicore_time(us)", "aic_mac_ratio"),
)


def open_prof(folder: Path) -> list[Capture]:
    """Read a folder that the reader claims."""
    assert READER.claims(Candidate(folder))
    return READER.read(Source(READER, folder, folder))


def write_csv(folder: Path, name: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    """Write a CSV file among the exports; a name without a suffix gets the usual time stamp."""
    path = folder / "mindstudio_profiler_output" / (name if name.endswith(".csv") else f"{name}_{STAMP}.csv")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def op_summary(folder: Path, kernels: Sequence[Mapping[str, str]], name: str = "op_summary") -> Path:
    """Write op_summary; cells not given are N/A."""
    return write_csv(folder, name, _SUMMARY, [[kernel.get(column, "N/A") for column in _SUMMARY] for kernel in kernels])


def write_json(folder: Path, name: str, value: Any) -> Path:
    """Write a JSON file below the folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def comm_info(elapse_ms: float, transit_ms: float, wait_ms: float, sync_ms: float, size_mb: float) -> dict[str, Any]:
    """One operator of communication.json."""
    block = {"Transit Size(MB)": size_mb, "Transit Time(ms)": transit_ms, "Bandwidth(GB/s)": 1.0}
    return {
        "Communication Time Info": {
            "Start Timestamp(us)": float(START_US),
            "Elapse Time(ms)": elapse_ms,
            "Transit Time(ms)": transit_ms,
            "Wait Time(ms)": wait_ms,
            "Synchronization Time(ms)": sync_ms,
        },
        "Communication Bandwidth Info": {"HCCS": block, "SDMA": block},
    }
