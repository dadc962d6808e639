"""Small traces of a training on a GPU, written to disk: steps of one matrix product and one activation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.unit.formats.kineto.traces import annotation, kernel, launch, operator, write

__all__ = ["recorded", "sequence", "steady"]


def steady(matmul_us: float, count: int = 12, *, seed: int = 0, noise: float = 0.01) -> list[float]:
    """Lengths of the product in each step, the first one long."""
    generator = np.random.default_rng(seed)
    lengths = matmul_us * np.exp(noise * generator.standard_normal(count))
    return [2 * matmul_us, *(round(float(one), 3) for one in lengths[1:])]


def recorded(
    path: Path, products_us: Sequence[float], *, activation_us: float = 200, rank: int = 0, size: int = 1, **more: Any
) -> Path:
    """Write a trace: each step launches both kernels at its begin and waits for them; 100 us of host time follow."""
    events = []
    at = 1_000.0
    for number, product in enumerate(products_us):
        length = 20 + product + activation_us + 100
        number_of = 2 * number + 1
        first, second = at + 20, at + 20 + product
        events += [
            annotation(f"ProfilerStep#{number}", at, length),
            operator("aten::mm", at + 1, 8, **{"External id": number_of}),
            launch(number_of, at + 3),
            operator("aten::relu", at + 10, 8, **{"External id": number_of + 1}),
            launch(number_of + 1, at + 12),
            kernel("sgemm", first, product, correlation=number_of, **{"External id": number_of}),
            kernel("relu", second, activation_us, correlation=number_of + 1, **{"External id": number_of + 1}),
            operator("cudaDeviceSynchronize", at + 18, length - 110, cat="cuda_runtime", correlation=900 + number),
        ]
        at += length
    path.mkdir(parents=True, exist_ok=True)
    return write(
        path,
        *events,
        deviceProperties=[{"id": 0, "name": "NVIDIA A100"}],
        distributedInfo={"backend": "nccl", "rank": rank, "world_size": size},
        **more,
    ).parent


def sequence(path: Path, kernels: Sequence[tuple[str, float]], *, count: int = 6, rank: int = 0, size: int = 1) -> Path:
    """Write a trace whose steps all run these kernels (name, us), one behind the other; 100 us of host time follow."""
    events = []
    at, correlation = 1_000.0, 1
    for number in range(count):
        length = 20 + sum(dur for _, dur in kernels) + 100
        start = at + 20
        events.append(annotation(f"ProfilerStep#{number}", at, length))
        for name, dur in kernels:
            events += [launch(correlation, at + 3), kernel(name, start, dur, correlation=correlation)]
            start += dur
            correlation += 1
        at += length
    path.mkdir(parents=True, exist_ok=True)
    return write(
        path,
        *events,
        deviceProperties=[{"id": 0, "name": "NVIDIA A100"}],
        distributedInfo={"backend": "nccl", "rank": rank, "world_size": size},
    ).parent
