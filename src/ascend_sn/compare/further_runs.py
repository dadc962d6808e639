"""A few runs against many: when they are slower for a reason, and not because something disturbed them.

A run of the same program may be slower by any amount, now and then: a neighbour on the machine, a full disk. How often
is not known, and runs that were not disturbed do not tell how slow a disturbed one is. Two things hold all the same:

- Runs of one program come in any order. That `count` further ones are all slower than each of `base_count` before has a
  chance of 1 / C(base_count + count, count), whatever the noise is.
- If disturbances of one kind come at a rate q, all further runs and none of those before are disturbed with a chance of
  q ** count * (1 - q) ** base_count; the greatest value of this over all rates is that at q = count / (base_count +
  count). Where the runs before do hold disturbed ones, the further runs have to be clearly slower than these as well.
"""

from __future__ import annotations

from math import comb
from typing import Final

import numpy as np
import numpy.typing as npt

__all__ = ["FALSE_ALARMS", "chance_by_order", "chance_of_disturbance", "more_to_tell", "told_apart"]

Reals = npt.NDArray[np.float64]

FALSE_ALARMS: Final = 0.02
"""Share of the verdicts on an unchanged program that may be wrong."""

BY_ORDER: Final = FALSE_ALARMS / 2
"""Chance of an order from which on it decides alone: runs that are like their neighbours do not come in any order."""

_MOST: Final = 5
"""Further runs from which on both sides are samples of their own."""


def chance_by_order(base_count: int, count: int) -> float:
    """Return the chance that the slowest `count` runs of one program are those recorded last."""
    return 1 / comb(base_count + count, count)


def chance_of_disturbance(base_count: int, count: int) -> float:
    """Return the greatest chance that each of `count` further runs is disturbed and none of `base_count` before."""
    total = base_count + count
    return float((count / total) ** count * (base_count / total) ** base_count)


def told_apart(base: Reals, candidate: Reals, limit: float) -> bool:
    """Say whether further runs are worse than all before, by more than disturbances account for.

    Args:
        base: The runs before, so that larger is worse.
        candidate: The further runs.
        limit: Change that counts, in the unit of the values.
    """
    counts = len(base), len(candidate)
    apart = float(candidate.min() - base.max())
    if chance_by_order(*counts) <= BY_ORDER:
        return apart > 0
    return chance_of_disturbance(*counts) <= FALSE_ALARMS and apart >= limit


def more_to_tell(base_count: int, count: int) -> int:
    """Return how many more further runs it takes until they can be told apart; 0 where they can be already."""
    more = 0
    while count + more < _MOST and chance_of_disturbance(base_count, count + more) > FALSE_ALARMS:
        more += 1
    return more
