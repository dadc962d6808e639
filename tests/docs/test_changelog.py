"""The change log is made of the fragments, and keeps what was released."""

from __future__ import annotations

from pathlib import Path

from scripts.changelog import HEAD, changelog, fragments, items, section
from tests.docs.blocks import REPOSITORY


def test_a_fragment_is_its_paragraphs_and_list_items() -> None:
    assert items("One\nchange.\n\nAnother.\n- A third,\n  told at length.\n") == [
        "One change.",
        "Another.",
        "A third, told at length.",
    ]


def test_changes_are_grouped_by_kind_and_follow_the_number_of_their_issue(tmp_path: Path) -> None:
    for name, text in {
        "10.added.md": "Ten.",
        "2.added.md": "Two.",
        "2.fixed.md": "- Mended.",
        "README.md": "x",
    }.items():
        (tmp_path / name).write_text(text, encoding="utf-8")

    made = section("Unreleased", fragments(tmp_path))

    assert made == "## Unreleased\n\n### Added\n\n- Two.\n- Ten.\n\n### Fixed\n\n- Mended.\n"


def test_a_release_comes_above_those_before(tmp_path: Path) -> None:
    (tmp_path / "3.changed.md").write_text("New.", encoding="utf-8")
    before = "# Changes\n\n## 0.1.0 (2026-01-01)\n\n### Added\n\n- First.\n"

    made = changelog(before, "0.2.0 (2026-02-02)", fragments(tmp_path))

    assert made == (
        HEAD + "\n## 0.2.0 (2026-02-02)\n\n### Changed\n\n- New.\n\n## 0.1.0 (2026-01-01)\n\n### Added\n\n- First.\n"
    )


def test_the_change_log_says_nothing_that_the_fragments_say() -> None:
    log = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")

    assert log.startswith(HEAD)
    assert [
        item for path in fragments(REPOSITORY / "changes") for item in items(path.read_text("utf-8")) if item in log
    ] == []


def test_a_fragment_with_a_list_holds_nothing_else() -> None:
    # A line without its dash would become part of the item above.
    lines = [
        (path.name, line)
        for path in fragments(REPOSITORY / "changes")
        if "\n- " in f"\n{path.read_text('utf-8')}"
        for line in path.read_text("utf-8").splitlines()
    ]

    assert [one for one in lines if not one[1].startswith(("- ", "  "))] == []
