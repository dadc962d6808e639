"""Columns of the profiler database: thread ids, ids that mean none, times that cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn.formats.sqlite_columns import Database, sqlite_integers
from ascend_sn.formats.torch_npu.limits import small
from ascend_sn.model.rows import Int64, Nullable, Text
from ascend_sn.model.times import possible_times

__all__ = ["NONE_ID", "checked_times", "ids", "known", "lookup_dict", "padded", "threads"]

NONE_ID: Final = 0xFFFFFFFF
"""Stands for no id, no rank, no number."""


def threads(global_tids: Nullable) -> Text:
    """Return thread ids as text out of `(pid << 32) | tid`."""
    tids, codes = np.unique(global_tids.values & 0xFFFFFFFF, return_inverse=True)
    return Text(np.where(global_tids.valid, codes, -1).astype(np.int32), [str(tid) for tid in tids.tolist()])


def checked_times(database: Database, table: str, start: Nullable, end: Nullable) -> npt.NDArray[np.bool_]:
    """Return the mask of rows with both times and a possible length; the others go to the ledger."""
    readable = start.valid & end.valid
    told = database.told & {f"{table}.startNs", f"{table}.endNs"}  # cells that hold something and no number
    if not readable.all() and not told:
        place = f"table {table}, row {int(np.flatnonzero(~readable)[0])}"
        database.ledger.add(database.file, "unreadable_cell", place=place, count=int((~readable).sum()))
    impossible = readable & ~possible_times(start.values, end.values - start.values)
    if impossible.any():
        place = f"table {table}, row {int(np.flatnonzero(impossible)[0])}"
        database.ledger.add(database.file, "impossible_time", place=place, count=int(impossible.sum()))
    return readable & ~impossible


def ids(values: Sequence[Any]) -> Int64:
    """Return ids; -1 where there is none."""
    numbers = sqlite_integers(values)
    return np.where(numbers.valid & (numbers.values != NONE_ID), numbers.values, -1)


def known(values: Sequence[Any]) -> Nullable:
    """Return ids that may be absent."""
    numbers = sqlite_integers(values)
    return small(numbers)


def lookup_dict(values: dict[int, int], keys: Int64) -> Nullable:
    """Return the value of each key; null where there is none."""
    found = [values.get(key, -1) for key in keys.tolist()]
    numbers = np.array(found, np.int64)
    return Nullable(numbers, numbers >= 0)


def padded(numbers: Nullable) -> Nullable:
    """Append a null, so that position 0 exists even without rows."""
    return Nullable(np.append(numbers.values, 0), np.append(numbers.valid, False))
