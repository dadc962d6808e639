"""Longest path over a million nodes with two million edges: CPU seconds against what to reach."""

from __future__ import annotations

import statistics
import time

import numpy as np

from ascend_sn._native.dag import longest_path

NODES = 1_000_000


def main() -> None:
    random = np.random.default_rng(1)
    durs = random.integers(1, 1_000, NODES)
    before = np.arange(1, NODES)
    # Each node follows its neighbour on the stream, and something earlier that launched it.
    launched = np.maximum(before - random.integers(1, 50_000, NODES - 1), 0)
    src, dst = np.concatenate([before - 1, launched]), np.concatenate([before, before])
    weight = random.integers(0, 500, len(src))
    by_dst = np.argsort(dst, kind="stable")
    print(f"{'1 M nodes, 2 M edges':28} {'CPU s':>8} {'reach':>8}")
    for name, order in (("edges sorted", by_dst), ("edges in two runs", np.arange(len(src)))):
        edges = src[order], dst[order], weight[order]
        measured = []
        for _ in range(5):
            began = time.process_time()
            longest_path(durs, *edges)
            measured.append(time.process_time() - began)
        print(f"{name:28} {statistics.median(measured):8.3f} {0.5:8}")


if __name__ == "__main__":
    main()
