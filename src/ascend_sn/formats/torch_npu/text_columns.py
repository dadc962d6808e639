"""Text columns put together from others, per distinct pair of texts and not per row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ascend_sn._native.codes import codes_of
from ascend_sn.model.rows import Int64, Nullable, Text

__all__ = ["combined", "either", "number_text", "taken"]


def combined(left: Text, right: Text, function: Callable[[str | None, str | None], str | None]) -> Text:
    """Return `function(left, right)` of every row; the function is called once per distinct pair."""
    width = len(right.values) + 1
    keys = (left.codes.astype(np.int64) + 1) * width + right.codes + 1
    at, count = codes_of(keys)
    pairs = np.zeros(count, np.int64)
    pairs[at] = keys
    numbers: dict[str, int] = {}
    table = np.full(count, -1, np.int32)
    for position, pair in enumerate(pairs.tolist()):
        on_left, on_right = pair // width - 1, pair % width - 1
        text = function(
            left.values[on_left] if on_left >= 0 else None, right.values[on_right] if on_right >= 0 else None
        )
        if text is not None:
            table[position] = numbers.setdefault(text, len(numbers))
    return Text(table[at], list(numbers))


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
