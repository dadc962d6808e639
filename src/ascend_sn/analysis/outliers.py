"""Values that stand out among their peers: modified z scores, and the median of the others."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = [
    "DEVIATION_OF_SIGMA", "OUTLIER_Z", "PEERS_AT_LEAST", "SIGMA_OF_DEVIATION", "modified_z", "modified_z_in_sql",
    "others_median",
]  # fmt: skip

OUTLIER_Z: Final = 3.5
"""Score beyond which a value stands out (Iglewicz and Hoaglin 1993)."""

PEERS_AT_LEAST: Final = 3
"""Values that a median needs before one of them can stand out."""

DEVIATION_OF_SIGMA: Final = 0.6745
"""Median absolute deviation of normal values, in standard deviations."""

SIGMA_OF_DEVIATION: Final = 1.4826
"""Standard deviation of normal values, in median absolute deviations."""

SPREAD_FLOOR_RATIO: Final = 0.02
"""Smallest deviation, as a share of the median, that counts as one unit of spread: with values that agree within 1 %
the median absolute deviation would make noise look like an outlier."""


def modified_z(values: npt.ArrayLike, least: npt.ArrayLike | None = None) -> npt.NDArray[np.float64] | None:
    """Return 0.6745 (value - median) / max(median absolute deviation, least) of each value.

    None with fewer than three values, or when all are zero.

    Args:
        values: The values.
        least: Smallest deviation that counts as one unit of spread, one or one per value; 2 % of the median if None.
    """
    given = np.asarray(values, np.float64)
    if len(given) < PEERS_AT_LEAST:
        return None
    middle = float(np.median(given))
    floor = np.asarray(SPREAD_FLOOR_RATIO * abs(middle) if least is None else least, np.float64)
    spread = np.maximum(float(np.median(np.abs(given - middle))), floor)
    if not bool((spread > 0).all()):
        return None
    return np.asarray(DEVIATION_OF_SIGMA * (given - middle) / spread, np.float64)


def modified_z_in_sql(value: str, middle: str, deviation: str, *, least: str | None = None) -> str:
    """Return the same score as an expression of SQL.

    Args:
        value: Expression of the value.
        middle: Expression of the median, above 0.
        deviation: Expression of the median absolute deviation.
        least: Expression of a further bound below one unit of spread.
    """
    bounds = [deviation, f"{SPREAD_FLOOR_RATIO} * {middle}", *([] if least is None else [least])]
    return f"{DEVIATION_OF_SIGMA} * ({value} - {middle}) / greatest({', '.join(bounds)})"


def others_median(values: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Return for each of two or more values the median of all others."""
    given = np.asarray(values, np.float64)
    count = len(given)
    order = np.argsort(given, kind="stable")
    ordered, place = given[order], np.empty(count, np.int64)
    place[order] = np.arange(count)
    low, high = (count - 2) // 2, (count - 1) // 2
    # Where a value stands at or before a place of the order, what is left of the others has moved up by one.
    lower, upper = (ordered[at + (place <= at)] for at in (low, high))
    return np.asarray(lower if low == high else (lower + upper) / 2)
