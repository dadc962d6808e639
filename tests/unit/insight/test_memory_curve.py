"""Parts of memory curves: the highest point of each interval, times from the begin of the profile."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.insight.drawn_runs import ApiClient, client_of
from tests.unit.report.drawn import add_rank

ORIGIN = 1_700_000_000_000_000_000
LEVELS = (10, 40, 20, 50, 30)


def sampled(levels: Sequence[int] = LEVELS) -> DuckDBPyConnection:
    """A level every 100 ns."""
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for number, level in enumerate(levels):
            insert(db, "memory_sample", profile_id=0, rank=0, ts_ns=ORIGIN + 100 * number, component="PTA",
                   allocated_bytes=level, reserved_bytes=64)  # fmt: skip
    return db


@pytest.fixture
def api(tmp_path: Path) -> ApiClient:
    return client_of(sampled(), tmp_path)


def test_a_whole_curve_has_all_its_points(api: ApiClient) -> None:
    found = api.get("memory-curve", profile=0, component="PTA")

    assert found == {
        "at_ns": [0, 100, 200, 300, 400],
        "allocated_bytes": list(LEVELS),
        "reserved_bytes": [64] * 5,
        "active_bytes": [None] * 5,
        "recorded": 5,
    }


def test_a_part_is_narrowed_and_says_how_many_points_it_has(api: ApiClient) -> None:
    found = api.get("memory-curve", profile=0, component="PTA", from_ns=100, to_ns=300, points=2)

    assert found["recorded"] == 3
    assert (found["at_ns"], found["allocated_bytes"]) == ([100, 300], [40, 50])  # [100, 200) and [200, 300]


def test_levels_of_events_stand_in_for_a_curve(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for number, level in enumerate((5, 9)):
            insert(db, "memory_event", profile_id=0, rank=0, ts_ns=ORIGIN + number, kind="alloc", size_bytes=4,
                   device="NPU:0", address=str(number), allocated_bytes=level)  # fmt: skip

    found = client_of(db, tmp_path).get("memory-curve", profile=0, component="NPU:0")

    assert (found["at_ns"], found["allocated_bytes"]) == ([0, 1], [5, 9])


def test_a_curve_that_is_not_there_is_empty(api: ApiClient) -> None:
    assert api.get("memory-curve", profile=0, component="'; drop table kernel; --")["at_ns"] == []
