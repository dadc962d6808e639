"""The reference pages are what the code says today, and nothing public is without a page."""

from __future__ import annotations

import re
from doctest import DocTestFinder, DocTestRunner

import pytest

import asc_tools.advisor
import asc_tools.profiler
import ascend.profiler
import ascend_sn
from ascend_sn import analysis, replay
from ascend_sn.compare.metrics import BY_NAME, DEFAULT_LIMITS
from ascend_sn.model.tables import TABLES
from ascend_sn.report.words.language import Code, Language
from scripts import generate_reference
from scripts.generate_reference import FOLDER, metrics, pages
from scripts.insight_reference import undocumented
from tests.docs.blocks import REPOSITORY


def test_the_pages_are_up_to_date() -> None:
    stale = [name for name, text in pages().items() if (FOLDER / name).read_text(encoding="utf-8") != text]

    assert stale == [], "run scripts/generate_reference.py"


def test_every_address_of_the_page_says_what_it_answers() -> None:
    assert undocumented() == []


def test_every_table_and_column_has_its_place() -> None:
    page = (FOLDER / "tables.md").read_text(encoding="utf-8")

    assert [table.name for table in TABLES if f"\n## {table.name}\n" not in page] == []
    assert [name for table in TABLES for name in table.names if f"`{name}`" not in page] == []


def test_every_analysis_has_its_section() -> None:
    page = (FOLDER / "analyses.md").read_text(encoding="utf-8")

    registered = (*analysis.ANALYSES, *replay.ANALYSES)
    assert [found.name for found in registered if f"\n## {found.name}\n" not in page] == []


def test_every_definition_has_its_place() -> None:
    page = (FOLDER / "analyses.md").read_text(encoding="utf-8")

    codes = ["A03b", *(f"A{number:02}" for number in range(1, 37))]
    assert [code for code in codes if not re.search(rf"^{code} ", page, re.MULTILINE)] == []


def test_every_figure_has_a_definition() -> None:
    assert [(figure, where) for figure, _, where, said in metrics() if not said] == []


@pytest.mark.parametrize(
    "module", [ascend_sn, analysis, ascend.profiler, asc_tools.advisor, asc_tools.profiler], ids=lambda m: m.__name__
)
def test_every_public_name_is_on_a_page(module: object) -> None:
    written = " ".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md")))
    words = set(re.findall(r"\w+", written))

    public: list[str] = getattr(module, "__all__")  # noqa: B009 - modules of one kind, told apart by name only
    assert [name for name in public if name.strip("_") not in words] == []


def test_a_definition_is_taken_from_behind_the_name() -> None:
    runner = DocTestRunner()
    for example in DocTestFinder().find(generate_reference.explanation, globs=vars(generate_reference)):
        runner.run(example)

    assert (runner.failures, runner.tries) == (0, 3)


@pytest.mark.parametrize("code", ["en", "zh"])
def test_the_help_of_limits_names_those_in_force(code: Code) -> None:
    said = Language.load(code).text("cli.option.limit")

    named = {name: float(value) for name, value in re.findall(r"(\w+)=(\d+)", said)}
    assert named == {name: pytest.approx(100 * limit) for name, limit in DEFAULT_LIMITS.items()}
    assert all(name in said for name in BY_NAME)


def test_defaults_of_options_are_on_the_page() -> None:
    page = (REPOSITORY / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")

    assert "CSV, JSON and Parquet hold all. (default: 100; x>=1) |" in page
