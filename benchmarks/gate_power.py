"""How often the gate is wrong, and how often it finds a change: the tables of docs/explanation/gate-statistics.md.

python benchmarks/gate_power.py [TRIALS]

The families of noise were named before the rule was tried on them, and the rule was not changed afterwards.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn.compare.judge import judged
from ascend_sn.compare.metrics import Samples, metric_of

Reals = npt.NDArray[np.float64]
Generator = np.random.Generator

STEP: Final = metric_of("step_time")
LIMIT: Final = 0.10
CHANGES: Final = (0.0, 0.15, 0.20)
SEED: Final = 7


def lognormal(generator: Generator, count: int, variation: float) -> Reals:
    """Skewed, and every twentieth run 30 % longer."""
    return generator.lognormal(0, variation, count) * np.where(generator.random(count) < 0.05, 1.3, 1.0)


def normal(generator: Generator, count: int, variation: float) -> Reals:
    """The textbook."""
    return np.maximum(1 + variation * generator.standard_normal(count), 0.1)


def drifting(generator: Generator, count: int, variation: float) -> Reals:
    """Each run is half like the one before: a machine that warms up, a neighbour that comes and goes."""
    noise = generator.standard_normal(count)
    for at in range(1, count):
        noise[at] = 0.5 * noise[at - 1] + np.sqrt(0.75) * noise[at]
    return np.exp(variation * noise)


def two_states(generator: Generator, count: int, variation: float) -> Reals:
    """Three runs of ten on the slower of two machines, which lie three variations apart."""
    slow = generator.random(count) < 0.3
    return np.exp(0.5 * variation * generator.standard_normal(count)) * np.where(slow, 1 + 2 * variation, 1.0)


FAMILIES: Final[tuple[Callable[[Generator, int, float], Reals], ...]] = (lognormal, normal, drifting, two_states)


def of_runs(trials: int) -> None:
    """Runs are the samples."""
    print("| noise between runs | CV | runs per side | false alarms | +15 % found | +20 % found |")
    print("|---|---|---|---|---|---|")
    for family in FAMILIES:
        for variation in (0.02, 0.05, 0.10):
            for count in (5, 10, 20):
                generator = np.random.default_rng(SEED)
                found = []
                for change in CHANGES:
                    regressions = 0
                    for _ in range(trials):
                        base = Samples(family(generator, count, variation))
                        candidate = Samples(family(generator, count, variation) * (1 + change))
                        regressions += judged(STEP, base, candidate, LIMIT).verdict == "regression"
                    found.append(f"{100 * regressions / trials:.1f} %")
                name = family.__name__.replace("_", " ")
                print(f"| {name} | {100 * variation:.0f} % | {count} | {' | '.join(found)} |", flush=True)


def of_steps(trials: int) -> None:
    """One run per side: steps stand for runs; each is like the one before by 0.7, with 3 % noise."""
    print("| steps | CV between runs | false alarms | +15 % found | +20 % found |")
    print("|---|---|---|---|---|")
    for count in (20, 100):
        for variation in (0.0, 0.02, 0.05):
            generator = np.random.default_rng(SEED)
            found = []
            for change in CHANGES:
                regressions = 0
                for _ in range(trials):
                    sides = []
                    for factor in (1.0, 1 + change):
                        steps = _steps(generator, count) * factor * np.exp(variation * generator.standard_normal())
                        sides.append(Samples(np.array([float(np.median(steps))]), (steps,)))
                    regressions += judged(STEP, sides[0], sides[1], LIMIT).verdict == "regression"
                found.append(f"{100 * regressions / trials:.1f} %")
            print(f"| {count} | {100 * variation:.0f} % | {' | '.join(found)} |", flush=True)


def _steps(generator: Generator, count: int) -> Reals:
    noise = generator.standard_normal(count)
    for at in range(1, count):
        noise[at] = 0.7 * noise[at - 1] + np.sqrt(1 - 0.49) * noise[at]
    return np.exp(0.03 * noise)


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    of_runs(number)
    print()
    of_steps(number)
