"""Sentences break between words and Chinese characters, never between a number and its unit."""

from __future__ import annotations

from hypothesis import given, strategies as st

from ascend_sn.report.terminal.wrapping import cell_width, wrapped


def test_a_number_keeps_its_unit() -> None:
    assert wrapped("it takes 12.5 ms of it", 13) == ["it takes", "12.5 ms of it"]


def test_a_unit_with_a_comma_is_still_a_unit() -> None:
    assert wrapped("aaaa 20 %, bb", 10) == ["aaaa 20 %,", "bb"]


def test_chinese_breaks_anywhere_but_before_a_full_stop() -> None:
    assert wrapped("通信是瓶颈。", 10) == ["通信是瓶", "颈。"]


def test_chinese_characters_take_two_columns() -> None:
    assert cell_width("ab通信") == 6


def test_no_text_gives_no_lines() -> None:
    assert wrapped("", 10) == []


@given(st.text(alphabet=st.sampled_from("ab 1.%ms通信。，")), st.integers(min_value=8, max_value=40))
def test_nothing_is_lost(text: str, width: int) -> None:
    assert "".join("".join(wrapped(text, width)).split()) == "".join(text.split())


@given(st.lists(st.text(alphabet="abc通信", min_size=1, max_size=3)), st.integers(min_value=8, max_value=40))
def test_lines_are_no_wider_than_asked(words: list[str], width: int) -> None:
    assert all(cell_width(line) <= width for line in wrapped(" ".join(words), width))
