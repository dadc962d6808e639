"""The statistics of a comparison: intervals by resampling, an exact rank test, how many runs are needed, Holm.

Runs are the samples. Steps of one run depend on each other, so that where there are too few runs, blocks of
neighbouring steps are drawn together. Everything here is reproducible: the random numbers have a fixed seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = [
    "RESAMPLES",
    "SEED",
    "block_length",
    "block_replicates",
    "doubled_midranks",
    "holm",
    "interval_of",
    "mann_whitney_greater",
    "robust_deviation",
    "robust_variation",
    "run_replicates",
    "runs_needed",
]

Reals = npt.NDArray[np.float64]
Statistic = Callable[[Reals], Reals]
"""From resamples (one a row; a further last axis holds the columns of a sample) to one value each."""

RESAMPLES: Final = 2_000
SEED: Final = 20_240_229
CONFIDENCE: Final = 0.95

_SIGMA_OF_DEVIATION: Final = 1.4826
"""Standard deviation of normal values, in median absolute deviations."""

MAX_STEPS: Final = 4_000
"""Steps of a run that are resampled; of a longer run the last ones."""

_AT_ONCE: Final = 4_000_000
"""Values that are drawn at once."""

_EXACT_UP_TO: Final = 60
"""Samples of both sides for which all orders are counted; beyond, their number is so large that a normal curve fits."""

_RUNS_IN_TURN: Final = ((0.02, 7), (0.05, 10), (0.10, 20))
"""Coefficient of variation between runs, and the runs per side that find +15 % at a limit of +10 % in 85 of 100 cases
with at most one false alarm."""

_RUNS_ONE_AFTER_THE_OTHER: Final = ((0.02, 7), (0.05, 10), (0.10, 30))
"""The same, where the interval allows for a drift between the sides."""

_LIMIT_THERE: Final = 0.10
_ROUNDING: Final = 1e-9


def run_replicates(values: Reals, statistic: Statistic, seed: int) -> Reals:
    """Return the statistic of resampled runs.

    Args:
        values: One row a run.
        statistic: What to work out, such as `lambda drawn: np.median(drawn, axis=1)`.
        seed: Of the random numbers; another one for each side.
    """
    generator = np.random.default_rng(seed)
    drawn = generator.integers(0, len(values), (RESAMPLES, len(values)))
    return statistic(values[drawn])


def block_replicates(runs: Sequence[Reals], statistic: Statistic, seed: int) -> Reals:
    """Return the statistic of the pooled steps of some runs, blocks of neighbouring steps drawn within each run.

    Args:
        runs: The steps of each run by time, one row a step.
        statistic: What to work out.
        seed: Of the random numbers; another one for each side.
    """
    generator = np.random.default_rng(seed)
    series = [run[-MAX_STEPS:] for run in runs]
    count = sum(map(len, series))
    lengths = [block_length(run if run.ndim == 1 else run[:, 0]) for run in series]
    found = []
    left = RESAMPLES
    while left:
        batch = min(left, max(1, _AT_ONCE // max(count, 1)))
        drawn = [run[_blocks(generator, len(run), length, batch)] for run, length in zip(series, lengths, strict=True)]
        found.append(statistic(np.concatenate(drawn, axis=1)))
        left -= batch
    return np.concatenate(found)


def block_length(steps: Reals) -> int:
    """Return how many neighbouring steps are drawn together: more, the more a step depends on the one before it.

    The rule is that for a series in which each step depends on the one before by a share r:
    (6 ** 0.5 * r / (1 - r * r)) ** (2 / 3) * n ** (1 / 3); at least the cube root of n, at most a third of n.
    """
    count = len(steps)
    least = max(1, round(math.cbrt(count)))
    spread = steps - np.median(steps)
    # Ranks rather than lengths: one very long step says nothing about dependence.
    ranks = np.argsort(np.argsort(spread, kind="stable"), kind="stable") - (count - 1) / 2
    total = float(np.sum(ranks * ranks))
    if count < 4 or total == 0 or not bool(spread.any()):
        return least
    share = min(max(float(np.sum(ranks[1:] * ranks[:-1])) / total, 0.0), 0.95)
    wanted: float = (math.sqrt(6) * share / (1 - share * share)) ** (2 / 3) * math.cbrt(count)
    return max(least, min(math.ceil(wanted), max(1, count // 3)))


def _blocks(generator: np.random.Generator, count: int, length: int, batch: int) -> npt.NDArray[np.int64]:
    """Positions of resampled steps; a block that reaches the end goes on at the beginning."""
    starts = generator.integers(0, count, (batch, math.ceil(count / length)))
    positions = (starts[:, :, None] + np.arange(length)) % count
    drawn: npt.NDArray[np.int64] = positions.reshape(batch, -1)[:, :count]
    return drawn


def interval_of(replicates: Reals) -> tuple[float, float]:
    """Return the 95 % percentile interval."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return float(low), float(high)


