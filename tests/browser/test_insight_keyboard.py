"""Tabs and panels by keys alone: they are reached, seen to be reached, worked with and left; nothing is clicked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.opened import Opened
from tests.browser.viewing import await_that, in_sight, viewing, visited
from tests.shared_data import requires_shared
from tests.timeline import timeline
from tests.unit.formats.torch_npu.runs import write_csv, write_info
from tests.unit.insight.drawn_runs import write_run
from tests.unit.insight.test_fused_changes import FUSED, UNFUSED

MOST_STOPS = 120

_ACROSS = """
    () => {
      const point = document.activeElement.querySelector('.bound');
      return Number(point.getAttribute('transform').replace('translate(', '').split(',')[0]);
    }
"""

_SETTLED = "() => document.querySelector('.choice') && !document.querySelector('.pending, .table-place, .loading')"
_FOCUSED = """
    selector => {
      const one = document.activeElement;
      if (!one?.matches(selector)) return null;
      const style = getComputedStyle(one.querySelector('.bound') ?? one);
      return { text: one.textContent.trim(), ring: style.outlineStyle !== 'none' || parseFloat(style.strokeWidth) > 3 };
    }
"""


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("fused")
    runs = [write_run(timeline(drawn), folder / name) for name, drawn in (("before", UNFUSED), ("after", FUSED))]
    with viewing(folder / "cache", *runs) as url:
        yield url


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("compiled")
    write_info(folder / "run_ascend_pt")
    header = ("Device_id", "Op Name", "Model Name", "Graph ID", "Node Index Start", "Node Index End", "Size(KB)")
    rows = [("host", f"op{node}", "net", "7", str(node), str(node), "8") for node in range(6)]
    write_csv(folder / "run_ascend_pt", "static_op_mem.csv", header, rows)
    with viewing(folder / "cache", folder / "run_ascend_pt") as url:
        yield url


def reach(found: Opened, selector: str, text: str = "") -> str:
    """Go on with the tab key until what has the focus fits; it must be seen to have it. Returns its text."""
    stops = []
    for _ in range(MOST_STOPS):
        found.page.keyboard.press("Tab")
        seen = found.page.evaluate(_FOCUSED, selector)
        if seen is not None and text in seen["text"]:
            assert seen["ring"], f"{selector} does not show that it has the focus"
            return str(seen["text"])
        stops.append(found.page.evaluate("() => document.activeElement.textContent.slice(0, 20)"))
    pytest.fail(f"{selector} {text!r} is not reached: {stops}")


def focused(found: Opened) -> str:
    return str(found.page.evaluate("() => document.activeElement.textContent.trim()"))


def test_the_tabs_of_a_comparison_and_what_was_fused(chromium: Any, two_runs: str) -> None:
    with visited(chromium, two_runs, "#/compare", locale="en-US") as found:
        page = found.page
        await_that(found, "() => document.querySelector('.choice')")
        assert reach(found, ".choice button") == "Result"
        page.keyboard.press("ArrowRight")
        assert focused(found) == "Call tree"
        page.keyboard.press("End")
        assert focused(found) == "Fusion"
        page.keyboard.press("Enter")
        expect(
            page.get_by_text("Fusion saves 4 ns per step and rank: 10 compute kernels before, 6 after.")
        ).to_be_visible()
        assert focused(found) == "Fusion"
        cells = page.locator("main tbody tr").first.locator("td")
        for place, text in enumerate(("fused", "B, C, D", "F", "3 \u2192 1", "2", "12 ns", "8 ns", "4 ns")):
            expect(cells.nth(place)).to_have_text(text)

        reach(found, "main tbody a")
        reach(found, "main tbody a")
        page.keyboard.press("Enter")
        await_that(found, "() => window.__ascendSn.timeline?.()?.pick?.ref?.name === 'F'")
        assert "run=b" in page.url
    assert (found.errors, found.requests) == ([], [])


def test_the_tabs_of_the_operators_are_one_stop(chromium: Any, two_runs: str) -> None:
    with visited(chromium, two_runs, "#/operators", locale="en-US") as found:
        page = found.page
        await_that(found, _SETTLED)
        assert reach(found, ".choice button") == "Kernel types"
        page.keyboard.press("ArrowLeft")
        assert focused(found) == "Requests"
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Requests")).to_be_visible()
        await_that(found, _SETTLED)  # what comes later would stand between the stops
        page.keyboard.press("Home")
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.closest('.choice') === null")
        page.keyboard.press("Shift+Tab")
        assert focused(found) == "Requests"  # the chosen one is where the tab key comes back to
    assert (found.errors, found.requests) == ([], [])


@requires_shared
def test_points_of_the_roofline_are_walked(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/operators?tab=roofline", locale="en-US") as found:
        page = found.page
        page.locator(".roofline a").first.wait_for()
        reach(found, ".roofline a")
        first = page.evaluate(_ACROSS)
        page.keyboard.press("ArrowRight")
        assert page.evaluate(_ACROSS) >= first
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.closest('.roofline') === null")
        page.keyboard.press("Shift+Tab")
        name = page.evaluate("() => document.activeElement.getAttribute('aria-label')").split(" ")[0]
        page.keyboard.press("Enter")
        await_that(found, "() => location.hash.includes('tab=kernels') && location.hash.includes('type=')")
        assert f"type={name}" in page.url
    assert (found.errors, found.requests) == ([], [])


@requires_shared
def test_a_pair_of_ranks_leads_to_its_links(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/communication", locale="en-US") as found:
        page = found.page
        in_sight(found, "Pairs of ranks", "td.act button")
        reach(found, ".choice button", "bandwidth")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        await_that(found, "() => location.hash.includes('metric=size_bytes')")
        reach(found, "td.act button", "Links")
        page.keyboard.press("Enter")
        await_that(found, "() => /from=\\d+/.test(location.hash) && /to=\\d+/.test(location.hash)")
        assert page.evaluate("() => document.activeElement.id") == "links"
        assert reach(found, ".filtered button") == "Show all"
        page.keyboard.press("Enter")
        await_that(found, "() => !/from=/.test(location.hash)")
    assert (found.errors, found.requests) == ([], [])


@requires_shared
def test_a_range_of_the_memory_curve_is_typed(chromium: Any, torch_npu: str) -> None:
    with visited(chromium, torch_npu, "#/memory", locale="en-US") as found:
        page = found.page
        page.locator(".range-fields").first.wait_for()
        reach(found, ".range-fields input")
        page.keyboard.type("130.5")
        page.keyboard.press("Tab")
        page.keyboard.type("150")
        page.keyboard.press("Enter")
        await_that(found, "() => location.hash.includes('from=130500000') && location.hash.includes('to=150000000')")
        expect(page.get_by_role("button", name="Whole curve")).to_be_visible()
        reach(found, ".filtered button")
        page.keyboard.press("Enter")
        await_that(found, "() => !location.hash.includes('from=')")
    assert (found.errors, found.requests) == ([], [])


def test_nodes_of_a_compiled_graph_are_typed(chromium: Any, compiled: str) -> None:
    with visited(chromium, compiled, "#/memory", locale="en-US") as found:
        page = found.page
        page.get_by_text("Peak 8.00 KiB at node 0 of 5.").wait_for()
        reach(found, ".range-fields[aria-label=Nodes] input")
        page.keyboard.type("2")
        page.keyboard.press("Tab")
        page.keyboard.type("3")
        page.keyboard.press("Enter")
        await_that(found, "() => location.hash.includes('from_node=2') && location.hash.includes('to_node=3')")
        table = page.get_by_role("table", name="Operators and the nodes during which they hold memory")
        expect(table.locator("tbody tr")).to_have_count(2)
    assert (found.errors, found.requests) == ([], [])
