"""Codes of a whole file to the dictionaries of one column."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from ascend_sn.formats.chrome.events import lookup
from ascend_sn.formats.chrome.texts import Codes, distinct, distinct_pairs, mapped_integers, text_column

STRINGS = ["zero", "one", "two", "3", "4"]
CODES = st.lists(st.integers(-1, 4), max_size=30)


def codes(values: list[int]) -> Codes:
    return np.array(values, np.int32)


@given(CODES)
def test_a_column_keeps_its_texts_and_only_those(values: list[int]) -> None:
    column = text_column(codes(values), STRINGS)

    assert column.decode() == [STRINGS[value] if value >= 0 else None for value in values]
    assert sorted(column.values) == sorted({STRINGS[value] for value in values if value >= 0})


@given(CODES, st.randoms())
def test_pairs_are_told_apart(values: list[int], random: object) -> None:
    other = codes(list(reversed(values)))

    first, second, row = distinct_pairs(codes(values), other)

    assert first[row].tolist() == values
    assert second[row].tolist() == other.tolist()
    assert len(set(zip(first.tolist(), second.tolist(), strict=True))) == len(first)


def test_functions_see_every_text_once() -> None:
    seen: list[str] = []

    def number(text: str) -> int | None:
        seen.append(text)
        return int(text) if text.isdigit() else None

    found = mapped_integers(codes([3, 3, 0, -1, 4, 3]), STRINGS, number)

    assert seen == ["zero", "3", "4"]
    assert found.valid.tolist() == [True, True, False, False, True, True]
    assert found.values[found.valid].tolist() == [3, 3, 4, 3]
    assert lookup(codes([0, -1, 4]), STRINGS, len, -1).tolist() == [4, -1, 1]
    assert distinct(codes([-1]))[1].tolist() == [-1]
