"""Values that stand out among their peers: modified z scores."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["OUTLIER_Z", "PEERS_AT_LEAST", "modified_z"]

OUTLIER_Z: Final = 3.5
"""Score beyond which a value stands out (Iglewicz and Hoaglin 1993)."""

PEERS_AT_LEAST: Final = 3
"""Values that a median needs before one of them can stand out."""

SPREAD_FLOOR_RATIO: Final = 0.02
"""Smallest deviation, as a share of the median, that counts as one unit of spread: with values that agree within 1 %
the median absolute deviation would make noise look like an outlier."""


def modified_z(values: npt.ArrayLike) -> npt.NDArray[np.float64] | None:
    """Return 0.6745 (value - median) / max(median absolute deviation, 2 % of the median) of each value.

    None with fewer than three values, or when all are zero.
    """
    given = np.asarray(values, np.float64)
    if len(given) < PEERS_AT_LEAST:
        return None
    middle = float(np.median(given))
    spread = max(float(np.median(np.abs(given - middle))), SPREAD_FLOOR_RATIO * abs(middle))
    if spread <= 0:
        return None
    return np.asarray(0.6745 * (given - middle) / spread, np.float64)
