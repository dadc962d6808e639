"""Addresses of the timeline that ask for what no run has: the nearest that there is, and no error."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.viewing import await_that, state, viewing, visited
from tests.timeline import timeline
from tests.unit.insight.drawn_runs import write_run


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A kernel of 4 ns, then one of 2 ns."""
    folder: Path = tmp_path_factory.mktemp("links")
    run = write_run(timeline("r0 s1 |AAAABB|"), folder / "run")
    with viewing(folder / "cache", run) as url:
        yield url


@pytest.mark.parametrize(
    "asked",
    ["t=1e18:2e18", "t=-1e300:1e300", "t=9007199254740993:9007199254740994", "t=5:5.0001", "range=-1e300:1e300"],
)
def test_an_absurd_window_shows_the_run(chromium: Any, drawn: str, asked: str) -> None:
    with visited(chromium, drawn, f"#/timeline?{asked}") as found:
        await_that(found, "() => window.__ascendSn.timeline().rects > 0")  # the first frames have no slices yet
        told = state(found)

    assert found.errors == []
    assert told["rects"] > 0


def test_a_range_beside_the_run_is_none(chromium: Any, drawn: str) -> None:
    with visited(chromium, drawn, "#/timeline?range=1e18:2e18") as found:
        await_that(found, "() => window.__ascendSn.timeline().rects > 0")
        told = state(found)

    assert found.errors == []
    assert told["rects"] > 0
