"""Numbering of values, and finding values of one array in another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ascend_sn._native import _core

__all__ = ["codes_of", "compact", "distinct", "first_match", "places"]

_Integers = NDArray[np.integer[Any]]


def codes_of(keys: _Integers) -> tuple[NDArray[np.int32], int]:
    """Number the distinct keys by first appearance; return the number of every row, and how many there are."""
    codes = np.empty(len(keys), np.int32)
    return codes, _core.codes_of(np.ascontiguousarray(keys, np.int64), codes)


def first_match(keys: Sequence[_Integers], wanted: Sequence[_Integers]) -> NDArray[np.int64]:
    """Return for each wanted row the first row of the keys that equals it in every column, or -1.

    Args:
        keys: One to four columns of equal length.
        wanted: As many columns.
    """
    found = np.empty(len(wanted[0]), np.int64)
    _core.first_match(*(np.ascontiguousarray(column, np.int64) for column in (*keys, *wanted)), found)
    return found


def compact(codes: NDArray[np.int32], limit: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the codes in use, ascending, and the place of every row's code among them; -1 stays.

    Args:
        codes: From -1 up to `limit`.
        limit: One more than the highest code.
    """
    table, used = np.empty(limit, np.int32), np.empty(min(limit, len(codes)), np.int32)
    compacted = np.empty(len(codes), np.int32)
    count = _core.compact(np.ascontiguousarray(codes, np.int32), table, used, compacted)
    return used[:count], compacted


def places(ascending: NDArray[np.int32], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each wanted number among distinct ascending ones, or -1; quick where these ascend as well."""
    found = np.empty(len(wanted), np.int64)
    _core.places(ascending, np.ascontiguousarray(wanted, np.int64), found)
    return found


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct numbers, ascending; unlike `numpy.unique` it loads no masked arrays."""
    ranked = np.sort(values, axis=None)
    return ranked[np.append(True, ranked[1:] != ranked[:-1])] if len(ranked) else ranked
