"""Runs that are not independent: a machine that drifts, and how recording in turn makes up for it.

Runs of one side that were recorded one after the other may be like their neighbours. Their median then varies more than
their number says, and a drift between the two sides looks like a change. How much a run is like the one before it
cannot be known from few runs, so a share of one half is assumed, and given up the more runs say otherwise. Where
baseline and candidate were recorded in turn, a drift meets both, and nothing is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn.compare.statistics import doubled_midranks, robust_deviation

__all__ = ["SURE", "dependence", "drift_margin", "prediction_margin", "recorded_in_turn", "widening"]

Reals = npt.NDArray[np.float64]

ASSUMED_SHARE: Final = 0.5
"""Share of a run that is that of the run before it, where nothing is known."""

ASSUMED_PAIRS: Final = 20
"""How many neighbouring runs the assumption weighs as much as."""

MOST_SHARE: Final = 0.8
SURE_SCORE: Final = 2.4
"""Standard deviations that a change must be away from what a drift does; chosen by simulation."""

IN_A_ROW: Final = 2
"""Runs of one side after another that still count as recorded in turn."""

_MEDIAN: Final = 1.2533
"""Standard deviation of a median, in that of a mean."""

_CONFIDENCE: Final = 0.95

SURE: Final = 0.98
"""Confidence of a prediction from which on a run beyond it is a regression: one of 100 runs lies above it by chance."""


def recorded_in_turn(base_ns: Sequence[int | None], candidate_ns: Sequence[int | None]) -> bool:
    """Whether the runs of two sides were recorded in turn, from the starts of the runs, ns.

    At most two runs of one side follow each other; False where a start is unknown.
    """
    starts = [*base_ns, *candidate_ns]
    known = [start for start in starts if start is not None]
    if len(known) < len(starts) or len(set(known)) < len(known) or min(len(base_ns), len(candidate_ns)) < 2:
        return False
    sides = [place >= len(base_ns) for _, place in sorted(zip(known, range(len(known)), strict=True))]
    return all(len(set(sides[at : at + IN_A_ROW + 1])) > 1 for at in range(len(sides) - IN_A_ROW))


def dependence(sides: Sequence[Reals]) -> float:
    """Return the share of a run that is that of the run before it, from 0.

    The correlation of neighbouring runs by their ranks within each side, corrected for its bias in short series
    (Kendall 1954), and drawn towards `ASSUMED_SHARE`.

    Args:
        sides: Values of the runs of each side, in the order in which they were recorded.
    """
    products = squares = pairs = 0.0
    for values in sides:
        ranks = doubled_midranks(values) / 2 - (len(values) + 1) / 2
        products += float(np.sum(ranks[1:] * ranks[:-1]))
        squares += float(np.sum(ranks * ranks))
        pairs += max(len(values) - 1, 0)
    if not squares:
        return ASSUMED_SHARE
    count = pairs / len(sides) + 1
    found = products / squares
    found = min(max(found + (1 + 3 * found) / count, -0.5), 0.9)
    weighed = (ASSUMED_PAIRS * ASSUMED_SHARE + pairs * found) / (ASSUMED_PAIRS + pairs)
    return min(max(weighed, 0.0), MOST_SHARE)


def widening(share: float) -> float:
    """Return how many times as far the mean of dependent runs lies from its place as that of independent ones."""
    return sqrt((1 + share) / (1 - share))


def drift_margin(base: Reals, candidate: Reals, share: float) -> float:
    """Return how far apart a drift alone puts two medians in one of a hundred cases, in the unit of the values.

    Args:
        base: Runs of the baseline.
        candidate: Runs of the candidate.
        share: How much a run is like the one before it.
    """
    spread = sqrt((robust_deviation(base) ** 2 + robust_deviation(candidate) ** 2) / 2)
    return SURE_SCORE * spread * _MEDIAN * sqrt(1 / len(base) + 1 / len(candidate)) * widening(share)


def prediction_margin(base: Reals, count: int, confidence: float = _CONFIDENCE) -> float:
    """Return how far from the median of some runs the mean of `count` further ones lies, at most.

    Args:
        base: The runs.
        count: How many further ones.
        confidence: Share of the cases in which they lie no further.
    """
    if len(base) < 2:
        return float("inf")
    deviation = float(np.std(base, ddof=1))
    return _student(len(base) - 1, confidence) * deviation * sqrt(1 / count + _MEDIAN**2 / len(base))


def _student(freedom: int, confidence: float) -> float:
    """The two-sided quantile of Student's distribution, by the expansion of Cornish and Fisher."""
    z: float = NormalDist().inv_cdf(0.5 + confidence / 2)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / float(freedom) ** (power + 1) for power, term in enumerate(terms))
