"""Columns in memory: nulls stay nulls, texts stay small, rows fit their table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn.model.rows import NOT_COLLECTED, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import COUNTER, KERNEL, SPAN, STEP, TABLES, Table

TEXTS = st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "矩阵乘", "N/A"]), st.text(max_size=4)), max_size=20)


def test_what_a_file_does_not_have_is_null_not_zero() -> None:
    (row,) = conform(KERNEL, name=["MatMul"], ts_ns=[5], stream=NOT_COLLECTED).to_dicts()

    given_ = {name for name, value in row.items() if value is not None}
    assert given_ == {"name", "ts_ns"}


def test_scalars_are_the_same_in_every_row() -> None:
    rows = conform(SPAN, name=["a", "b"], domain="user", dur_ns=7)

    assert rows.text("domain").decode() == ["user", "user"]
    assert rows.values("dur_ns").tolist() == [7, 7]


def test_columns_take_the_type_of_the_table() -> None:
    rows = conform(STEP, step_id=np.array([0, 1], np.int64), ts_ns=np.array([3, 4], np.uint32))

    assert rows.values("step_id").dtype == np.int32
    assert rows.values("ts_ns").dtype == np.int64
    assert rows.values("step").dtype == np.int64


def test_a_list_with_holes_becomes_nullable() -> None:
    rows = conform(COUNTER, value=[1.5, None, 2.5])

    assert rows.valid("value").tolist() == [True, False, True]
    assert [row["value"] for row in rows.to_dicts()] == [1.5, None, 2.5]


def test_a_mask_without_holes_is_dropped() -> None:
    rows = conform(STEP, dur_ns=Nullable(np.array([1, 2]), np.array([True, True])))

    assert isinstance(rows.columns["dur_ns"], np.ndarray)


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(KeyError, match=r"kernel has no column.*duration"):
        conform(KERNEL, 1, duration=[1])


def test_columns_of_different_lengths_are_named() -> None:
    with pytest.raises(ValueError, match=r"kernel\.dur_ns has 1 rows, not 2"):
        conform(KERNEL, ts_ns=[1, 2], dur_ns=[1])


def test_rows_without_any_column_need_a_length() -> None:
    with pytest.raises(ValueError, match="give a length"):
        conform(KERNEL, name="MatMul")


def test_replace_changes_one_column_and_keeps_the_others() -> None:
    rows = conform(STEP, step_id=[0, 1], ts_ns=[10, 20], origin="mark").replace(ts_ns=[11, 21])

    assert [(row["step_id"], row["ts_ns"], row["origin"]) for row in rows.to_dicts()] == [
        (0, 11, "mark"),
        (1, 21, "mark"),
    ]


@pytest.mark.parametrize("index", [np.array([2, 0]), np.array([True, False, True])])
def test_take_chooses_rows_by_position_or_mask(index: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    rows = conform(COUNTER, name=["a", None, "c"], value=[1.0, 2.0, None])

    taken = rows.take(index)

    chosen = {(row["name"], row["value"]) for row in taken.to_dicts()}
    assert (len(taken), chosen) == (2, {("a", 1.0), ("c", None)})


def test_text_and_numbers_are_not_mixed_up() -> None:
    rows = conform(COUNTER, name=["a"], value=[1.0])

    with pytest.raises(TypeError, match=r"counter\.name is text"):
        rows.values("name")
    with pytest.raises(TypeError, match=r"counter\.value is not text"):
        rows.text("value")


def test_concatenate_joins_dictionaries_and_holes() -> None:
    parts = [
        conform(COUNTER, name=["a", "b"], value=[1.0, 2.0]),
        conform(COUNTER, name=["b", None], value=[None, 4.0]),
        conform(COUNTER, 0),
    ]

    joined = concatenate(COUNTER, parts)

    assert [(row["name"], row["value"]) for row in joined.to_dicts()] == [
        ("a", 1.0),
        ("b", 2.0),
        ("b", None),
        (None, 4.0),
    ]
    assert list(joined.text("name").values) == ["a", "b"]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_can_be_empty(table: Table) -> None:
    joined = concatenate(table, [conform(table, 0), conform(table, 0)])

    assert (len(joined), joined.to_dicts()) == (0, [])
    assert conform(table, 0).take(np.zeros(0, np.int64)).length == 0
    assert {name for name in table.names if isinstance(joined.columns[name], Text)} == {
        column.name for column in table.columns if column.type == "text"
    }


@pytest.mark.parametrize("parts", [[], [2], [0, 3], [1, 2, 3]])
def test_concatenate_keeps_the_type_of_every_column(parts: list[int]) -> None:
    joined = concatenate(STEP, [conform(STEP, length, step_id=0, ts_ns=1) for length in parts])

    kinds = {name: joined.values(name).dtype for name in ("step_id", "ts_ns", "step", "epoch")}
    assert kinds == {"step_id": np.int32, "ts_ns": np.int64, "step": np.int64, "epoch": np.int32}


@given(TEXTS)
def test_encoding_texts_loses_nothing(texts: list[str | None]) -> None:
    encoded = Text.of(texts)

    assert encoded.decode() == texts
    assert len(encoded.values) == len({text for text in texts if text is not None})


@given(TEXTS)
def test_a_mapped_text_is_the_text_mapped(texts: list[str | None]) -> None:
    def first(text: str) -> str | None:
        return text[:1] or None

    assert Text.of(texts).mapped(first).decode() == [first(text) if text is not None else None for text in texts]


@given(TEXTS)
def test_masks_follow_the_texts_and_leave_nulls_out(texts: list[str | None]) -> None:
    column = Text.of(texts)

    assert column.matches(["a", "N/A"]).tolist() == [text in ("a", "N/A") for text in texts]
    assert column.where(lambda text: len(text) == 1).tolist() == [text is not None and len(text) == 1 for text in texts]


@given(st.lists(TEXTS, max_size=4))
def test_concatenate_is_the_lists_one_after_another(parts: list[list[str | None]]) -> None:
    joined: Rows = concatenate(COUNTER, [conform(COUNTER, name=texts) for texts in parts])

    assert joined.text("name").decode() == [text for texts in parts for text in texts]
