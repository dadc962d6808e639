"""The page of features: every place that it names is one of the page, every command one of ours."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import parse_qs

from ascend_sn.cli.main import COMMANDS
from scripts.page_pictures import COMPARED, PLACES, TABS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "page-features.md"
SOURCES = ROOT / "frontend" / "src" / "insight"


def words_of(source: str, begin: str) -> list[str]:
    """The texts between the brackets that follow `begin`."""
    text = (SOURCES / source).read_text(encoding="utf-8")
    found = re.search(re.escape(begin) + r"(.*?)[\])]", text, re.DOTALL)
    assert found is not None, (source, begin)
    return re.findall(r'"([^"]+)"', found[1])


def tabs_of(page: str) -> list[str]:
    return {
        "operators": lambda: words_of("pages/operators/page.tsx", "const TABS = ["),
        "compare": lambda: words_of("pages/compare/page.tsx", "tab: oneOf("),
    }[page]()


def test_every_place_is_one_of_the_page() -> None:
    places = re.findall(r"`(#/[^`]+)`", PAGE.read_text(encoding="utf-8"))
    pages = words_of("shell/router.ts", "export const PAGES = [")

    assert len(places) > 30
    for place in places:
        page, _, query = place.removeprefix("#/").partition("?")
        assert page in pages, place
        for tab in parse_qs(query).get("tab", []):
            assert tab in tabs_of(page), place


def test_every_tab_has_a_place_and_a_picture() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert sorted(TABS) == sorted(tabs_of("operators"))
    assert [tab for tab in TABS if f"`#/operators?tab={tab}`" not in text] == []
    assert [tab for tab in tabs_of("compare")[1:] if f"`#/compare?tab={tab}`" not in text] == []
    assert [tab for tab in tabs_of("compare")[1:] if f"#/compare?tab={tab}" not in COMPARED.values()] == []
    pages = {place.removeprefix("#/").partition("?")[0] for place in (*PLACES.values(), *COMPARED.values())}
    assert pages == set(words_of("shell/router.ts", "export const PAGES = ["))


def test_every_command_is_one_of_ours() -> None:
    named = set(re.findall(r"`ascend-sn ([a-z]+)", PAGE.read_text(encoding="utf-8")))

    assert named <= set(COMMANDS)
    assert named


def test_every_row_leads_to_a_page_of_the_documentation() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]

    assert len(rows) > 40
    for row in rows:
        if not row.startswith("| feature"):
            target = re.findall(r"\]\(([^)#]+)", row.rstrip(" |").rpartition(" | ")[2])
            assert target, row
            assert all((PAGE.parent / one).is_file() for one in target), row
