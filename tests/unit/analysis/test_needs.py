"""Why an analysis cannot look, and which option would let it."""

from __future__ import annotations

from ascend_sn.analysis.registry import Missing, Need, missing_needs
from tests.timeline import empty_tables, insert

SHAPES = Need("kernel", "input_shapes", alternatives=("operator.input_shapes",))


def test_an_alternative_that_can_be_turned_on_is_named() -> None:
    db = empty_tables()
    insert(db, "coverage", table_name="kernel", state="collected")
    insert(db, "coverage", table_name="operator", column_name="input_shapes", state="not_requested",
           reason="record_shapes was off", turn_on="record_shapes=True")  # fmt: skip

    assert missing_needs([SHAPES], db) == Missing("not_requested", "record_shapes was off", "record_shapes=True")


def test_the_need_itself_goes_first() -> None:
    db = empty_tables()
    insert(db, "coverage", table_name="kernel", column_name="input_shapes", state="missing", reason="a", turn_on="b")
    insert(db, "coverage", table_name="operator", column_name="input_shapes", state="not_requested")

    assert missing_needs([SHAPES], db) == Missing("missing", "a", "b")


def test_where_nothing_is_told_the_column_is_named() -> None:
    assert missing_needs([SHAPES], empty_tables()) == Missing("missing", "the capture holds no kernel.input_shapes", "")


def test_an_alternative_with_rows_will_do() -> None:
    db = empty_tables()
    insert(db, "operator", operator_id=0, thread="t", ts_ns=0, dur_ns=1, input_shapes="1")

    assert missing_needs([SHAPES], db) is None
