"""The memory page on a memory snapshot: stacks at a moment, segments with their gaps, both with a table."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.viewing import viewing, visited

MIB = 1 << 20


def frames(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "filename": f"/net/{name}.py", "line": 7} for name in names]


def event(action: str, address: int, size: int, *names: str) -> dict[str, Any]:
    return {"action": action, "addr": address, "size": size, "stream": 0, "frames": frames(*names)}


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A segment of 20 MiB: 12 MiB of `attention` and 4 MiB of `loss` at the peak, then the first is freed."""
    base = 0x7F00_0000_0000
    trace = [
        event("segment_alloc", base, 20 * MIB, "attention", "forward", "main"),
        event("alloc", base, 12 * MIB, "attention", "forward", "main"),
        event("alloc", base + 12 * MIB, 4 * MIB, "loss", "main"),
        event("free_requested", base, 12 * MIB),
        event("free_completed", base, 12 * MIB),
    ]
    segment = {"device": 0, "address": base, "total_size": 20 * MIB, "allocated_size": 4 * MIB,
               "active_size": 4 * MIB, "blocks": []}  # fmt: skip
    folder = tmp_path_factory.mktemp("snapshot")
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [trace]}))
    with viewing(folder / "cache", path) as url:
        yield url


def said(found: Any, text: str) -> None:
    found.page.get_by_text(text).first.wait_for()


def test_the_peak_is_shown_by_stack_and_by_segment(chromium: Any, snapshot: str) -> None:
    with visited(chromium, snapshot, "#/memory") as found:
        said(found, "16.0 MiB in 2 blocks")
        said(found, "1 of 1 segments: 20.0 MiB reserved, 4.00 MiB of it free")
        parts = found.page.locator(".flame button")

        expect(parts.first).to_have_attribute("aria-label", "main main.py:7, 16.0 MiB, 100 %")
        expect(parts).to_have_count(4)  # main, forward, loss, attention
        assert not found.errors


def test_stacks_are_walked_by_keys(chromium: Any, snapshot: str) -> None:
    with visited(chromium, snapshot, "#/memory") as found:
        found.page.locator(".flame button").first.focus()
        for key in ("ArrowDown", "ArrowRight", "Enter"):
            found.page.keyboard.press(key)

        found.page.wait_for_function("() => document.querySelectorAll('.flame button').length === 1")
        assert "loss" in found.page.locator(".flame button").first.get_attribute("aria-label")


def test_a_chosen_moment_has_its_own_gaps(chromium: Any, snapshot: str) -> None:
    with visited(chromium, snapshot, "#/memory?at=4") as found:
        said(found, "4.00 MiB in 1 blocks")
        said(found, "16.0 MiB of it free, the longest free range 12.0 MiB")


def sizes_are(found: Any, *sizes: str) -> None:
    table = found.page.get_by_role("table", name="Blocks", exact=True)
    expect(table.locator("tbody tr")).to_have_count(len(sizes))
    expect(table.locator("tbody td").filter(has_text="MiB")).to_have_text(sizes)


def test_a_block_opens_its_stack_and_closes_it_by_key(chromium: Any, snapshot: str) -> None:
    with visited(chromium, snapshot, "#/memory") as found:
        sizes_are(found, "12.0 MiB", "4.00 MiB")
        found.page.get_by_role("button", name="Stack").first.press("Enter")
        stack = found.page.get_by_role("region", name="Call stack of the block")
        stack.wait_for()

        lines = stack.locator("pre").inner_text().splitlines()
        assert [line.rpartition(" ")[2] for line in lines] == ["attention", "forward", "main"]
        found.page.keyboard.press("Escape")
        stack.wait_for(state="detached")
        expect(found.page.get_by_role("button", name="Stack").first).to_be_focused()
        assert not found.errors


@pytest.mark.parametrize(("place", "expected"), [("&at=4", ["4.00 MiB"]), ("", ["12.0 MiB", "4.00 MiB"])])
def test_blocks_of_a_moment_are_those_held_then(chromium: Any, snapshot: str, place: str, expected: list[str]) -> None:
    with visited(chromium, snapshot, f"#/memory?blocks=moment{place}") as found:
        sizes_are(found, *expected)


def test_blocks_that_came_and_went_in_the_range_are_told_apart(chromium: Any, snapshot: str) -> None:
    with visited(chromium, snapshot, "#/memory") as found:
        sizes_are(found, "12.0 MiB", "4.00 MiB")
        found.page.get_by_role("button", name="Allocated and released").click()

        found.page.wait_for_function("() => location.hash.includes('blocks=inside')")
        sizes_are(found, "12.0 MiB")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    chromium: Any, axe: str, snapshot: str, scheme: str
) -> None:
    with visited(chromium, snapshot, "#/memory", color_scheme=scheme, bypass_csp=True) as found:
        said(found, "16.0 MiB in 2 blocks")
        for summary in found.page.locator("details summary").all():
            summary.click()
        found.page.get_by_role("button", name="Stack").first.click()
        found.page.evaluate(axe)
        told = found.page.evaluate("async () => (await axe.run(document)).violations")

    assert [one["id"] for one in told if one["impact"] in ("serious", "critical")] == []
