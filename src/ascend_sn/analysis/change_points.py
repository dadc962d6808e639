"""Where the level of a series changes: energy statistics find the place, a rank test decides (A31)."""

from __future__ import annotations

from collections.abc import Callable
from math import erfc, sqrt
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["ChangePoint", "change_points", "rank_sum_p"]

SEGMENT_AT_LEAST: Final = 5
"""Values on each side of a change."""

CHANCE_BELOW: Final = 0.001
"""Probability of a difference so large by chance, below which a change counts."""

CHANGE_AT_LEAST: Final = 0.02
"""Change of the median, as a share of it, that counts."""

MAX_VALUES: Final = 1_000
"""Longer series are looked at in blocks of equal length, by their medians."""

Reals = npt.NDArray[np.float64]
Test = Callable[[npt.ArrayLike, npt.ArrayLike], float]
"""Two sides to the probability that they differ so much by chance."""


class ChangePoint(NamedTuple):
    """A change at `place`, the first value after it; medians of the segments on both sides."""

    place: int
    before: float
    after: float
    chance: float


class _Rule(NamedTuple):
    """Which changes count."""

    chance_below: float
    change_at_least: float
    test: Test


def change_points(
    values: npt.ArrayLike,
    *,
    chance_below: float = CHANCE_BELOW,
    change_at_least: float = CHANGE_AT_LEAST,
    test: Test | None = None,
) -> list[ChangePoint]:
    """Return the changes of level, in order.

    Divides the series where the energy distance between the two sides is largest (E-divisive, Matteson and James 2014,
    with exponent 1), as long as a two-sided rank-sum test of the sides gives p < 0.001 and their medians differ by 2 %.

    Args:
        values: The series.
        chance_below: Another bound for the probability.
        change_at_least: Another share of the median.
        test: Another test of two sides; default `rank_sum_p`.
    """
    rule = _Rule(chance_below, change_at_least, test or rank_sum_p)
    series = np.asarray(values, np.float64)
    block = -(-len(series) // MAX_VALUES) if len(series) else 1
    if block > 1:
        whole = len(series) // block * block
        series = np.median(series[:whole].reshape(-1, block), axis=1)
    cuts = [0, *_cuts(series, 0, len(series), rule), len(series)]
    found = []
    for low, cut, high in zip(cuts[:-2], cuts[1:-1], cuts[2:], strict=True):
        before, after = series[low:cut], series[cut:high]
        found.append(
            ChangePoint(cut * block, float(np.median(before)), float(np.median(after)), rule.test(before, after))
        )
    return found


def rank_sum_p(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Return the two-sided p of the Wilcoxon rank-sum test (normal approximation, corrected for ties)."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    n, m = len(a), len(b)
    if not n or not m:
        return 1.0
    both = np.concatenate([a, b])
    _, place, ties = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[place]
    total = n + m
    tied = float((ties.astype(np.float64) ** 3 - ties).sum()) / (total * (total - 1)) if total > 1 else 0.0
    variance = n * m / 12 * (total + 1 - tied)
    if variance <= 0:
        return 1.0
    score = float(ranks[:n].sum()) - n * (total + 1) / 2
    return erfc(abs(score) / sqrt(variance) / sqrt(2))


def _cuts(series: Reals, low: int, high: int, rule: _Rule) -> list[int]:
    part = series[low:high]
    if len(part) < 2 * SEGMENT_AT_LEAST:
        return []
    at = _best(part)
    before, after = part[:at], part[at:]
    middle = float(np.median(before))
    enough = abs(float(np.median(after)) - middle) >= rule.change_at_least * abs(middle)
    if not enough or rule.test(before, after) >= rule.chance_below:
        return []
    return [*_cuts(series, low, low + at, rule), low + at, *_cuts(series, low + at, high, rule)]


def _best(part: Reals) -> int:
    """Place of the largest energy distance, the first of equal ones."""
    count = len(part)
    distance = np.abs(part[:, np.newaxis] - part[np.newaxis, :])
    within = np.concatenate([[0.0], np.cumsum(np.tril(distance).sum(axis=1))])  # pairs inside the first k
    rows = distance.sum(axis=1)
    places = np.arange(SEGMENT_AT_LEAST, count - SEGMENT_AT_LEAST + 1)
    first = within[places]
    touching = np.concatenate([[0.0], np.cumsum(rows)])[places]
    across = touching - 2 * first
    second = within[-1] - first - across
    n, m = places.astype(np.float64), (count - places).astype(np.float64)
    inside = 2 * first / np.maximum(n * (n - 1), 1) + 2 * second / np.maximum(m * (m - 1), 1)
    energy = n * m / (n + m) * (2 * across / (n * m) - inside)
    return int(places[int(np.argmax(energy))])
