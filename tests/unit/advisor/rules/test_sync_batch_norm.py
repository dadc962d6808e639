"""R-BN-1: collectives of synchronised batch norm."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import insert
from tests.unit.advisor.advised import advised, found
from tests.unit.advisor.rules.calls import MS, job


def normed(calls: int, *, transit_ns: int, name: str = "SyncBatchNorm") -> DuckDBPyConnection:
    """Every call was launched within a range of that name on the main thread."""
    db = job([{"transit_ns": transit_ns}] * calls, steps=5)
    insert(db, "operator", rank=0, operator_id=1, thread="main", name=name, ts_ns=-10, dur_ns=5, self_ns=5, depth=0,
           phase="forward")  # fmt: skip
    insert(db, "operator", rank=0, operator_id=2, thread="main", name="c10d::allgather", ts_ns=-8, dur_ns=1, self_ns=1,
           depth=1, phase="forward", parent_id=1)  # fmt: skip
    db.execute("update kernel set operator_id = 2 where kind = 'communication'")
    return db


def test_many_calls_are_found_and_half_of_their_time_is_the_gain() -> None:
    finding = found(normed(21, transit_ns=MS), "R-BN-1")

    assert finding is not None
    assert (finding.message.params["call_count"], finding.message.params["exposed_ns"]) == (21, 21 * MS)
    assert finding.gain is not None
    assert finding.gain.expected_ns == 21 * MS // 2
    assert finding.gain.high_ns >= 21 * MS


@pytest.mark.parametrize(("calls", "is_found"), [(20, False), (21, True)])
def test_more_than_twenty_per_step(calls: int, is_found: bool) -> None:
    assert (advised(normed(calls, transit_ns=MS), "R-BN-1").quiet == ()) == is_found


@pytest.mark.parametrize(("transit_ns", "is_found"), [(MS // 25, True), (MS // 25 - 1, False)])
def test_a_hundredth_of_the_step(transit_ns: int, is_found: bool) -> None:
    assert (advised(normed(25, transit_ns=transit_ns), "R-BN-1").quiet == ()) == is_found


def test_other_collectives_are_left_alone() -> None:
    assert advised(normed(25, transit_ns=MS, name="Linear"), "R-BN-1").quiet == ("R-BN-1",)
