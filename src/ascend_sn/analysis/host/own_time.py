"""How the own time of ranks compares, step by step: whose is longer than the others', and is that more than noise."""

from __future__ import annotations

from math import log1p, sqrt
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn.analysis.outliers import DEVIATION_OF_SIGMA, modified_z, others_median

__all__ = ["OwnTimes", "compared"]

Reals = npt.NDArray[np.float64]

SPREAD_AT_LEAST: Final = 0.01
"""Smallest spread between ranks, as a share of their time: among ranks that agree better than that, one that takes a
little longer would stand out far."""

_MEDIAN_TO_MEAN: Final = 1.2533
"""Standard error of a median over that of a mean."""


class OwnTimes(msgspec.Struct, frozen=True):
    """Figures of each rank, in the order of the ranks; NaN where nobody else had any of its steps.

    Attributes:
        excess: Logarithm of its own time over the median of the others: so large in more than half of its steps.
        z: Modified z score of the excess among the ranks. The spread counts as no less than what the noise from step to
            step lets expect, nor than 1 %. Of two ranks, how far their difference is beyond what the noise from step to
            step lets expect (Student's t as a normal score); NaN with a single step.
        slowest: Share of the steps, of those that another rank has too, in which its own time is the largest.
    """

    excess: Reals
    z: Reals
    slowest: Reals


def compared(own: Reals) -> OwnTimes:
    """Compare ranks (rows) over steps (columns); a step that a rank has not is NaN."""
    excess = np.full(own.shape, np.nan)
    largest = np.zeros(own.shape, np.bool_)
    for step in range(own.shape[1]):
        there = np.flatnonzero(~np.isnan(own[:, step]))
        if len(there) < 2:
            continue
        times = np.maximum(own[there, step], 1.0)
        excess[there, step] = np.log(times) - np.log(others_median(times))
        second, first = np.sort(own[there, step])[-2:]
        largest[there, step] = (own[there, step] == first) & (first > second)
    counts = (~np.isnan(excess)).sum(axis=1)
    typical = _low_median(excess, counts)
    z = np.full(len(own), np.nan)
    known = counts > 0
    noise = _MEDIAN_TO_MEAN * _step_noise(excess, counts) / np.sqrt(counts[known])
    scores = modified_z(typical[known], DEVIATION_OF_SIGMA * np.maximum(noise, SPREAD_AT_LEAST))
    if scores is not None:
        z[known] = scores
    elif int(known.sum()) == 2:
        z[known] = _paired(excess[known][0])
    return OwnTimes(typical, z, np.where(known, largest.sum(axis=1) / np.maximum(counts, 1), np.nan))


def _paired(difference: Reals) -> tuple[float, float]:
    """Normal scores of two ranks of which the first one's time is so much longer in each step (logarithms)."""
    steps = difference[~np.isnan(difference)]
    free = len(steps) - 1
    if free < 1:
        return np.nan, np.nan
    error = max(float(np.std(steps, ddof=1)), SPREAD_AT_LEAST) / sqrt(len(steps))
    t = float(np.mean(steps)) / error
    # D. L. Wallace (1959): a normal score of the same probability, within a few percent from three steps on.
    score = (8 * free + 1) / (8 * free + 3) * sqrt(free * log1p(t * t / free))
    return (score, -score) if t > 0 else (-score, score)


def _low_median(values: Reals, counts: npt.NDArray[np.int64]) -> Reals:
    """The largest value that more than half of those in each row reach; NaN in a row without any."""
    ordered = np.sort(values, axis=1)  # NaN comes last
    at = np.maximum(counts - 1, 0) // 2
    return np.asarray(np.take_along_axis(ordered, at[:, None], axis=1)[:, 0])


def _step_noise(excess: Reals, counts: npt.NDArray[np.int64]) -> float:
    """Standard deviation of a rank's excess from step to step; 0 where no rank has two steps."""
    several = counts > 1
    if not bool(several.any()):
        return 0.0
    rest = np.abs(excess[several] - np.nanmean(excess[several], axis=1)[:, None])
    steps = float(np.median(counts[several]))
    return float(np.nanmedian(rest)) / DEVIATION_OF_SIGMA * sqrt(steps / (steps - 1))
