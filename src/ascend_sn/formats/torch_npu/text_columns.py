"""Text columns put together from others, per distinct pair of texts and not per row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import codes_of, compact
from ascend_sn.model.rows import Int64, Nullable, Text

__all__ = ["combined", "either", "number_text", "taken"]


_FEW: Final = 1 << 12


def combined(left: Text, right: Text, function: Callable[[str | None, str | None], str | None]) -> Text:
    """Return `function(left, right)` of every row; the function is called once per distinct pair."""
    width = len(right.values) + 1
    pairs, at = _pairs(left, right, width)
    numbers: dict[str, int] = {}
    table = np.full(len(pairs), -1, np.int32)
    for position, pair in enumerate(pairs.tolist()):
        on_left, on_right = pair // width - 1, pair % width - 1
        text = function(
            left.values[on_left] if on_left >= 0 else None, right.values[on_right] if on_right >= 0 else None
        )
        if text is not None:
            table[position] = numbers.setdefault(text, len(numbers))
    return Text(table[at], list(numbers))


def _pairs(left: Text, right: Text, width: int) -> tuple[Int64, npt.NDArray[np.int32]]:
    """Return the distinct pairs of codes, each as one number, and which of them every row has."""
    possible = (len(left.values) + 1) * width
    if possible <= max(len(left), _FEW):  # a table of all of them is quicker than hashing
        used, at = compact((left.codes + 1) * np.int32(width) + right.codes + 1, possible)
        return used.astype(np.int64), at
    keys = (left.codes.astype(np.int64) + 1) * width + right.codes + 1
    at, count = codes_of(keys)
    pairs = np.zeros(count, np.int64)
    pairs[at] = keys
    return pairs, at


def either(first: Text, second: Text) -> Text:
    """Return the first text of every row, where it is null the second."""
    return combined(first, second, lambda own, other: other if own is None else own)


def taken(text: Text, index: Int64) -> Text:
    """Return the rows at `index`; null where that is negative."""
    codes = np.append(text.codes, np.int32(-1))
    return Text(codes[np.where(index < 0, len(text), index)], text.values)


def number_text(numbers: Nullable) -> Text:
    """Return whole numbers as text."""
    distinct, codes = np.unique(numbers.values, return_inverse=True)
    return Text(np.where(numbers.valid, codes, -1).astype(np.int32), [str(number) for number in distinct.tolist()])
