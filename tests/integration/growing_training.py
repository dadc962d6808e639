"""A small training in numpy whose memory leaks, settles in a cache, or stays; run as a program of its own.

Usage: python -m tests.integration.growing_training MODE OUTPUT
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

from ascend.profiler import Profiler, ProfilerConfig

STEPS = 70
STEP_S = 0.025
BLOCK = 400_000  # doubles: 3.2 MB
CACHED_SHAPES = 20


def train(mode: str, output: str) -> None:
    """Run the steps; each touches what it allocates, so that the system counts it."""
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(256, 256))
    kept: dict[int, object] = {}
    with Profiler(ProfilerConfig(output_path=output, enable_memory=True, sample_interval=2_000)) as profiler:
        profiler.step()
        for number in range(STEPS):
            begin_s = perf_counter()
            with profiler.op("forward"):
                batch = rng.normal(size=(64, 256)) @ weights
                if mode == "leak":
                    kept[number] = np.ones(BLOCK)
                elif mode == "cache":
                    kept.setdefault(number % CACHED_SHAPES, np.ones(BLOCK))
                else:
                    kept[0] = np.ones(BLOCK)
            with profiler.op("backward"):
                weights -= 1e-6 * (batch.T @ batch)
                while perf_counter() - begin_s < STEP_S:
                    weights = np.tanh(weights)
            profiler.step()


if __name__ == "__main__":
    train(sys.argv[1], sys.argv[2])
