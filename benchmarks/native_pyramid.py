"""Viewports of a pyramid over 100 million slices: milliseconds for any zoom, and the time to build it.

python benchmarks/native_pyramid.py [SLICES]
"""

from __future__ import annotations

import sys
import time

import numpy as np

from ascend_sn._native.pyramid import build, query

WINDOWS = 2_000
ROWS = 2_000


def main() -> None:
    slices = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000
    random = np.random.default_rng(2)
    start = np.cumsum(random.integers(100, 2_000, slices, dtype=np.int64))
    end = start + random.integers(1, 100, slices, dtype=np.int64)
    ids = np.arange(slices)
    began = time.process_time()
    levels = build(start, end, ids)
    built = time.process_time() - began
    bytes_used = sum(column.nbytes for column in vars(levels).values() if isinstance(column, np.ndarray))
    print(f"{slices / 1e6:.0f} M slices: built in {built:.2f} CPU s, {bytes_used / slices:.1f} bytes a slice")
    whole = int(start[-1])
    print(f"{'window':>20} {'rows':>6} {'median ms':>10} {'p95 ms':>8} {'p95 CPU ms':>11} {'reach':>6}")
    for share in (1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6):
        length, measured, cpu, rows = max(int(whole * share), 1), [], [], 0
        for t0 in random.integers(0, whole - length + 1, WINDOWS if share < 1 else 200).tolist():
            at, began = time.perf_counter(), time.thread_time()
            rows = max(rows, len(query(levels, t0, t0 + length, ROWS).start))
            cpu.append((time.thread_time() - began) * 1e3)
            measured.append((time.perf_counter() - at) * 1e3)
        median, p95 = np.percentile(measured, [50, 95])
        print(f"{share:19.0e}  {rows:6} {median:10.3f} {p95:8.3f} {np.percentile(cpu, 95):11.3f} {'10':>6}")


if __name__ == "__main__":
    main()
