"""Whoever follows the pages gets a rule and a reader of one's own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ascend_sn.advisor.rulebook import rules_of
from ascend_sn.errors import UsageError
from tests.docs.pages import files_of, play

RULE_PAGE = "how-to/custom-rule.md"
READER_PAGE = "how-to/add-a-reader.md"


def test_a_rule_of_ones_own_is_advised_explained_and_limited(tmp_path: Path) -> None:
    _, first, further, python = play(RULE_PAGE, tmp_path)

    assert "Every step starts late (X-START-1)" in " ".join(first[1].split())
    assert "Nothing runs on the device while the host prepares." in " ".join(further[1].split())
    assert "X-START-1" in (tmp_path / "result.html").read_text(encoding="utf-8")
    assert "X-START-1 Every step starts late" in python[1]


def test_a_reader_of_ones_own_is_installed_and_used(tmp_path: Path) -> None:
    site = tmp_path / "site"
    for title, text in files_of(READER_PAGE).items():
        (tmp_path / title).write_text(text, encoding="utf-8")
    here = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *here, "--target", str(site), "."], cwd=tmp_path, check=True
    )

    ((_, said),) = play(READER_PAGE, tmp_path, site)

    assert "line 7" in said
    assert files_of(READER_PAGE)["expected"] in said


def test_the_reader_takes_less_than_a_hundred_lines() -> None:
    assert len(files_of(READER_PAGE)["ticks_reader.py"].splitlines()) < 100


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("RULES = 1\n", "holds no RULES"),
        ("RULES = (\n", "cannot be used"),
        ("import no_such_module_of_ours\n", "cannot be used"),
    ],
)
def test_a_file_without_rules_is_told_in_one_line(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "rules.py"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(UsageError, match=problem):
        rules_of([str(file)])


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        rules_of([str(tmp_path / "none.py")])
