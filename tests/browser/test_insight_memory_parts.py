"""What memory is for: the page on a drawn memory timeline of PyTorch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.viewing import viewing, visited

MIB = 1 << 20
PARAMETER, ACTIVATION = 0, 4


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """10 MiB of parameters throughout, 30 MiB of activations for a while."""
    folder = tmp_path_factory.mktemp("timeline")
    path = folder / "memory.raw.json"
    path.write_text(
        json.dumps([[1000, 2, 10 * MIB, PARAMETER], [2000, 2, 30 * MIB, ACTIVATION], [3000, 4, -30 * MIB, ACTIVATION]])
    )
    with viewing(folder / "cache", path) as url:
        yield url


PARTS = ["activations", "30.0 MiB", "75 %", "30.0 MiB", "parameters", "10.0 MiB", "25 %", "10.0 MiB"]


def parts_are_shown(found: Any) -> None:
    expect(found.page.get_by_role("table", name="What memory is for").locator("tbody td")).to_have_text(PARTS)


def test_the_parts_of_the_highest_moment_are_shown_with_their_shares(chromium: Any, timeline: str) -> None:
    with visited(chromium, timeline, "#/memory") as found:
        parts_are_shown(found)
        found.page.get_by_role("img", name="What memory is for").wait_for()
        assert not found.errors


def test_blocks_without_addresses_are_not_shown_and_it_is_said_why(chromium: Any, timeline: str) -> None:
    with visited(chromium, timeline, "#/memory") as found:
        found.page.get_by_text("a memory timeline holds no addresses").first.wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_a_screen_reader(
    chromium: Any, axe: str, timeline: str, scheme: str
) -> None:
    with visited(chromium, timeline, "#/memory", color_scheme=scheme, bypass_csp=True) as found:
        parts_are_shown(found)
        found.page.evaluate(axe)
        told = found.page.evaluate("async () => (await axe.run(document)).violations")

    assert [one["id"] for one in told if one["impact"] in ("serious", "critical")] == []
