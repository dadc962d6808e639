"""Differences of two sequences: what they are, that they are the fewest, and where they lie."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from ascend_sn.compare.sequences import Hunk, hunks
from ascend_sn.model.rows import Int64


def codes(letters: str) -> Int64:
    return np.frombuffer(letters.encode(), np.uint8).astype(np.int64)


def longest_common(base: str, other: str) -> int:
    """By the table of all prefixes, the textbook way."""
    row = [0] * (len(other) + 1)
    for mine in base:
        before = row
        row = [0]
        for at, its in enumerate(other):
            row.append(before[at] + 1 if mine == its else max(row[at], before[at + 1]))
    return row[-1]


def test_one_kernel_stands_for_three() -> None:
    assert hunks(codes("AABCDE"), codes("AAFE")) == [Hunk(2, 5, 2, 3)]


def test_a_part_that_is_gone_joins_the_difference_beside_it() -> None:
    # The matrix product before and the one after stay; those inside went with what is between them.
    assert hunks(codes("MMSXMMA"), codes("MFMA")) == [Hunk(1, 5, 1, 2)]


def test_what_lies_apart_stays_apart() -> None:
    assert hunks(codes("ABCDEFG"), codes("XBCDEY")) == [Hunk(0, 1, 0, 1), Hunk(5, 7, 5, 6)]


def test_sequences_that_differ_too_much_are_not_aligned() -> None:
    assert hunks(codes("ABCD"), codes("WXYZ"), most=7) is None
    assert hunks(codes("ABCD"), codes("WXYZ"), most=8) == [Hunk(0, 4, 0, 4)]


def test_equal_and_empty_sequences_have_no_difference() -> None:
    assert hunks(codes("ABC"), codes("ABC")) == []
    assert hunks(codes(""), codes("")) == []
    assert hunks(codes(""), codes("AB")) == [Hunk(0, 0, 0, 2)]


@given(st.text("ABC", max_size=24), st.text("ABC", max_size=24))
def test_the_fewest_changes_make_one_of_the_other(base: str, other: str) -> None:
    found = hunks(codes(base), codes(other))

    assert found is not None
    made = ""
    at = 0
    for one in found:
        made += base[at : one.base_from] + other[one.other_from : one.other_to]
        at = one.base_to
    assert made + base[at:] == other
    edits = sum(one.base_to - one.base_from + one.other_to - one.other_from for one in found)
    assert edits == len(base) + len(other) - 2 * longest_common(base, other)
