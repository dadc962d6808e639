"""Ranks beyond the stated world size are named."""

from __future__ import annotations

from ascend_sn.analysis.capture.rank_presence import ANALYSIS
from ascend_sn.analysis.registry import evaluate
from tests.timeline import empty_tables, insert, together


def test_ranks_that_the_world_does_not_have_are_named() -> None:
    db = empty_tables()
    with together(db):
        for profile_id, rank in enumerate((0, 5, 12)):
            about = {"format": "drawn", "source": "x", "device_kind": "npu", "world_size": 4}
            insert(db, "profile", profile_id=profile_id, rank=rank, **about)

    found = evaluate(ANALYSIS, db)
    (row,) = found.fetchall()

    assert dict(zip(found.columns, row, strict=True))["extra_ranks"] == "5,12"
