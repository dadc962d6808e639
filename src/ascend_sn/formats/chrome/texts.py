"""Dictionary codes of a whole file to the small dictionaries of one column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import compact
from ascend_sn._native.trace_scan import texts_at
from ascend_sn.model.rows import Int64, Nullable, Text

__all__ = ["Codes", "distinct", "distinct_pairs", "mapped_integers", "mapped_text", "text_column"]

Codes = npt.NDArray[np.int32]


def distinct(codes: Codes) -> tuple[Int64, Codes]:
    """Return the codes in use, ascending, and the column renumbered by them; negative codes stay -1."""
    used, renumbered = compact(codes, int(codes.max(initial=-1)) + 1)
    return used.astype(np.int64), renumbered


def distinct_pairs(first: Codes, second: Codes) -> tuple[Codes, Codes, Codes]:
    """Return the distinct pairs (two arrays) of two code columns, and the number of the pair in each row."""
    keys = (first.astype(np.int64) << 32) | (second.astype(np.int64) & 0xFFFFFFFF)
    pairs, row = np.unique(keys, return_inverse=True)
    return (pairs >> 32).astype(np.int32), pairs.astype(np.int32), row.astype(np.int32)


def text_column(codes: Codes, strings: Sequence[str]) -> Text:
    """Return a text column that holds only the strings it uses; negative codes are null."""
    used, renumbered = distinct(codes)
    return Text(renumbered, texts_at(strings, used))


def mapped_text(codes: Codes, strings: Sequence[str], function: Callable[[str], str | None]) -> Text:
    """Return a text column of `function(text)`, called once for every distinct text."""
    return text_column(codes, strings).mapped(function)


def mapped_integers(codes: Codes, strings: Sequence[str], function: Callable[[str], int | None]) -> Nullable:
    """Return whole numbers of `function(text)`, called once for every distinct text; None is null."""
    used, renumbered = distinct(codes)
    return expand([function(text) for text in texts_at(strings, used)], renumbered)


def expand(numbers: Sequence[int | None], row: npt.NDArray[Any]) -> Nullable:
    """Return `numbers[row]`; a negative row and a None are null."""
    values = np.array([0 if number is None else number for number in numbers] + [0], np.int64)
    valid = np.array([number is not None for number in numbers] + [False], np.bool_)
    return Nullable(values[row], valid[row])
