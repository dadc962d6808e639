"""The READMEs hold: two set-up commands, the same in both languages, links that lead somewhere."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import PAGES, READMES, REPOSITORY, SHELL, blocks, commands

LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


@pytest.mark.parametrize("page", READMES, ids=lambda page: page.name)
def test_setting_up_takes_exactly_two_commands(page: Path) -> None:
    lines = [line for block in blocks(page) if block.language in SHELL for line in block.text.splitlines()]

    made = [line.split("#")[0].strip() for line in lines if line.startswith(("make", "pip", "python", "apt"))]

    assert made == ["make demo", "make test"]


def test_both_languages_show_the_same_commands() -> None:
    english, chinese = ([command.arguments for command in commands(page)] for page in READMES)

    assert english == chinese


def test_the_test_commands_are_what_ci_runs() -> None:
    script = (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    assert [line for line in script if "make " in line and not line.startswith("#")] == [
        "within_the_hour make test",
        "within_the_hour make test-slow",
    ]


@pytest.mark.parametrize("target", ["demo", "test", "test-slow", "bench", "format", "venv", "clean"])
def test_make_knows_the_targets_that_the_pages_name(target: str) -> None:
    asked = subprocess.run(
        ["make", "--dry-run", "--silent", target], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )

    assert asked.returncode == 0, asked.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_relative_links_lead_somewhere(page: Path) -> None:
    targets = [found[1] for found in LINK.finditer(page.read_text(encoding="utf-8"))]

    # Pictures are taken (`make pictures`), and told in words where they were not.
    missing = [
        target for target in targets if not target.startswith("pictures/") and not (page.parent / target).exists()
    ]

    assert missing == []


def test_change_fragments_are_named_by_issue_and_kind() -> None:
    fragments = [path.name for path in (REPOSITORY / "changes").glob("*.md") if path.name != "README.md"]

    odd = [name for name in fragments if not re.fullmatch(r"\d+\.(added|changed|fixed|removed)\.md", name)]

    assert odd == []
