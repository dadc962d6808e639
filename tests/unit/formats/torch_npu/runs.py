"""Open run folders as the product does, and write small ones."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.formats.torch_npu.run_folder import READER
from ascend_sn.model.capture import Capture

__all__ = ["START_US", "kernel_csv", "open_run", "write_csv", "write_info", "write_json"]

START_US = 1_760_000_000_000_000
"""Epoch of the drawn runs, microseconds."""

KERNEL_HEADER = (
    *("Step Id", "Model ID", "Task ID", "Stream ID", "Name", "Type", "Accelerator Core", "Start Time(us)"),
    *("Duration(us)", "Wait Time(us)", "Block Dim", "Input Shapes", "Input Data Types", "Input Formats"),
    *("Output Shapes", "Output Data Types", "Output Formats", "aicore_time(us)", "aic_mac_ratio"),
    "cube_utilization(%)",
)


def open_run(folder: Path) -> Capture:
    """Read a folder that the reader claims."""
    assert READER.claims(Candidate(folder))
    (capture,) = READER.read(Source(READER, folder, folder))
    return capture


def write_info(folder: Path, *, rank: int | None = None, level: str = "Level1", **common: Any) -> None:
    """Write profiler_info as torch_npu does."""
    output = folder / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True, exist_ok=True)
    info: dict[str, Any] = {
        "config": {
            "common_config": {"activities": ["ProfilerActivity.CPU", "ProfilerActivity.NPU"], **common},
            "experimental_config": {"_profiler_level": level, "_aic_metrics": "ACL_AICORE_NONE"},
        }
    }
    if rank is not None:
        info["rank_id"] = rank
    name = "profiler_info.json" if rank is None else f"profiler_info_{rank}.json"
    (folder / name).write_text(json.dumps(info))


def write_csv(folder: Path, name: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    """Write a CSV file among the exports."""
    path = folder / "ASCEND_PROFILER_OUTPUT" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def write_json(folder: Path, name: str, value: Any) -> Path:
    """Write a JSON file among the exports."""
    path = folder / "ASCEND_PROFILER_OUTPUT" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def kernel_csv(folder: Path, kernels: Sequence[Mapping[str, str]]) -> Path:
    """Write kernel_details.csv; cells not given are N/A."""
    rows = [[kernel.get(name, "N/A") for name in KERNEL_HEADER] for kernel in kernels]
    return write_csv(folder, "kernel_details.csv", KERNEL_HEADER, rows)
