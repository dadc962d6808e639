"""Memory floors whose answer is known, named before the series test was tuned; none is of the page that proposes it.

Levels are in MB: noise of 20 around 20,000; leaks rise by 2.5 times the noise per step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

NOISE, LEVEL = 20.0, 20_000.0
SLOPE = 2.5 * NOISE

Floor = npt.NDArray[np.float64]
Family = Callable[[np.random.Generator, int], Floor]


def _steps(n: int) -> Floor:
    return np.arange(n, dtype=np.float64)


def _flat(rng: np.random.Generator, n: int) -> Floor:
    return LEVEL + rng.normal(0, NOISE, n)


def _spikes(rng: np.random.Generator, n: int) -> Floor:
    return np.where(rng.random(n) < 0.1, NOISE * rng.lognormal(2, 1, n), 0.0)


def autocorrelated(rng: np.random.Generator, n: int) -> Floor:
    fresh = rng.normal(0, NOISE * np.sqrt(1 - 0.7**2), n)
    level = np.zeros(n)
    for at in range(1, n):
        level[at] = 0.7 * level[at - 1] + fresh[at]
    return LEVEL + level


def evaluation_rounds(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + np.where(_steps(n) % 25 >= 23, 40 * NOISE, 0.0)


def shape_cache(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + rng.uniform(10, 100) * NOISE * np.log1p(_steps(n))


def bounded_buffer(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + SLOPE * np.minimum(_steps(n), rng.uniform(0.4, 0.8) * n)


def staircase(rng: np.random.Generator, n: int) -> Floor:
    places, sizes = rng.integers(0, n // 2, 6), rng.uniform(10, 60, 6) * NOISE
    added: Floor = (_steps(n)[:, np.newaxis] >= places) @ sizes
    return _flat(rng, n) + added


def growing_sequences(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + rng.uniform(20, 80) * NOISE * np.minimum(_steps(n) / (0.4 * n), 1)


def draining(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) - rng.uniform(0.2, 2.5) * NOISE * _steps(n)


def one_jump(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + np.where(_steps(n) >= rng.uniform(0.3, 0.9) * n, rng.uniform(20, 100) * NOISE, 0.0)


def collected_garbage(rng: np.random.Generator, n: int) -> Floor:
    period = int(rng.integers(10, 31))
    return _flat(rng, n) + SLOPE * ((_steps(n) + int(rng.integers(0, period))) % period)


def power_cache(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + rng.uniform(20, 200) * NOISE * (1 - 1 / (1 + _steps(n) / 5))


def heavy_tails(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + _spikes(rng, n)


def replay_buffer(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + SLOPE * np.minimum(np.cumsum(rng.poisson(1.0, n)), rng.uniform(0.3, 0.7) * n)


def leak_autocorrelated(rng: np.random.Generator, n: int) -> Floor:
    return autocorrelated(rng, n) + SLOPE * _steps(n)


def leak_accelerating(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + SLOPE * _steps(n) * (0.5 + _steps(n) / n)


def leak_now_and_then(rng: np.random.Generator, n: int) -> Floor:
    grown: Floor = np.cumsum(np.where(rng.random(n) < 0.3, SLOPE / 0.3, 0.0))
    return _flat(rng, n) + grown


def leak_under_garbage(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + SLOPE * _steps(n) + 3 * NOISE * (_steps(n) % rng.integers(5, 12))


def leak_past_a_release(rng: np.random.Generator, n: int) -> Floor:
    released = np.where(_steps(n) >= rng.uniform(0.3, 0.7) * n, rng.uniform(1, 8) * SLOPE, 0.0)
    return _flat(rng, n) + SLOPE * _steps(n) - released


def leak_from_a_third(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + SLOPE * np.maximum(_steps(n) - 0.3 * n, 0)


def leak_with_heavy_tails(rng: np.random.Generator, n: int) -> Floor:
    return heavy_tails(rng, n) + SLOPE * _steps(n)


def leak_with_a_cache(rng: np.random.Generator, n: int) -> Floor:
    return _flat(rng, n) + SLOPE * _steps(n) + 40 * NOISE * (1 - np.exp(-_steps(n) / 6))


SETTLING: tuple[Family, ...] = (
    autocorrelated, evaluation_rounds, shape_cache, bounded_buffer, staircase, growing_sequences, draining, one_jump,
    collected_garbage, power_cache, heavy_tails, replay_buffer,
)  # fmt: skip
"""Floors that do not leak."""

LEAKING: tuple[Family, ...] = (
    leak_autocorrelated, leak_accelerating, leak_now_and_then, leak_under_garbage, leak_past_a_release,
    leak_from_a_third, leak_with_heavy_tails, leak_with_a_cache,
)  # fmt: skip
"""Floors that do."""


def leak_share(family: Family, n: int, curves: int, verdict: Callable[[Floor], Any]) -> float:
    """Return the share of curves of a family that are judged to leak."""
    rng = np.random.default_rng([n, *family.__name__.encode()])
    return sum(bool(verdict(family(rng, n)).verdict == "leak") for _ in range(curves)) / curves
