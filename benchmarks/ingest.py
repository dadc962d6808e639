"""Large traces to tables: megabytes per CPU second and peak memory of every stage, exactness beside it.

    python -m benchmarks.ingest [MEGABYTES] [--rounds N] [--folder DIR] [--kind ascend] [--stage read]

Each stage is a process of its own that starts from the file: scan (JSON to columns, on one and on two threads),
read (to the tables of one capture), ingest (derived columns and Parquet too), analyze (the command line on an
empty cache). Memory is the peak of the whole process beside the size of the file. The traces are written to a
scratch folder and removed; `case` is the field case of large traces, where its generator is at hand.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from benchmarks.measured import Cost, medians, python, run_measured
from benchmarks.rank_writer import write_rank
from benchmarks.trace_writer import write_kineto
from tests.shared_data import shared_path, shared_root

__all__ = ["KINDS", "STAGES", "exactness", "measure", "stage_command", "write_trace"]

KINDS: Final = ("ascend", "kineto", "case")

SCAN: Final = """
import json
from ascend_sn._native.trace_scan import scan_blocks
from benchmarks.native_scan import ASCEND_KEYS, KINETO_KEYS
keys = ASCEND_KEYS if {kind!r} == "ascend" else KINETO_KEYS
print(json.dumps({{"events": sum(block.count for block in scan_blocks({path!r}, keys, threads={threads}))}}))
"""
READ: Final = """
import json
from pathlib import Path
from ascend_sn.formats.discover import discover
(source,) = discover(Path({path!r})).sources
(capture,) = source.reader.read(source)
kernels = capture.tables["kernel"]
print(json.dumps({{"kernels": kernels.length, "kernel_ns": int(kernels.values("dur_ns").sum()),
                   "operators": capture.tables["operator"].length}}))
"""
INGEST: Final = """
import json
from pathlib import Path
import ascend_sn
with ascend_sn.open({path!r}, cache_dir=Path({cache!r})) as run:
    ((kernels, kernel_ns),) = run.sql("select count(*), sum(dur_ns)::bigint from kernel").fetchall()
    print(json.dumps({{"kernels": kernels, "kernel_ns": kernel_ns, "operators": run.manifest.tables["operator"]}}))
"""
ANALYZE: Final = """
from ascend_sn.cli.main import main
main(["analyze", {path!r}, "--cache-dir", {cache!r}])
"""
STAGES: Final = {"scan 1": SCAN, "scan 2": SCAN, "read": READ, "ingest": INGEST, "analyze": ANALYZE}


def write_trace(kind: str, path: Path, size_bytes: int) -> dict[str, int]:
    """Write a trace and return its truth, as far as the kind of trace has one."""
    if kind == "ascend":
        rank = write_rank(path, size_bytes)
        return {
            "events": rank.events,
            "kernels": rank.kernels,
            "kernel_ns": rank.kernel_ns,
            "operators": rank.operators,
        }
    if kind == "kineto":
        truth = write_kineto(path, size_bytes)
        turns = truth.events // 6
        return {"events": truth.events, "kernels": turns, "kernel_ns": truth.dur_ns // 4, "operators": 2 * turns}
    generator = shared_path("cases", "dv07_large_trace", "gen_large.py")
    command = [sys.executable, str(generator), str(path), str(size_bytes // 1_000_000)]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    kernels = int(words[1])
    return {"events": 2 * kernels, "kernels": kernels, "kernel_ns": int(words[3]) * 1_000, "operators": 0}


def stage_command(stage: str, kind: str, path: Path, cache: Path) -> list[str]:
    """Return the command that carries out a stage."""
    threads = int(stage.split()[1]) if stage.startswith("scan") else 0
    return python(STAGES[stage].format(kind=kind, path=str(path), cache=str(cache), threads=threads))


def measure(kind: str, path: Path, stages: Sequence[str], rounds: int) -> dict[str, Cost]:
    """Return the median cost of every stage; the stages take turns."""
    costs: dict[str, list[Cost]] = {stage: [] for stage in stages}
    for _ in range(rounds):
        for stage in stages:
            with tempfile.TemporaryDirectory(dir=path.parent) as cache:
                costs[stage].append(run_measured(stage_command(stage, kind, path, Path(cache))))
    return {stage: medians(measured) for stage, measured in costs.items()}


def exactness(said: Any, truth: dict[str, int]) -> str:
    """Say whether a stage found what was written."""
    if not isinstance(said, dict):
        return ""
    wrong = {name: (value, truth[name]) for name, value in said.items() if value != truth[name]}
    return f"WRONG (found, written): {wrong}" if wrong else "exact"


def main() -> None:
    options = argparse.ArgumentParser(description="Large traces to tables.")
    options.add_argument("megabytes", nargs="?", type=float, default=1_000)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--folder", type=Path, help="where the scratch folder is made")
    options.add_argument("--kind", choices=KINDS, action="append")
    options.add_argument("--stage", choices=list(STAGES), action="append")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        for kind in chosen.kind or KINDS:
            if kind == "case" and shared_root() is None:
                print("case: its generator is not at hand")
                continue
            path = Path(folder) / f"{kind}_trace.json"
            truth = write_trace(kind, path, int(chosen.megabytes * 1e6))
            size = path.stat().st_size
            print(f"{kind}: {size / 1e6:.0f} MB, {truth['events']} events")
            print(f"  {'stage':8} {'CPU s':>7} {'MB/CPU s':>9} {'peak MB':>8} {'peak/file':>10}")
            for stage, cost in measure(kind, path, chosen.stage or list(STAGES), chosen.rounds).items():
                figures = f"{cost.cpu_s:7.2f} {size / 1e6 / cost.cpu_s:9.0f} {cost.peak_bytes / 1e6:8.0f}"
                print(
                    f"  {stage:8} {figures} {cost.peak_bytes / size:10.2f}  {exactness(cost.said, truth)}", flush=True
                )
            path.unlink()


if __name__ == "__main__":
    main()
