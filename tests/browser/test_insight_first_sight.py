"""What the web page shows before everything has come, and where an address leads nowhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.browser.opened import Opened
from tests.browser.viewing import await_that, in_sight, state, viewing, visited
from tests.unit.insight.drawn_runs import write_run
from tests.unit.insight.test_many_ranks import met


@pytest.fixture(scope="module")
def four_ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("sight")
    db = met()
    db.execute("delete from damage")
    with viewing(folder / "cache", write_run(db, folder / "run")) as url:
        yield url


def test_an_address_that_names_no_page_says_so_and_offers_the_pages(chromium: Any, four_ranks: str) -> None:
    with visited(chromium, four_ranks, "#/mermory?run=a") as found:
        page = found.page
        expect(page.get_by_role("heading", name="There is no such page")).to_be_visible()
        expect(page.locator("main")).to_contain_text("mermory")
        assert page.locator("nav [aria-current]").count() == 0

        page.locator("main").get_by_role("link", name="Memory").click()

        expect(page.locator("nav [aria-current]")).to_have_text("Memory")
        assert page.url.endswith("#/memory?run=a")
    assert found.errors == []


def test_lanes_tell_how_much_of_them_is_in_sight_once_it_is_known(chromium: Any, four_ranks: str) -> None:
    held: list[Route] = []
    is_open = threading.Event()
    with visited(chromium, four_ranks, "#/overview") as found:
        page = found.page
        page.route("**/viewport?*", lambda route: held.append(route) if not is_open.is_set() else route.continue_())
        page.evaluate("location.hash = '#/timeline'")
        await_that(found, "() => window.__ascendSn.timeline?.().busy && document.querySelector('.tl-lane .tl-count')")
        before = page.locator(".tl-lane .tl-count").all_text_contents()

        is_open.set()
        for one in held:
            one.continue_()
        state(found)
        after = page.locator(".tl-lane .tl-count").all_text_contents()

    assert before
    assert [text for text in before if "/" in text] == []
    assert [text for text in after if "/" not in text or text.startswith("0 /")] == []


@pytest.mark.parametrize(
    ("place", "card", "rows"),
    [
        ("overview", "Ranks and captures", 4),
        ("communication", "Calls over their ranks", 2),
        ("memory", "Peaks", 4),
        ("health", "Ranks and captures", 4),
    ],
)
def test_what_summaries_tell_is_shown_while_the_document_is_made(
    chromium: Any, four_ranks: str, place: str, card: str, rows: int
) -> None:
    held: list[Route] = []
    told = {"state": "making", "done": 12, "total": 68, "part": "R-COMM-1"}
    with visited(chromium, four_ranks, "#/nowhere") as found:  # for the cookie
        page = found.page.context.new_page()
        page.route("**/document?*", lambda route: held.append(route))
        page.route("**/document-progress?*", lambda route: route.fulfill(json=told))
        page.goto(f"{four_ranks.partition('?')[0]}#/{place}")
        said = "12 of 68 parts are done, now: rule R-COMM-1"
        expect(page.locator("main .pending").first).to_contain_text(said)
        table = page.locator("section.card", has=page.get_by_role("heading", name=card, exact=True)).locator("tbody tr")
        in_sight(Opened(page), card, "tbody tr")
        expect(table).to_have_count(rows)

        page.unroute("**/document-progress?*")
        for one in held:
            one.continue_()
        await_that(Opened(page), "() => !document.querySelector('main').innerText.includes('Analysing')")
    assert found.errors == []
