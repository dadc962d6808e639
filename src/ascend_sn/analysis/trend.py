"""Trends that outliers do not move: Kendall's test and Theil-Sen lines.

Both look at all pairs of values. A longer series is thinned evenly to `MAX_VALUES` first.
"""

from __future__ import annotations

from math import erfc, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["MAX_VALUES", "Line", "rising_p", "theil_sen"]

MAX_VALUES: Final = 2_000
"""Values of a series that are compared with each other."""

Reals = npt.NDArray[np.float64]


class Line(NamedTuple):
    """y = intercept + slope x; `low` and `high` bound the slope with the asked confidence."""

    slope: float
    intercept: float
    low: float
    high: float


def rising_p(values: npt.ArrayLike) -> float:
    """Return the probability that a series without trend rises as much as this one: Kendall's test, one-sided.

    The normal approximation with the variance corrected for ties (Kendall 1975), without continuity correction. 1.0
    for fewer than three values or equal ones.
    """
    series = _thinned(np.asarray(values, np.float64))
    count = len(series)
    if count < 3:
        return 1.0
    above = np.triu(np.sign(series[np.newaxis, :] - series[:, np.newaxis]), 1)
    score = float(above.sum())
    _, ties = np.unique(series, return_counts=True)
    variance = (count * (count - 1) * (2 * count + 5) - _tie_sum(ties)) / 18
    if variance <= 0:
        return 1.0
    return 0.5 * erfc(score / sqrt(variance) / sqrt(2))


def theil_sen(x: npt.ArrayLike, y: npt.ArrayLike, confidence: float = 0.95) -> Line | None:
    """Return the median of the slopes between all pairs, with Sen's confidence interval (1968).

    Pairs with equal x are left out; the intercept is median(y) - slope median(x).

    Args:
        x: Places, in any order.
        y: Values at those places.
        confidence: Probability that the slope lies between `low` and `high`.

    Returns:
        The line; None where no two places differ.
    """
    order = np.argsort(np.asarray(x, np.float64), kind="stable")
    places, values = (_thinned(np.asarray(column, np.float64)[order]) for column in (x, y))
    first, second = np.triu_indices(len(places), 1)
    apart = places[second] - places[first]
    slopes = np.sort((values[second] - values[first])[apart > 0] / apart[apart > 0])
    if not len(slopes):
        return None
    slope = float(np.median(slopes))
    low, high = _bounds(slopes, places, values, confidence)
    return Line(slope, float(np.median(values) - slope * np.median(places)), low, high)


def _bounds(slopes: Reals, x: Reals, y: Reals, confidence: float) -> tuple[float, float]:
    count = len(y)
    ties = sum(_tie_sum(np.unique(column, return_counts=True)[1]) for column in (x, y))
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    if variance <= 0:
        return float(slopes[0]), float(slopes[-1])
    spread = NormalDist().inv_cdf(0.5 + confidence / 2) * sqrt(variance)
    upper = min(round((len(slopes) + spread) / 2), len(slopes) - 1)
    lower = max(round((len(slopes) - spread) / 2) - 1, 0)
    return float(slopes[lower]), float(slopes[upper])


def _tie_sum(ties: npt.NDArray[np.int64]) -> float:
    counts = ties.astype(np.float64)
    return float((counts * (counts - 1) * (2 * counts + 5)).sum())


def _thinned(values: Reals) -> Reals:
    if len(values) <= MAX_VALUES:
        return values
    return values[np.linspace(0, len(values) - 1, MAX_VALUES).round().astype(np.int64)]