def mann_whitney_greater(base: Sequence[float], candidate: Sequence[float]) -> float:
    """Return the one-sided p value of the rank test that the candidate's values are greater.

    Exact for up to 60 values, ties included: all ways to part the values in two groups of these sizes are counted.
    Beyond, a normal curve with correction for ties and continuity stands for them.
    """
    values = np.concatenate([np.asarray(base, np.float64), np.asarray(candidate, np.float64)])
    doubled = doubled_midranks(values)
    observed = int(doubled[len(base) :].sum())
    if len(values) <= _EXACT_UP_TO:
        return _exact_p(doubled, len(candidate), observed)
    many, few = len(candidate), len(base)
    total = many + few
    mean = many * (total + 1)
    variance = float(np.sum((doubled - (total + 1)) ** 2)) * many * few / (total * (total - 1))
    if variance == 0:
        return 1.0
    return 0.5 * math.erfc((observed - mean - 1) / math.sqrt(2 * variance))


def doubled_midranks(values: Reals) -> npt.NDArray[np.int64]:
    """Twice the rank of each value, from 2; equal values share the mean of their ranks."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    doubled: npt.NDArray[np.int64] = (2 * ends - counts + 1)[inverse]
    return doubled


def _exact_p(doubled: npt.NDArray[np.int64], size: int, observed: int) -> float:
    """Share of the groups of `size` values whose rank sum is at least the observed one."""
    most = int(np.sort(doubled)[-size:].sum()) if size else 0
    ways = np.zeros((size + 1, most + 1), np.int64)  # at most C(60, 30), which fits
    ways[0, 0] = 1
    for rank in doubled.tolist():
        for chosen in range(size, 0, -1):
            if rank <= most:
                ways[chosen, rank:] += ways[chosen - 1, : most + 1 - rank]
    return float(int(ways[size, observed:].sum()) / math.comb(len(doubled), size))


def robust_variation(values: Sequence[float]) -> float:
    """Return the coefficient of variation from the median absolute deviation; 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    array = np.asarray(values, np.float64)
    middle = float(np.median(array))
    return robust_deviation(array) / abs(middle) if middle else 0.0


def robust_deviation(values: Reals) -> float:
    """Return the standard deviation that normal values of this median absolute deviation have."""
    return _SIGMA_OF_DEVIATION * float(np.median(np.abs(values - np.median(values))))


def runs_needed(variation: float, limit: float, *, in_turn: bool = False) -> int:
    """Return how many runs per side find a change of one and a half times the limit in 85 of 100 cases.

    Taken from the simulation in `docs/explanation/gate-statistics.md`, between its points along a straight line; what
    counts is the variation in units of the limit.

    Args:
        variation: Coefficient of variation between runs.
        limit: The change that is allowed, 0.1 for 10 %.
        in_turn: Whether both sides are recorded in turn, so that no drift has to be allowed for.
    """
    table = _RUNS_IN_TURN if in_turn else _RUNS_ONE_AFTER_THE_OTHER
    scaled = variation * _LIMIT_THERE / limit if limit > 0 else math.inf
    if math.isinf(scaled):
        return table[-1][1]
    (last, most) = table[-1]
    if scaled > last:
        return math.ceil(most * (scaled / last) ** 2 - _ROUNDING)
    points, counts = zip(*table, strict=True)
    return math.ceil(float(np.interp(scaled, points, counts)) - _ROUNDING)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected by Holm's step-down method for having looked at all of them, in the given order."""
    order = sorted(range(len(p_values)), key=lambda at: p_values[at])
    corrected = [0.0] * len(p_values)
    so_far = 0.0
    for place, at in enumerate(order):
        so_far = max(so_far, min(1.0, (len(p_values) - place) * p_values[at]))
        corrected[at] = so_far
    return corrected
