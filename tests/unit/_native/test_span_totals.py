from __future__ import annotations

import subprocess
import sys
from array import array
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ascend_sn._native.span_totals import BY_NAME, KINDS, NO_CLASS, PLAIN_CLASS, SpanTotals
from tests.reference.span_totals import PLAIN, class_totals, name_totals

FIRST, FLAG = 16, 64
CLASS_OF_NAME = bytes([NO_CLASS, PLAIN_CLASS, 2, 3])
"""Of the names 0 to 3; kind 17 is of class 4, whatever the name."""

Row = tuple[int, int, int, int, int]


def totals_of(*parts: list[Row]) -> SpanTotals:
    kinds = bytearray([NO_CLASS] * KINDS)
    kinds[0], kinds[1] = BY_NAME, 4
    totals = SpanTotals(FIRST, FLAG, bytes(kinds))
    for part in parts:
        add(totals, part)
    return totals


def add(totals: SpanTotals, rows: list[Row]) -> list[int]:
    columns: list[Any] = [array(code, column) for code, column in zip("Biiqq", zip(*rows, strict=True), strict=True)]
    return totals.add((*columns, None, None), CLASS_OF_NAME).tolist()


def test_rows_that_are_no_spans_are_told() -> None:
    totals = totals_of()

    others = add(totals, [(5, 1, 2, 0, 9), (16, 1, 2, 0, 9), (15, 1, 2, 0, 9), (32, 1, 2, 0, 9), (16 | 64, 1, 2, 9, 1)])

    assert others == [0, 2, 3]
    assert totals.names() == [(2, 2, 10, 9)]


def test_an_inner_span_is_taken_out_of_the_outer_one() -> None:
    # name 2  |aaaaaaaaaa|
    # name 3  |   bbb    |
    # name 1  |ppp       |   the plain class
    totals = totals_of([(16, 1, 1, 0, 3), (16, 1, 3, 3, 3), (16, 1, 2, 0, 10)])

    assert totals.classes()[:5] == (0, 0, 7, 3, 0)


def test_a_kind_goes_before_the_name_and_a_name_beyond_the_known_ones_says_nothing() -> None:
    totals = totals_of([(17, 1, 2, 0, 5), (16, 1, 99, 5, 5), (16, 1, -1, 10, 5)])

    assert totals.classes()[:5] == (0, 0, 0, 0, 5)
    assert totals.names() == [(-1, 1, 5, 5), (2, 1, 5, 5), (99, 1, 5, 5)]


@st.composite
def nested(draw: st.DrawFn) -> list[Row]:
    """Spans of a few threads that nest, in the order in which they end; no two have the same range on a thread."""
    rows: list[Row] = []

    def fill(thread: int, start: int, end: int, depth: int) -> None:
        at = start
        while at < end and draw(st.booleans()):
            begin = draw(st.integers(at, end - 1))
            finish = draw(st.integers(begin + 1, end))
            if (begin, finish) != (start, end):
                if depth < 4 and finish - begin > 1:
                    fill(thread, begin, finish, depth + 1)
                rows.append((16, thread, draw(st.integers(0, 3)), begin, finish - begin))
            at = finish

    for thread in range(draw(st.integers(1, 3))):
        fill(thread, 0, 40, 0)
    return rows


@given(nested(), st.integers(0, 20))
def test_totals_are_those_of_the_plain_reference(rows: list[Row], cut: int) -> None:
    classes = (None, PLAIN, "a", "b")

    totals = totals_of(*(part for part in (rows[:cut], rows[cut:]) if part))

    expected = class_totals((classes[name], thread, start, length) for _, thread, name, start, length in rows)
    _, plain, a, b, *_ = totals.classes()
    assert {name: ns for name, ns in ((PLAIN, plain), ("a", a), ("b", b)) if ns} == expected
    assert {number: tuple(sums) for number, *sums in totals.names()} == name_totals((row[2], row[4]) for row in rows)


def test_many_threads_and_many_waiting_spans_stay_within_bounds() -> None:
    spans = [(16, 1, 2, 2 * number, 1) for number in range(5000)]
    threads = [(16, 10 + number, 2, 0, 1) for number in range(3000)]

    totals = totals_of(spans, [(16, 1, 3, 0, 10_000)], threads)

    assert totals.classes()[:4] == (0, 0, 8000, 5000)


@pytest.mark.parametrize("wrong", [b"", bytes(15), bytes(17)])
def test_the_classes_of_the_kinds_are_sixteen(wrong: bytes) -> None:
    with pytest.raises(ValueError, match="16 kinds"):
        SpanTotals(FIRST, FLAG, wrong)


def test_it_needs_no_numpy() -> None:
    script = "import sys, ascend_sn._native.span_totals; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
