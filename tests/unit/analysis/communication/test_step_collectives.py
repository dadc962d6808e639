"""A14 by step and primitive: sums of the calls, their parts completed across ranks where the ranks tell them."""

from __future__ import annotations

from tests.timeline import empty_tables
from tests.unit.analysis.rows import collective, group, profile, results


def test_recorded_parts_are_summed_and_those_of_unknown_calls_counted() -> None:
    db = empty_tables()
    profile(db, 0, host="host-0")
    collective(db, 0, 0, 0, 20, op="allreduce", transit_ns=3, wait_ns=5, idle_ns=12, method="recorded")
    collective(db, 0, 1, 30, 55, op="allreduce", transit_ns=4, wait_ns=None, idle_ns=None, method="recorded")
    collective(db, 0, 2, 60, 67, op="send", method=None)

    rows = results("step_collectives", db)

    assert rows == [
        {"profile_id": 0, "step_id": None, "op": "allreduce", "calls": 2, "total_ns": 45,
         "transit_ns": 7, "transit_calls": 2, "wait_ns": 5, "wait_calls": 1},
        {"profile_id": 0, "step_id": None, "op": "send", "calls": 1, "total_ns": 7,
         "transit_ns": None, "transit_calls": 0, "wait_ns": None, "wait_calls": 0},
    ]  # fmt: skip


def test_parts_that_only_the_members_tell_are_completed() -> None:
    db = empty_tables()
    for rank in (0, 1):
        profile(db, rank, host="host-0")
    group(db, "g", 2, 0, 1, exact=True)
    collective(db, 0, 0, 0, 50)
    collective(db, 1, 0, 20, 60)

    rows = results("step_collectives", db)

    # Both are there from 20 to 50: the first waited for 20.
    assert [(row["profile_id"], row["total_ns"], row["transit_ns"], row["wait_ns"]) for row in rows] == [
        (0, 50, 30, 20),
        (1, 40, 30, 0),
    ]
