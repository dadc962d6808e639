"""The figures of the page about waiting are those of the sample that it speaks of."""

from __future__ import annotations

import ascend_sn
from tests.docs.blocks import REPOSITORY
from tests.shared_data import requires_shared, shared_path

PAGE = REPOSITORY / "docs" / "explanation" / "waiting.md"
PARTS = {"length of the calls": "dur_ns", "transit": "transit_ns", "recorded wait": "wait_ns", "idle": "idle_ns"}


@requires_shared
def test_the_parts_of_the_sample_are_those_of_its_collectives() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## On a real capture")[2]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    shown = {row[0]: row[1:] for row in rows if row[0] in PARTS}
    sums = ", ".join(f"sum({column})" for column in PARTS.values())

    with ascend_sn.open(shared_path("data", "torch_npu", "text", "level1")) as run:
        of_ranks = run.sql(f"select {sums} from collective group by rank order by rank").fetchall()

    assert shown == {
        part: [f"{ns / 1e6:.1f} ms".replace(".0 ms", " ms") for ns in column]
        for part, column in zip(PARTS, zip(*of_ranks, strict=True), strict=True)
    }
