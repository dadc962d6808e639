"""What rows per window have in common, and how much of an interval set lies in each window."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ascend_sn.analysis.activity import NO_STEP, Activity, Windows
from ascend_sn.model.rows import Int64

__all__ = ["WINDOW_TYPES", "lengths_within", "outer_windows", "window_identity"]

WINDOW_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "step_id": "integer",
    "step": "bigint",
    "scope": "varchar",
}
"""Columns that `window_identity` gives, with their DuckDB types."""


def window_identity(activity: Activity, at: int) -> dict[str, Any]:
    """Return the columns that say which window of which profile a row is about."""
    windows = activity.windows
    step_id = int(windows.step_id[at])
    return {
        "profile_id": activity.profile_id,
        "rank": activity.rank,
        "step_id": None if step_id == NO_STEP else step_id,
        "step": None if windows.step[at] is np.ma.masked else int(windows.step[at]),
        "scope": windows.scope[at],
    }


def outer_windows(windows: Windows) -> list[int]:
    """Return the positions of the windows that stand for the capture: all but the inferred steps."""
    return [at for at in range(len(windows)) if windows.origin[at] != "inferred"]


def lengths_within(start: Int64, end: Int64, low: Int64, high: Int64) -> Int64:
    """Return the length of a sorted, disjoint set of intervals inside each window [low, high)."""
    if not len(start):
        return np.zeros(len(low), np.int64)
    before = np.concatenate([np.zeros(1, np.int64), np.cumsum(end - start)])
    return _length_before(start, end, before, high) - _length_before(start, end, before, low)


def _length_before(start: Int64, end: Int64, before: Int64, moment: Int64) -> Int64:
    entered = np.searchsorted(start, moment, side="right")
    last = np.maximum(entered - 1, 0)
    beyond = np.where(entered > 0, np.maximum(end[last] - moment, 0), 0)
    return np.asarray(before[entered] - beyond, np.int64)
