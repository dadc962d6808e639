"""Interval sets and nesting of the native core on 10 million slices: CPU seconds against what to reach."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from ascend_sn._native import intervals, nesting

SLICES = 10_000_000
ROUNDS = 5


def cpu_seconds(work: Callable[[], object]) -> tuple[float, float]:
    """Return the least and the median of a few rounds."""
    measured = []
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        measured.append(time.process_time() - began)
    return min(measured), statistics.median(measured)


def main() -> None:
    random = np.random.default_rng(3)
    start = np.cumsum(random.integers(1, 2_000, SLICES)) + 1_736_408_883_704_643_212
    dur = random.integers(1, 1_500, SLICES)
    end, kind = start + dur, random.integers(0, 3, SLICES).astype(np.uint8)
    lo, hi = int(start[0]), int(end.max())
    by_kind = np.argsort(kind, kind="stable")
    runs_start, runs_end, runs_kind = start[by_kind], end[by_kind], kind[by_kind]
    shuffled = random.permutation(SLICES)
    mixed_start, mixed_end = start[shuffled], end[shuffled]

    # Host threads: 8 threads, slices nested up to depth 8, written thread by thread and by start.
    level = np.arange(SLICES) % 8
    root = np.arange(SLICES) // 8 * 10_000
    thread = np.repeat(np.arange(8), SLICES // 8)
    nested_start, nested_dur = root + level * 10, 9_000 - level * 1_000
    by_start = np.argsort(nested_start, kind="stable")
    mixed = thread[by_start], nested_start[by_start], nested_dur[by_start]
    scattered = thread[shuffled], nested_start[shuffled], nested_dur[shuffled]

    work: dict[str, tuple[float | None, Callable[[], object]]] = {
        "union length, sorted": (0.15, lambda: intervals.union_length(start, end)),
        "union, sorted": (0.15, lambda: intervals.union(start, end)),
        "sweep of 3 classes, sorted": (0.15, lambda: intervals.sweep(start, end, kind, 3, lo, hi)),
        "sweep of 2 classes, sorted": (0.15, lambda: intervals.sweep(start, end, kind & 1, 2, lo, hi)),
        "sweep, classes one after another": (
            0.15,
            lambda: intervals.sweep(runs_start, runs_end, runs_kind, 3, lo, hi),
        ),
        "segments of 3 classes, sorted": (
            None,
            lambda: intervals.sweep_segments(start, end, kind, 3, lo, hi),
        ),
        "union, 3 sorted runs": (None, lambda: intervals.union(runs_start, runs_end)),
        "union, random order": (None, lambda: intervals.union(mixed_start, mixed_end)),
        "nest, 8 threads one after another": (0.3, lambda: nesting.nest(thread, nested_start, nested_dur)),
        "nest, 8 threads mixed": (0.3, lambda: nesting.nest(*mixed)),
        "nest, random order": (None, lambda: nesting.nest(*scattered)),
    }
    print(f"{'10 M slices, CPU s':36} {'least':>8} {'median':>8} {'reach':>8}")
    for name, (reach, one) in work.items():
        least, median = cpu_seconds(one)
        print(f"{name:36} {least:8.3f} {median:8.3f} {reach if reach is not None else '-':>8}", flush=True)


if __name__ == "__main__":
    main()
