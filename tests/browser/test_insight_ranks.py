"""The map of ranks and the roofline in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.viewing import viewing, visited
from tests.shared_data import requires_shared
from tests.unit.insight.drawn_runs import write_run
from tests.unit.insight.test_rank_map import four_ranks


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("ranks")
    with viewing(folder / "cache", write_run(four_ranks(), folder / "run")) as url:
        yield url


def test_ranks_stand_by_their_groups_and_lead_to_them_by_keyboard(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/overview") as found:
        page = found.page
        cells = page.locator(".rank-map button")
        expect(cells).to_have_count(4)
        expect(page.locator(".rank-map .where").nth(2)).to_have_text("PP 1")

        page.get_by_role("button", name="TP groups").click()
        cells.first.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".rank-map button:focus b")).to_have_text("rank 2")
        expect(page.get_by_text("TP group tp1: ranks 2, 3")).to_be_visible()
        expect(page.locator(".rank-map button.together")).to_have_count(2)

        page.keyboard.press("Enter")
        page.wait_for_function("() => location.hash.includes('#/communication') && location.hash.includes('only=tp1')")
    assert (found.errors, found.requests) == ([], [])


@requires_shared
@pytest.mark.parametrize("sample", ["torch_npu", "kineto"])
def test_the_roofline_draws_points_or_says_why_not(chromium: Any, sample: str, request: pytest.FixtureRequest) -> None:
    with visited(chromium, request.getfixturevalue(sample), "#/operators?tab=roofline") as found:
        expect(found.page.locator("main .roofline a, main .absent").first).to_be_visible()
        found.page.evaluate("() => { location.hash = '#/operators?tab=requests' }")
        expect(found.page.get_by_role("heading", name="Requests")).to_be_visible()
    assert (found.errors, found.requests) == ([], [])
