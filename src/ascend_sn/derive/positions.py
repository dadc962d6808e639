"""Where rows stand in their table, by id."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_sn.model.rows import Int64

__all__ = ["positions"]


def positions(ids: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> Int64:
    """Return where each wanted id stands, -1 where it is none of `ids` (which need not be dense or sorted)."""
    if not len(ids):
        return np.full(len(wanted), -1, np.int64)
    if ids[0] == 0 and ids[-1] == len(ids) - 1 and bool((np.diff(ids) == 1).all()):
        return np.where((wanted >= 0) & (wanted < len(ids)), wanted, -1).astype(np.int64)
    order = np.argsort(ids, kind="stable")
    at = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    return np.where(ids[at] == wanted, at, -1).astype(np.int64)
