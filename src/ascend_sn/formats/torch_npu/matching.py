"""Find rows of one array in another by exact keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import codes_of, first_match
from ascend_sn.model.rows import Int64, Text

Integers = npt.NDArray[np.integer[Any]]

__all__ = ["common_codes", "left_over", "lookup", "lookup_rows", "occurrence", "packed"]


def lookup(keys: Int64, wanted: Int64) -> Int64:
    """Return for each wanted key the first position at which `keys` holds it, or -1."""
    return first_match([keys], [wanted])


def lookup_rows(*columns: tuple[Integers, Integers]) -> Int64:
    """Return for each row of the right side the first row of the left that equals it in every column, or -1.

    Args:
        columns: Per column its values on the left and on the right side.
    """
    left, right = zip(*columns, strict=True)
    return first_match(left, right)


def packed(*columns: tuple[Int64, Int64]) -> tuple[Int64, Int64]:
    """Pack rows of several columns into one key each, for two sides: equal keys mean equal rows.

    Args:
        columns: Per column its values on the left and on the right side.

    Returns:
        Keys of the left and of the right side.
    """
    left = np.zeros(len(columns[0][0]), np.int64)
    right = np.zeros(len(columns[0][1]), np.int64)
    for on_left, on_right in columns:
        codes, count = codes_of(np.concatenate([on_left, on_right]))
        left = left * max(count, 1) + codes[: len(on_left)]
        right = right * max(count, 1) + codes[len(on_left) :]
        # The running key stays below the number of rows, so that the product never overflows.
        codes, _ = codes_of(np.concatenate([left, right]))
        left, right = codes[: len(left)].astype(np.int64), codes[len(left) :].astype(np.int64)
    return left, right


def left_over(count: int, taken: Int64) -> Int64:
    """Return the positions below `count` that are not among those taken; negative ones mean none."""
    free = np.ones(count, np.bool_)
    free[taken[taken >= 0]] = False
    return np.flatnonzero(free)


def occurrence(keys: Int64) -> Int64:
    """Return for each key how many equal ones stand before it."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    first = np.r_[True, ranked[1:] != ranked[:-1]] if len(ranked) else np.zeros(0, np.bool_)
    starts = np.flatnonzero(first)
    counts = np.arange(len(ranked)) - np.repeat(starts, np.diff(np.r_[starts, len(ranked)]))
    result = np.empty(len(keys), np.int64)
    result[order] = counts
    return result


def common_codes(left: Text, right: Text) -> tuple[Int64, Int64]:
    """Return codes of two text columns in one numbering; null is -1 on both sides."""
    numbers: dict[str, int] = {}
    tables = [
        np.array([*(numbers.setdefault(value, len(numbers)) for value in side.values), -1], np.int64)
        for side in (left, right)
    ]
    return tables[0][left.codes], tables[1][right.codes]
