"""Which operator encloses which, and how long each runs by itself."""

from __future__ import annotations

from ascend_sn.derive import derive
from ascend_sn.derive.nested import nest_operators, nest_spans
from tests.unit.derive.captures import capture, column, slices


def test_operators_nest_by_containment_on_their_own_thread() -> None:
    made = capture(
        operator=[
            *slices("main", ("linear", 0, 100), ("t", 10, 20), ("addmm", 30, 90), ("copy", 40, 45), ("relu", 100, 110)),
            *slices("autograd", ("mm", 50, 60)),
        ]
    )

    nest_operators(made)

    assert column(made, "operator", "parent_id") == [None, 0, 0, 2, None, None]
    assert column(made, "operator", "depth") == [0, 1, 1, 2, 0, 0]
    assert column(made, "operator", "self_ns") == [30, 10, 55, 5, 10, 10]


def test_ids_that_a_reader_gave_are_used_and_not_positions() -> None:
    made = capture(operator=slices("main", ("outer", 0, 10), ("inner", 2, 4)))
    made.tables["operator"] = made.rows("operator").replace(operator_id=[70, 71])

    nest_operators(made)

    assert column(made, "operator", "parent_id") == [None, 70]


def test_an_operator_that_outlives_the_open_one_is_not_its_child_and_not_lost() -> None:
    made = capture(operator=slices("main", ("a", 0, 10), ("b", 5, 15)))

    nest_operators(made)

    assert column(made, "operator", "parent_id") == [None, None]
    assert column(made, "operator", "name") == ["a", "b"]


def test_spans_nest_within_their_domain() -> None:
    made = capture(
        span=[
            *slices("main", ("epoch", 0, 100), ("batch", 10, 50), domain="user"),
            *slices("main", ("frame", 5, 60), ("call", 20, 30), domain="python"),
            *slices("other", ("load", 20, 30), domain="user"),
        ]
    )

    nest_spans(made)

    assert column(made, "span", "depth") == [0, 1, 0, 1, 0]


def test_depths_that_the_reader_gave_are_kept() -> None:
    made = capture(span=slices("main", ("epoch", 0, 100), ("batch", 10, 50), domain="user", depth=4))

    nest_spans(made)

    assert column(made, "span", "depth") == [4, 4]


def test_spans_without_thread_or_domain_stay_apart_from_those_with() -> None:
    made = capture(
        span=[
            {"name": "anywhere", "ts_ns": 0, "dur_ns": 50},
            *slices("main", ("user", 10, 20), domain="user"),
            {"name": "domainless", "thread": "main", "ts_ns": 12, "dur_ns": 5},
        ]
    )

    nest_spans(made)

    assert column(made, "span", "depth") == [0, 0, 0]


def test_a_capture_without_rows_stays_without_rows() -> None:
    made = capture()

    derive(made)

    assert {name: rows.length for name, rows in made.tables.items()} == {}
