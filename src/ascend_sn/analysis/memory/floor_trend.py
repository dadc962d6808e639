"""The series test of A22: does a memory floor rise without end, or did it rise and settle?"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from ascend_sn.analysis.trend import Line, rising_p, theil_sen

__all__ = ["FloorTrend", "floor_trend", "onset_of"]

Verdict = Literal["leak", "cache", "steady", "insufficient"]

WARM_UP_AT_LEAST: Final = 3
WARM_UP_RATIO: Final = 0.1
"""Steps left out at the start: this share, three at least."""

STEPS_AT_LEAST: Final = 30
"""Steps that must be left."""

CHANCE_BELOW: Final = 0.01
"""Probability of rising so by chance, below which a series rises."""

TAIL_CHANCE_BELOW: Final = 0.05
"""The same for the last quarter, which is short."""

DECELERATION_RATIO: Final = 0.6
"""A slope below this share of the slope before it is slowing down."""

GROWTH_RATIO: Final = 0.001
"""Growth over the second half, as a share of the median level, below which nothing grows."""

RETURN_QUANTILE: Final = 0.05
"""The lowest values of the second half: a floor that comes down to the middle of the first half does not leak, and one
that comes down to where it began is steady."""

Reals = npt.NDArray[np.float64]


class FloorTrend(NamedTuple):
    """What a floor does.

    Attributes:
        verdict: leak (rises to the end without slowing down), cache (rose, and slowed down or settled), steady (did not
            rise, or comes down again), insufficient (too few steps).
        steps: Steps looked at, the warm-up left out.
        slope: Bytes per step over the second half (Theil-Sen).
        slope_low: Lower 95 % bound of it.
        p_all: Probability that a series without trend rises as much as the whole.
        p_tail: The same for the second half.
        growth: Bytes from the first to the last step looked at, by the medians of their tenths.
    """

    verdict: Verdict
    steps: int
    slope: float | None = None
    slope_low: float | None = None
    p_all: float | None = None
    p_tail: float | None = None
    growth: float | None = None


def floor_trend(floor: npt.ArrayLike, *, least_growth: float = 0.0) -> FloorTrend:
    """Judge the lowest memory level of each step.

    The first three steps (10 % of them, if that is more) are left out; thirty must be left. A leak is a floor that
    rises as a whole and in its second half (Kendall, one-sided, p < 0.01), whose second half has a slope with a lower
    95 % bound above 0, is not slower than 60 % of the first half, never comes down to the middle of the first half, and
    still rises in the last quarter. A floor that rose but fails one of these is a cache; one that did not rise, or
    comes down again, is steady.

    Args:
        floor: Bytes, one per step, in order.
        least_growth: Bytes below which growth, over all or over the second half, says nothing.
    """
    series = np.asarray(floor, np.float64)
    series = series[max(WARM_UP_AT_LEAST, round(WARM_UP_RATIO * len(series))) :]
    count = len(series)
    if count < STEPS_AT_LEAST:
        return FloorTrend("insufficient", count)
    first, second, quarter = series[: count // 2], series[count // 2 :], series[-(count // 4) :]
    p_all, p_tail = rising_p(series), rising_p(second)
    slopes = [theil_sen(np.arange(len(part)), part) for part in (first, second, quarter)]
    before, after, last = (Line(0.0, 0.0, 0.0, 0.0) if line is None else line for line in slopes)
    tenth = max(count // 10, 1)
    growth = float(np.median(series[-tenth:]) - np.median(series[:tenth]))
    enough = max(GROWTH_RATIO * abs(float(np.median(series))), least_growth)
    lowest = float(np.quantile(second, RETURN_QUANTILE))
    if p_all >= CHANCE_BELOW or growth < enough or lowest <= float(np.median(series[:tenth])):
        verdict: Verdict = "steady"
    elif (
        lowest > float(np.median(first))
        and p_tail < CHANCE_BELOW
        and after.low > 0
        and after.high >= DECELERATION_RATIO * before.low
        and after.slope * len(second) >= enough
        and last.high >= DECELERATION_RATIO * after.low
        and rising_p(quarter) < TAIL_CHANCE_BELOW
    ):
        verdict = "leak"
    else:
        verdict = "cache"
    return FloorTrend(verdict, count, after.slope, after.low, p_all, p_tail, growth)


def onset_of(floor: npt.ArrayLike) -> int:
    """Return the place from which a floor rises: where level-then-line fits with the least squares."""
    series = np.asarray(floor, np.float64)
    count = len(series)
    if count < 3:
        return 0
    places = np.arange(count, dtype=np.float64)
    best, best_error = 0, np.inf
    for at in range(count - 1):
        rise = np.maximum(places - at, 0.0)
        centred, level = rise - rise.mean(), series - series.mean()
        error = float((level**2).sum() - (centred @ level) ** 2 / (centred @ centred))
        if error < best_error * (1 - 1e-9):
            best, best_error = at, error
    return best
