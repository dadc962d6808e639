"""The trace scanner on large files: megabytes per CPU second and per second, memory, exactness.

python benchmarks/native_scan.py [MEGABYTES]

How threads share the work shows on a busy machine too: the CPU time of the busiest of two threads is what two free
cores would need.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ascend_sn._native.trace_scan import scan_blocks
from benchmarks.trace_writer import Truth, write_ascend, write_kineto

ASCEND_KEYS = ("Task Type", "connection_id", "Physic Stream Id", "item_id", "level", "correlation_id")
KINETO_KEYS = ("External id", "correlation", "stream", "device", "grid", "Input Dims", "Input type", "bytes")
ALL_TEXTS = (*ASCEND_KEYS, "Call stack", "Input Dims", "Input type")
ROUNDS = 3


def read(path: Path, keys: tuple[str, ...], threads: int) -> Truth:
    """Read a trace as a reader does, keeping what it needs of each block."""
    found = Truth()
    for block in scan_blocks(path, keys, threads=threads):
        slices = block.ph == ord("X")
        found.events += block.count
        found.slices += int(np.count_nonzero(slices))
        found.dur_ns += int(block.dur_ns[slices].sum())
    return found


def measure(path: Path, keys: tuple[str, ...], threads: int) -> None:
    """Print the medians of a few rounds, and the memory the reading needs beyond the interpreter."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    cpu, wall, busiest = [], [], []
    for _ in range(ROUNDS):
        began, own, at = time.process_time(), time.thread_time(), time.perf_counter()
        found = read(path, keys, threads)
        cpu.append(time.process_time() - began)
        wall.append(time.perf_counter() - at)
        own = time.thread_time() - own
        busiest.append(max(own, cpu[-1] - own))
    size = path.stat().st_size
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(
        f"{size / 1e6 / np.median(cpu):8.0f} {size / 1e6 / np.median(busiest):13.0f} "
        f"{size / 1e6 / np.median(wall):8.0f} {grown / size:8.2f}  "
        f"{found.events} events, {found.slices} slices, {found.dur_ns} ns",
        flush=True,
    )


def main() -> None:
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 500_000_000
    with tempfile.TemporaryDirectory() as folder:
        for name, write, keys in (
            ("ascend", write_ascend, ASCEND_KEYS),
            ("ascend, all texts", write_ascend, ALL_TEXTS),
            ("kineto", write_kineto, KINETO_KEYS),
        ):
            path = Path(folder) / "trace.json"
            truth = write(path, size)
            print(f"{name}: {path.stat().st_size / 1e6:.0f} MB, truth {truth}")
            print(f"  threads {'MB/CPU s':>8} {'busiest MB/s':>13} {'MB/s':>8} {'memory':>8}")
            for threads in (1, 2):
                print(f"  {threads:7}", end=" ", flush=True)
                code = f"from benchmarks.native_scan import *; measure(Path({str(path)!r}), {keys!r}, {threads})"
                subprocess.run([sys.executable, "-c", code], check=True)


if __name__ == "__main__":
    main()
