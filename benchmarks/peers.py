"""Ours beside HolisticTraceAnalysis, pandas and msprof-analyze, in turn: CPU seconds, peak memory, ratios.

    python -m benchmarks.peers [--megabytes N] [--rounds N] [--only kineto]

Reading is timed without the imports, peaks are of the whole process. The row of one Ascend rank needs the sample
data (see CONTRIBUTING) and counts whole cold processes, on an empty cache.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from benchmarks.compared import PEERS, Comparison, Side, compare, peers_python
from benchmarks.intervals import comparisons as interval_comparisons
from benchmarks.trace_writer import write_kineto
from tests.shared_data import shared_path, shared_root

__all__ = ["kineto_comparisons", "rank_comparison"]

OURS: Final = """
import json, time
from pathlib import Path
from ascend_sn.formats.discover import discover
(source,) = discover(Path({path!r})).sources
began = time.process_time()
(capture,) = source.reader.read(source)
kernels = capture.tables["kernel"]
print(json.dumps({{"cpu_s": time.process_time() - began, "found": kernels.length}}))
"""
SCAN: Final = """
import json, time
import numpy as np
from ascend_sn._native.trace_scan import scan_blocks
from benchmarks.native_scan import KINETO_KEYS
began = time.process_time()
found = sum(int(np.count_nonzero(block.args["stream"].kind)) for block in scan_blocks({path!r}, KINETO_KEYS))
print(json.dumps({{"cpu_s": time.process_time() - began, "found": found}}))
"""
HTA: Final = """
import json, time
from hta.common.trace import parse_trace_file
began = time.process_time()
_, frame, _ = parse_trace_file({path!r})
print(json.dumps({{"cpu_s": time.process_time() - began, "found": int((frame["stream"] >= 0).sum())}}))
"""
PANDAS: Final = """
import json, time
import pandas as pd
began = time.process_time()
with open({path!r}) as file:
    frame = pd.DataFrame(json.load(file)["traceEvents"])
print(json.dumps({{"cpu_s": time.process_time() - began, "found": int((frame["cat"] == "kernel").sum())}}))
"""
ANALYZE: Final = """
import os, tempfile
from ascend_sn.cli.main import main
with tempfile.TemporaryDirectory() as cache:
    main(["analyze", {path!r}, "--cache-dir", cache])
"""


def kineto_comparisons(path: Path) -> list[Comparison]:
    """Read one PyTorch trace: to columns of all events, as HTA's frame has them, and to the linked tables."""
    size = f"Kineto trace of {path.stat().st_size / 1e6:.0f} MB"
    hta, pandas = Side("HTA", HTA.format(path=str(path))), Side("pandas", PANDAS.format(path=str(path)))
    return [
        Comparison(f"{size} to columns", Side("ascend-sn", SCAN.format(path=str(path))), [hta], 25),
        Comparison(f"{size} to tables", Side("ascend-sn", OURS.format(path=str(path))), [hta, pandas], 25),
    ]


def rank_comparison(rank: Path, folder: Path) -> Comparison:
    """Analyse one rank of the sample from a cold start."""
    advisor = [str(PEERS / "bin" / "msprof-analyze"), "advisor", "all", "-d", str(rank), "-o", str(folder), "-l", "en"]
    ours = Side("ascend-sn", ANALYZE.format(path=str(rank)))
    return Comparison("analyze one Ascend rank, cold process", ours, [Side("msprof-analyze", command=advisor)], None)


def main() -> None:
    options = argparse.ArgumentParser(description="Ours beside the peers.")
    options.add_argument("--megabytes", type=float, default=100)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", choices=("kineto", "rank", "intervals"), action="append")
    chosen = options.parse_args()
    only = chosen.only or ["kineto", "rank", "intervals"]
    peers_python()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kineto_trace.json"
        rows: list[Comparison] = []
        if "kineto" in only:
            write_kineto(path, int(chosen.megabytes * 1e6))
            rows += kineto_comparisons(path)
        if "rank" in only and shared_root() is not None:
            rank = shared_path("data", "torch_npu", "text", "level1", "rank0_ascend_pt")
            rows.append(rank_comparison(rank, Path(folder)))
        elif "rank" in only:
            print("one Ascend rank: the sample data are not at hand", file=sys.stderr)
        if "intervals" in only:
            rows += interval_comparisons()
        compare(rows, chosen.rounds)


if __name__ == "__main__":
    main()
