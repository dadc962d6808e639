"""The call tree of the operators page in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.viewing import await_that, viewing, visited
from tests.shared_data import requires_shared
from tests.unit.analysis.host.test_call_paths import drawn
from tests.unit.analysis.traces import Row, database
from tests.unit.insight.drawn_runs import write_run
from tests.unit.insight.test_call_changes import slower

TREE = "#/operators?tab=call_paths"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("flame")
    profile: Row = ("profile", {"format": "drawing", "source": "r0", "host": "drawn", "device_kind": "npu"})
    with viewing(folder / "cache", write_run(database([profile, *drawn()]), folder / "run")) as url:
        yield url


def names(page: Any) -> list[str]:
    """What is read aloud of the parts, outermost first."""
    return [str(part.get_attribute("aria-label")) for part in page.locator(".flame button").all()]


def test_calls_are_walked_and_enlarged_by_keyboard(chromium: Any, served: str) -> None:
    with visited(chromium, served, TREE, locale="en-US") as found:
        page = found.page
        expect(page.locator(".flame button")).to_have_count(5)
        # 27 ns in all: 24 of the training thread, 3 of the other.
        assert names(page)[:3] == [
            "train train.py:3, 24 ns, 89 %, 1 call", "mm, 3 ns, 11 %, 1 call", "linear, 15 ns, 56 %, 2 calls",
        ]  # fmt: skip
        page.locator(".flame button").first.focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator(".flame button:focus")).to_have_attribute("aria-label", "linear, 15 ns, 56 %, 2 calls")
        page.keyboard.press("Enter")
        await_that(found, "() => location.hash.includes('root=1')")
        expect(page.locator(".flame button")).to_have_count(3)
        assert names(page)[0] == "linear, 15 ns, 100 %, 2 calls"
        expect(page.locator(".crumbs")).to_contain_text("All calls › train train.py:3 › linear")

        page.locator(".flame button").first.focus()
        page.keyboard.press("Escape")
        expect(page.locator(".flame button")).to_have_count(4)
        page.get_by_role("button", name="All calls").click()
        expect(page.locator(".flame button")).to_have_count(5)
    assert (found.errors, found.requests) == ([], [])


def test_self_and_device_time_steps_and_search(chromium: Any, served: str) -> None:
    with visited(chromium, served, TREE, locale="en-US") as found:
        page = found.page
        expect(page.locator(".flame button")).to_have_count(5)
        page.get_by_role("button", name="Self").click()
        expect(page.locator(".flame button").first).to_have_attribute("aria-label", "mm, 9 ns, 33 %, 3 calls")
        page.get_by_role("button", name="Device").click()
        expect(page.locator(".flame button").first).to_have_attribute(
            "aria-label", "train train.py:3, 42 ns, 93 %, 1 call"
        )
        page.get_by_label("From step").fill("2")
        page.get_by_label("From step").press("Enter")
        expect(page.locator(".flame button").first).to_have_attribute(
            "aria-label", "train train.py:3, 27 ns, 100 %, 1 call"
        )
        page.get_by_label("Highlight calls").fill("MM")
        expect(page.get_by_text("1 path found")).to_be_visible()
        expect(page.locator(".flame .found")).to_have_count(1)
        await_that(found, "() => ['=device', 'from_step=2', 'contains=MM'].every(p => location.hash.includes(p))")
    assert (found.errors, found.requests) == ([], [])


def test_the_table_holds_the_same_tree_and_leads_to_the_longest_call(chromium: Any, served: str) -> None:
    with visited(chromium, served, TREE, locale="en-US") as found:
        page = found.page
        page.get_by_text("As a tree in a table").click()
        rows = page.locator("details table tbody tr")
        expect(rows).to_have_count(5)
        expect(rows.nth(1)).to_contain_text("linear1215 ns8 ns42 ns7 ns9 ns")
        with page.expect_download() as download:
            page.locator("details a.download").click()
        text = Path(download.value.path()).read_text(encoding="utf-8-sig")
        assert text.splitlines()[3] == "train.py(3): train > linear > mm,2,2,6,6,30,30,4,operator,0,4"
        rows.nth(1).get_by_role("link").click()
        expect(page.locator("[data-slice-name]")).to_have_text("linear")
    assert (found.errors, found.requests) == ([], [])


@requires_shared
@pytest.mark.parametrize("code", ["en-US", "zh-CN"])
@pytest.mark.parametrize("sample", ["torch_npu", "kineto"])
def test_real_captures_have_a_tree_without_serious_violations(
    chromium: Any, axe: str, sample: str, code: str, request: pytest.FixtureRequest
) -> None:
    with visited(chromium, request.getfixturevalue(sample), TREE, locale=code) as found:
        expect(found.page.locator(".flame button").first).to_be_visible()
        found.page.evaluate(axe)
        violations = found.page.evaluate("async () => (await axe.run()).violations")
        assert [one["id"] for one in violations if one["impact"] in ("serious", "critical")] == []
    assert (found.errors, found.requests) == ([], [])


def test_two_runs_are_compared_path_by_path(chromium: Any, tmp_path: Path, axe: str) -> None:
    profile: Row = ("profile", {"format": "drawing", "source": "r0", "host": "drawn", "device_kind": "npu"})
    runs = [
        write_run(database([profile, *rows]), tmp_path / name) for name, rows in (("base", drawn()), ("new", slower()))
    ]
    with (
        viewing(tmp_path / "cache", *runs) as url,
        visited(chromium, url, "#/compare?tab=calls", locale="en-US") as found,
    ):
        page = found.page
        expect(page.locator(".flame button")).to_have_count(5)
        assert names(page)[0].startswith("train train.py:3 ± 0 %, 12 ns")
        expect(page.get_by_text("Per step of a rank: 14 ns before, 14 ns after: ± 0 %.")).to_be_visible()
        page.get_by_text("As a table").click()
        # 7.5 ns of a step became 9; what changed most stands first.
        expect(page.locator("details table tbody tr").first).to_contain_text("linear18 ns9 ns+2 ns22")
        page.evaluate(axe)
        violations = page.evaluate("async () => (await axe.run()).violations")
        assert [one["id"] for one in violations if one["impact"] in ("serious", "critical")] == []

        page.locator(".flame button").first.focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.locator(".flame button")).to_have_count(3)
        expect(page.locator(".flame button").first).to_have_attribute("aria-label", "linear +20 %, 8 ns → 9 ns")
    assert (found.errors, found.requests) == ([], [])
