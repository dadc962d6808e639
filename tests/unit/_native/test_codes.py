"""Numbering and matching of values against plain Python."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn._native.codes import codes_of, compact, distinct, first_match, places
from ascend_sn._native.trace_scan import Strings, scan, texts_at

KEYS = st.lists(st.one_of(st.integers(-3, 3), st.integers(-(1 << 63), (1 << 63) - 1)), max_size=60)


def numbered(keys: Sequence[int]) -> list[int]:
    seen: dict[int, int] = {}
    return [seen.setdefault(key, len(seen)) for key in keys]


@given(KEYS)
def test_codes_count_keys_by_first_appearance(keys: list[int]) -> None:
    codes, count = codes_of(np.array(keys, np.int64))

    assert codes.tolist() == numbered(keys)
    assert count == len(set(keys))


@given(KEYS, KEYS)
def test_a_match_is_the_first_position_of_a_key(keys: list[int], wanted: list[int]) -> None:
    found = first_match([np.array(keys, np.int64)], [np.array(wanted, np.int64)])

    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in wanted]


@pytest.mark.parametrize("base", [-(1 << 63), -5, 0, (1 << 63) - 1100])
def test_keys_that_lie_close_together_are_found_at_both_ends_of_the_numbers(base: int) -> None:
    keys = [base + 1099, base + 7, base, base + 7]
    wanted = [base, base + 7, base + 8, base + 1099, -(1 << 63), (1 << 63) - 1]

    found = first_match([np.array(keys, np.int64)], [np.array(wanted, np.int64)])

    assert found.tolist() == [keys.index(key) if key in keys else -1 for key in wanted]


@given(st.sets(st.integers(0, 60)), st.lists(st.integers(-3, 63), max_size=40))
def test_places_in_an_ascending_array(numbers: set[int], wanted: list[int]) -> None:
    ascending = sorted(numbers)

    found = places(np.array(ascending, np.int32), np.array(wanted, np.int64))

    assert found.tolist() == [ascending.index(number) if number in numbers else -1 for number in wanted]


def test_places_of_numbers_beyond_32_bits() -> None:
    found = places(np.array([0, 5, (1 << 31) - 1], np.int32), np.array([1 << 32, (1 << 31) - 1, -(1 << 40), 5]))

    assert found.tolist() == [-1, 2, -1, 1]


PAIRS = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.integers(0, 1)), max_size=40)


@given(PAIRS, PAIRS, st.integers(1, 3))
def test_a_match_of_rows_equals_in_every_column(
    keys: list[tuple[int, ...]], wanted: list[tuple[int, ...]], width: int
) -> None:
    offered, asked = ([row[:width] for row in rows] for rows in (keys, wanted))
    columns = [[np.array([row[at] for row in rows], np.int32) for at in range(width)] for rows in (offered, asked)]

    found = first_match(*columns)

    assert found.tolist() == [offered.index(row) if row in offered else -1 for row in asked]


def test_columns_of_different_length_are_refused() -> None:
    two, three = np.zeros(2, np.int64), np.zeros(3, np.int64)

    with pytest.raises(ValueError, match="differ in length"):
        first_match([two, three], [two, two])


def test_many_keys_are_kept_apart() -> None:
    keys = np.arange(100_000) * (1 << 33)

    codes, count = codes_of(keys)

    assert count == 100_000
    assert np.array_equal(codes, np.arange(100_000))
    assert np.array_equal(first_match([keys], [keys[::-1]]), np.arange(100_000)[::-1])


@given(st.lists(st.integers(-1, 20), max_size=60))
def test_compact_codes_name_the_same_values(codes: list[int]) -> None:
    used, compacted = compact(np.array(codes, np.int32), 21)

    assert used.tolist() == sorted({code for code in codes if code >= 0})
    assert [used[code] if code >= 0 else -1 for code in compacted.tolist()] == codes


def test_a_code_beyond_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="outside the table"):
        compact(np.array([3], np.int32), 3)


@given(st.lists(st.integers(-5, 5), max_size=30))
def test_distinct_values_ascend(values: list[int]) -> None:
    assert distinct(np.array(values, np.int64)).tolist() == sorted(set(values))


def test_texts_come_many_at_a_time() -> None:
    strings = scan(b'[{"ph":"X","name":"a"},{"ph":"X","name":"\xff"},{"ph":"X","name":"\xe4\xb8\xad"}]').strings

    assert texts_at(strings, np.array([2, 0, 2, 1])) == [strings[2], strings[0], strings[2], strings[1]]
    assert "\ufffd" in list(strings)


@pytest.mark.parametrize("code", [-1, 0])
def test_a_code_without_a_text_is_refused(code: int) -> None:
    with pytest.raises(IndexError, match="no text has this code"):
        texts_at(Strings(), np.array([code]))


EVENTS = (
    b'[{"ph":"X","args":{"k":"t","n":2}},{"ph":"X"},{"ph":"X","args":{"k":null}},'
    b'{"ph":"X","args":{"k":1.5,"k":"twice"}},{"ph":"X","args":{"k":"x","k":null}},{"ph":"X","args":{"k":-7}}]'
)


@pytest.mark.parametrize("threads", [1, 3])
def test_told_arguments_are_the_rows_with_a_text(threads: int) -> None:
    columns = scan(EVENTS, ("k", "n", "absent"), threads=threads)

    row, code, number = columns.args.told("k")

    dense = columns.args["k"]
    assert row.tolist() == [0, 3, 5] == np.flatnonzero(dense.code >= 0).tolist()
    assert [columns.strings[at] for at in code.tolist()] == ["t", "twice", "-7"]
    assert np.array_equal(number, dense.number[row], equal_nan=True)
    assert columns.args.told_keys() == ["k", "n"]
    again = scan(EVENTS, ("k", "n", "absent"), threads=threads).args
    assert again.codes("k").tolist() == dense.code.tolist()
    assert len(columns.args.told("absent")[0]) == 0
