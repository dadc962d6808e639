"""Memory of several components: each in tables of its own, those without any nowhere; a comparison names its peak."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.viewing import viewing, visited
from tests.timeline import insert, timeline, together
from tests.unit.insight.drawn_runs import write_run

MIB = 1 << 20


def with_memory(folder: Path, peak: int) -> Path:
    """Curves of the framework and of the whole process, and of one component that never held anything."""
    db = timeline("""
        r0 s1   |AAAABBAAAABB|
        r0 step |0.....1.....|
    """)
    with together(db):
        for component, sizes in (
            ("PTA", (MIB, peak, MIB)),
            ("APP", (2 * peak, 2 * peak, 2 * peak)),
            ("SLOG", (0, 0, 0)),
        ):
            for moment, size in enumerate(sizes):
                allocated = size if component == "PTA" else None
                own = {"component": component, "allocated_bytes": allocated, "reserved_bytes": size}
                insert(db, "memory_sample", rank=0, ts_ns=moment * 5, **own)
    return write_run(db, folder)


@pytest.fixture(scope="module")
def two_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("components")
    runs = [with_memory(folder / "base", 8 * MIB), with_memory(folder / "candidate", 12 * MIB)]
    with viewing(folder / "cache", *runs) as url:
        yield url


def test_a_component_without_memory_is_not_listed_and_the_others_have_tables_of_their_own(
    chromium: Any, two_runs: str
) -> None:
    with visited(chromium, two_runs, "#/memory?run=a") as found:
        peaks = found.page.locator("section", has=found.page.locator("h2", has_text="Peak")).last
        choice = found.page.locator("select", has=found.page.locator("option", has_text="PTA")).first
        expect(choice.locator("option")).to_have_count(2)
        expect(peaks.locator("tbody tr")).to_have_count(1)
        expect(peaks.locator("tbody")).to_contain_text("PTA")
        choice.select_option("0/APP")
        expect(peaks.locator("tbody")).to_contain_text("APP")
        expect(peaks.locator("tbody tr")).to_have_count(1)

    assert found.errors == []


def test_a_comparison_says_whose_memory_the_peak_is(chromium: Any, two_runs: str) -> None:
    with visited(chromium, two_runs, "#/compare") as found:
        cell = found.page.locator("td, th", has_text="(PTA)").first
        cell.wait_for()
        row = cell.locator("xpath=ancestor::tr").inner_text()

    assert "8.00 MiB" in row
    assert "12.0 MiB" in row
