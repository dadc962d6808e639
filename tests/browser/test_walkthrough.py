"""The tutorial on why the ranks wait: every step is done, and what it says can be read there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from scripts.walkthrough import NAME, STEPS, walk
from tests.shared_data import requires_shared

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / f"{NAME}.md"


@requires_shared
def test_every_step_can_be_done_and_says_what_the_page_says(chromium: Any, torch_npu: str, tmp_path: Path) -> None:
    verdict, finding, timeline, calls, ranks, call, other, health = walk(chromium, torch_npu, tmp_path)

    assert "Communication limits this job: 75 % of the stage" in verdict
    assert "3.5 % is transit and 5.6 % recorded wait; the other 91 % is neither" in verdict
    assert "waiting for place 5 of the group" in verdict
    assert "members of the group are absent" in finding
    assert re.search(r"#/timeline\?find=collective:0:\d+&frame=1$", timeline)
    assert "79.1 ms" in calls
    assert "5.62 ms" in calls
    assert "239 us" in calls
    assert "rank 1" in ranks
    assert re.match(r"rank 0: 7\d{7} ns", call)
    assert "transit_ns" in call
    assert re.fullmatch(r"rank 1: 7\d{7} ns", other)
    assert "at least 8" in health
    assert all((tmp_path / f"{NAME}-{number}.png").stat().st_size > 10_000 for number in range(1, len(STEPS) + 1))


def test_every_picture_of_the_page_is_taken() -> None:
    wanted = re.findall(rf"pictures/{NAME}-(\d+)\.png", PAGE.read_text(encoding="utf-8"))

    assert [int(number) for number in wanted] == list(range(1, len(STEPS) + 1))
