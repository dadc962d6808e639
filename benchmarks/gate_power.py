"""How often the gate is wrong, and how often it finds a change: the tables of docs/explanation/gate-statistics.md.

python benchmarks/gate_power.py [TRIALS]    (of no change; half as many of each change)

The first four families of noise were named before the rule was tried on them. The rule was then changed, because
drifting runs gave 6 % of false alarms. The other drifts were not used to choose that change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
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
    return np.exp(variation * _dependent(generator, count, 0.5))


def slowly_drifting(generator: Generator, count: int, variation: float) -> Reals:
    """Each run is like the one before by 0.7."""
    return np.exp(variation * _dependent(generator, count, 0.7))


def hardly_drifting(generator: Generator, count: int, variation: float) -> Reals:
    """Each run is like the one before by 0.3."""
    return np.exp(variation * _dependent(generator, count, 0.3))


def two_states(generator: Generator, count: int, variation: float) -> Reals:
    """Three runs of ten on the slower of two machines, which lie three variations apart."""
    slow = generator.random(count) < 0.3
    return np.exp(0.5 * variation * generator.standard_normal(count)) * np.where(slow, 1 + 2 * variation, 1.0)


def often_disturbed(generator: Generator, count: int, variation: float) -> Reals:
    """Every tenth run takes half as long again."""
    return generator.lognormal(0, variation, count) * np.where(generator.random(count) < 0.1, 1.5, 1.0)


def differently_disturbed(generator: Generator, count: int, variation: float) -> Reals:
    """Every twentieth run is longer, by 30 % in the mean and by any amount."""
    longer = 1 + generator.exponential(0.3, count)
    return generator.lognormal(0, variation, count) * np.where(generator.random(count) < 0.05, longer, 1.0)


Family = Callable[[Generator, int, float], Reals]

FAMILIES: Final[tuple[Family, ...]] = (lognormal, normal, drifting, two_states)
OTHER_DISTURBANCES: Final[tuple[Family, ...]] = (often_disturbed, differently_disturbed)
OTHER_DRIFTS: Final[tuple[Family, ...]] = (hardly_drifting, slowly_drifting)


def of_runs(trials: int, families: tuple[Family, ...], *, in_turn: bool) -> None:
    """Runs are the samples, recorded one side after the other, or in turn."""
    print("| noise between runs | CV | runs per side | false alarms | +15 % found | +20 % found |")
    print("|---|---|---|---|---|---|")
    for family in families:
        for variation in (0.02, 0.05, 0.10):
            for count in (5, 10, 20) if in_turn else (5, 10, 20, 30):
                draw = partial(_sides, family, np.random.default_rng(SEED), count, variation, in_turn)
                _row(family, variation, count, _found(draw, trials, in_turn=in_turn))


def of_history(trials: int, families: tuple[Family, ...]) -> None:
    """A history of runs against a few runs of the candidate."""
    print("| noise between runs | CV | runs before | of the candidate | false alarms | +15 % found | +20 % found |")
    print("|---|---|---|---|---|---|---|")
    for family in families:
        for variation in (0.02, 0.05, 0.10):
            for count, further in ((5, 2), (5, 3), (10, 2), (20, 1), (20, 2)):
                draw = partial(_next_runs, family, np.random.default_rng(SEED), count, further, variation)
                _row(family, variation, f"{count} | {further}", _found(draw, trials))


def _found(draw: Callable[[], tuple[Reals, Reals]], trials: int, *, in_turn: bool = False) -> list[str]:
    """How many of the drawn sides are called a regression, without a change and with each."""
    found = []
    for change in CHANGES:
        regressions = 0
        tries = trials if change == 0 else trials // 2
        for _ in range(tries):
            base, candidate = draw()
            sides = Samples(base), Samples(candidate * (1 + change))
            regressions += judged(STEP, *sides, LIMIT, in_turn=in_turn).verdict == "regression"
        found.append(f"{100 * regressions / tries:.1f} %")
    return found


def _next_runs(family: Family, generator: Generator, count: int, further: int, variation: float) -> tuple[Reals, Reals]:
    runs = family(generator, count + further, variation)
    return runs[:count], runs[count:]


def _sides(family: Family, generator: Generator, count: int, variation: float, in_turn: bool) -> tuple[Reals, Reals]:
    if not in_turn:
        return family(generator, count, variation), family(generator, count, variation)
    runs = family(generator, 2 * count, variation)
    return runs[::2], runs[1::2]


def _row(family: Family, variation: float, count: int | str, found: list[str]) -> None:
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
    return np.exp(0.03 * _dependent(generator, count, 0.7))


def _dependent(generator: Generator, count: int, share: float) -> Reals:
    noise = generator.standard_normal(count)
    for at in range(1, count):
        noise[at] = share * noise[at - 1] + np.sqrt(1 - share * share) * noise[at]
    return noise


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 800
    of_runs(number, FAMILIES, in_turn=False)
    print()
    of_runs(number, FAMILIES, in_turn=True)
    print()
    of_history(number, FAMILIES)
    print()
    of_history(number, OTHER_DISTURBANCES)
    print()
    of_steps(number)
    print()
    of_runs(number, OTHER_DRIFTS, in_turn=False)
    print()
    of_runs(number, OTHER_DRIFTS, in_turn=True)
