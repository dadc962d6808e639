"""Names from traces can do no harm in a terminal or in Markdown."""

from __future__ import annotations

from hypothesis import given, strategies as st

from ascend_sn.report.words.printable import markdown_cell, printable, shortened


def test_escape_sequences_become_visible() -> None:
    assert printable("\x1b[31mred\x1b[0m\x07") == "\\x1b[31mred\\x1b[0m\\x07"


def test_marks_that_turn_the_direction_of_writing_become_visible() -> None:
    assert printable("a\u202eb") == "a\\u202eb"


def test_chinese_and_accents_stay() -> None:
    assert printable("算子 é µ") == "算子 é µ"


@given(st.text())
def test_what_is_printable_has_no_control_characters(text: str) -> None:
    shown = printable(text)

    assert all(letter >= " " and not "\x7f" <= letter <= "\x9f" for letter in shown)
    shown.encode("utf-8")


def test_both_ends_of_a_long_name_stay() -> None:
    assert shortened("aclnnForeachAddListV2_ForeachAddList", 20) == "aclnnForeachA…AddList"[:13] + "…" + "ddList"


@given(st.text(), st.integers(min_value=4, max_value=40))
def test_a_shortened_text_has_the_asked_width_at_most(text: str, width: int) -> None:
    assert len(shortened(text, width)) <= width


def test_a_markdown_cell_formats_nothing() -> None:
    assert markdown_cell("a|b*c_<script>") == "a\\|b\\*c\\_\\<script\\>"
    assert markdown_cell("# title") == "\\# title"
    assert markdown_cell("two\nlines") == "two\\\\x0alines"
