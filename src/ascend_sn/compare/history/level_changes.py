"""Where a metric changed for good: weak changes in windows, of which the significant and large ones stay.

The procedure of Hunter and Otava (E-divisive means in windows of fifty runs, weak changes at ten times the probability,
then those that do not stand against their neighbours are taken out again), with an exact rank test, as few runs and
skewed noise ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn.analysis.change_points import ChangePoint, change_points
from ascend_sn.compare.statistics import mann_whitney_greater

__all__ = ["FEWEST", "WINDOW", "level_changes"]

FEWEST: Final = 15
"""Runs below which no change can be told from chance."""

WINDOW: Final = 50
"""Runs that are looked at together; windows overlap by half."""

CHANCE_BELOW: Final = 0.001
WEAK_FACTOR: Final = 10

CHANGE_AT_LEAST: Final = 0.03
"""Change of the median, as a share of it, that counts."""

Reals = npt.NDArray[np.float64]


def level_changes(values: Sequence[float], *, change_at_least: float = CHANGE_AT_LEAST) -> list[ChangePoint]:
    """Return the lasting changes of a series of runs, in order; none in fewer than fifteen runs.

    Args:
        values: Value of each run, the oldest first.
        change_at_least: Change of the median, as a share of it, that counts.
    """
    series = np.asarray(values, np.float64)
    if len(series) < FEWEST:
        return []
    places = sorted(
        {
            low + found.place
            for low in range(0, max(len(series) - WINDOW // 2, 1), WINDOW // 2)
            for found in change_points(
                series[low : low + WINDOW],
                chance_below=WEAK_FACTOR * CHANCE_BELOW,
                change_at_least=0.0,
                test=_two_sided,
            )
        }
    )
    return _standing(series, places, change_at_least)


def _standing(series: Reals, places: list[int], change_at_least: float) -> list[ChangePoint]:
    """Take out the least certain change until each stands against the segments beside it."""
    while True:
        cuts = [0, *places, len(series)]
        found = [
            ChangePoint(cut, float(np.median(before)), float(np.median(after)), _two_sided(before, after))
            for low, cut, high in zip(cuts[:-2], cuts[1:-1], cuts[2:], strict=True)
            for before, after in [(series[low:cut][-WINDOW:], series[cut:high][:WINDOW])]
        ]
        weak = [one for one in found if one.chance >= CHANCE_BELOW or _share(one) < change_at_least]
        if not weak:
            return found
        places.remove(max(weak, key=lambda one: (one.chance, -_share(one))).place)


def _share(one: ChangePoint) -> float:
    return abs(one.after - one.before) / abs(one.before) if one.before else float("inf")


def _two_sided(before: npt.ArrayLike, after: npt.ArrayLike) -> float:
    first, second = np.asarray(before, np.float64).tolist(), np.asarray(after, np.float64).tolist()
    return min(1.0, 2 * min(mann_whitney_greater(first, second), mann_whitney_greater(second, first)))
