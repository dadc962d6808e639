"""Spellings of the guides: dashes and underscores, switches with and without True."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from ascend_sn.cli.analyze import analyze
from ascend_sn.cli.opening import input_of
from ascend_sn.errors import UsageError
from ascend_sn.report.words.language import Language
from ascend_sn.store.input import Input


def parsed(*words: str) -> dict[str, object]:
    """Return the parameters that `analyze` would be called with."""
    root = click.Context(click.Group("ascend-sn"), obj=Language.load("en"))
    return analyze.make_context("analyze", list(words), parent=root).params


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("d", "--memory-report"), True),
        (("d", "--memory_report"), True),
        (("d", "--memory_report", "True"), True),
        (("d", "--memory-report", "true"), True),
        (("d", "--memory-report=True"), True),
        (("d", "--memory_report=False"), False),
        (("d", "--memory_report", "False"), False),
        (("--memory_report", "d"), True),
        (("d",), False),
    ],
)
def test_a_switch_works_with_and_without_a_value(words: tuple[str, ...], value: bool) -> None:
    parameters = parsed(*words)

    assert parameters["memory_report"] is value
    assert parameters["paths"] == (Path("d"),)


@pytest.mark.parametrize(
    "words", [("--op_time_threshold", "1.0"), ("--op-time-threshold=1.0",), ("--op_time-threshold", "1.0")]
)
def test_dashes_and_underscores_are_the_same(words: tuple[str, ...]) -> None:
    assert parsed("d", *words)["op_time_threshold"] == 1.0


def test_values_keep_their_underscores() -> None:
    assert parsed("--input", "a_b-c", "--output", "x_y.html")["input_paths"] == (Path("a_b-c"),)
    assert parsed("--input=a_b", "--output=x_y.html")["output"] == Path("x_y.html")


def test_what_stands_behind_two_dashes_is_a_path() -> None:
    assert parsed("--", "--odd_name")["paths"] == (Path("--odd_name"),)


def test_the_language_is_that_of_the_program_unless_one_is_named() -> None:
    languages = [parsed("d")["language"], parsed("d", "--lang", "zh")["language"]]

    assert [language.code for language in languages if isinstance(language, Language)] == ["en", "zh"]


def test_a_path_and_input_mean_the_same() -> None:
    a, b = Path("a"), Path("b")

    assert input_of([a], []) == input_of([], [a]) == input_of([a], [a]) == Input((a,))
    assert input_of([a], [b]) == input_of([a, b], []) == Input((a, b))


def test_no_input_is_refused() -> None:
    with pytest.raises(UsageError):
        input_of([], [])
