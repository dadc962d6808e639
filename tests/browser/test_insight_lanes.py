"""Requests on the timeline in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from duckdb import DuckDBPyConnection
from playwright.sync_api import expect

from tests.browser.viewing import await_that, state, viewing, visited
from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.insight.drawn_runs import write_run

MS = 1_000_000
REQUESTS = (("chat 1", 0, 40), ("chat 2", 5, 20), ("chat 3", 10, 60), ("chat 4", 25, 50))
"""Name, arrival and end in ms; three at most run at a time."""


def server() -> DuckDBPyConnection:
    """Four requests with what ran meanwhile: a queue and a decode of the first are recorded."""
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0", device_kind="npu", host="drawn", format="drawing")
    with together(db):
        for key, (name, start, end) in enumerate(REQUESTS):
            insert(
                db, "span", span_id=key, name=name, domain="request", thread="serve", ts_ns=start * MS,
                dur_ns=(end - start) * MS,
            )  # fmt: skip
    with together(db):
        for key, (name, start, end) in enumerate((("queue", 0, 4), ("decode", 12, 40)), len(REQUESTS)):
            insert(
                db, "span", span_id=key, name=name, domain="request phase", thread="serve", ts_ns=start * MS,
                dur_ns=(end - start) * MS,
            )  # fmt: skip
            insert(db, "flow", src_table="span", src_id=0, dst_table="span", dst_id=key, kind="phase")
    with together(db):
        for key, (kind, start, end) in enumerate((("copy", 4, 6), ("compute", 6, 38), ("compute", 45, 58))):
            insert(
                db, "kernel", kernel_id=key, device_id=0, stream="1", name="MatMul" if kind == "compute" else "copy",
                op_type=kind, kind=kind, copy_direction="h2d" if kind == "copy" else None, ts_ns=start * MS,
                dur_ns=(end - start) * MS,
            )  # fmt: skip
    return db


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("lanes")
    with viewing(folder / "cache", write_run(server(), folder / "run")) as url:
        yield url


@pytest.mark.parametrize(
    ("lang", "heading", "lane"), [("en-US", "Requests", "From arrival to end"), ("zh-CN", "请求", "从到达到结束")]
)
def test_requests_have_lanes_of_their_own(chromium: Any, served: str, lang: str, heading: str, lane: str) -> None:
    with visited(chromium, served, "#/timeline", locale=lang) as found:
        page = found.page
        expect(page.locator(".tl-names")).to_contain_text(heading)
        expect(page.locator(".tl-names")).to_contain_text(lane)
        expect(page.locator(".tl-names")).to_contain_text("decode")
        # Lanes are numbered: the requests, then each phase.
        assert [state(found)["lanes"][f"a.0.{lane}"]["rects"] for lane in range(3)] == [4, 1, 1]
    assert (found.errors, found.requests) == ([], [])


def test_a_request_of_the_table_is_shown_with_its_stages_and_phases(chromium: Any, served: str) -> None:
    with visited(chromium, served, "#/operators?tab=requests", locale="en-US") as found:
        page = found.page
        page.get_by_role("link", name="chat 1").click()
        expect(page.locator("[data-slice-name]")).to_have_text("chat 1")
        # 2 ms of copying and 32 ms of work ran in its 40 ms.
        expect(page.locator("[data-stages]")).to_contain_text("copy in2.00 ms (5.0 %)")
        expect(page.locator("[data-stages]")).to_contain_text("inference32.0 ms (80 %)")
        expect(page.locator("[data-link=phase]")).to_have_text(["queue", "decode"])

        page.locator("[data-link=phase]").last.click()
        expect(page.locator("[data-slice-name]")).to_have_text("decode")
        page.locator("[data-link=request]").click()
        expect(page.locator("[data-slice-name]")).to_have_text("chat 1")
        await_that(found, "() => location.hash.includes('slice=')")
    assert (found.errors, found.requests) == ([], [])


def test_a_run_without_requests_has_no_such_lane(chromium: Any, tmp_path: Path) -> None:
    with (
        viewing(tmp_path / "cache", write_run(timeline("r0 s1 |AA.BB|"), tmp_path / "run")) as url,
        visited(chromium, url, "#/timeline", locale="en-US") as found,
    ):
        names = found.page.locator(".tl-names")
        expect(names).to_contain_text("tream 1")
        expect(names).not_to_contain_text("Requests")
