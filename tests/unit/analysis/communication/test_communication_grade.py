"""A03b for communication: what of the exposed time moves bytes, and the ladder of the guide."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ascend_sn.analysis.communication.communication_grade import ANALYSIS, GRADES
from tests.timeline import timeline
from tests.unit.analysis.rows import collective, group, profile, results
from tests.unit.analysis.traces import Row, captures, collective as call, kernel, numbered, results as of_rows, step


def graded(transit: int, wait: int, *, exposed: int, window: int = 1_000, unknown: int = 0) -> dict[str, Any]:
    """One step with one recorded collective of `exposed - unknown` ns, and one of `unknown` whose parts are unknown."""
    known = exposed - unknown
    rows = [step(0, window, 1), kernel(0, known, "R", "communication", stream="2", step_id=0)]
    recorded: dict[str, Any] = {
        "transit_ns": transit,
        "wait_ns": wait,
        "idle_ns": known - transit - wait,
        "method": "recorded",
    }
    rows.append(call(0, known, kernel_id=0, **recorded))
    if unknown:
        rows.append(kernel(known, unknown, "R", "communication", stream="2", step_id=0))
        rows.append(call(known, unknown, kernel_id=1))
    (row,) = of_rows(ANALYSIS, numbered(rows))
    return row


def test_exposed_time_is_divided_as_the_collectives_are() -> None:
    # 20 ns of all-reduce (5 transit, 10 wait, 5 idle), of them 8 under compute: 12 exposed of 40
    rows = numbered(
        [
            step(0, 40, 1),
            kernel(0, 18, "A", step_id=0),
            kernel(10, 20, "R", "communication", stream="2", step_id=0),
            call(10, 20, kernel_id=1, transit_ns=5, wait_ns=10, idle_ns=5, method="recorded"),
        ]
    )

    (row,) = of_rows(ANALYSIS, rows)

    assert row == {
        "profile_id": 0,
        "rank": 0,
        "window_ns": 40,
        "exposed_comm_ns": 12,
        "exposed_transit_ns": 3,
        "exposed_wait_ns": 6,
        "exposed_idle_ns": 3,
        "exposed_unknown_ns": 0,
        "exposed_share_ratio": 0.3,
        "exposed_transit_ratio": 0.075,
        "main_part": "wait",
        "grade": "normal",
    }


@pytest.mark.parametrize(
    ("transit", "grade"),
    [(149, "normal"), (150, "slight"), (299, "slight"), (300, "severe"), (499, "severe"), (500, "extreme")],
)
def test_the_ladder_includes_its_lower_bounds(transit: int, grade: str) -> None:
    assert graded(transit, 0, exposed=600)["grade"] == grade


def test_waiting_is_not_graded() -> None:
    row = graded(100, 700, exposed=800)

    assert (row["exposed_share_ratio"], row["grade"], row["main_part"]) == (0.8, "normal", "wait")


def test_unknown_parts_leave_a_grade_only_where_they_cannot_change_it() -> None:
    assert graded(100, 0, exposed=140, unknown=40)["grade"] == "normal"
    row = graded(100, 0, exposed=300, unknown=200)
    assert (row["grade"], row["exposed_unknown_ns"], row["main_part"]) == (None, 200, "unknown")


def test_all_members_tell_the_parts_that_nobody_recorded() -> None:
    # both in the group: rank 0 waits 14 ns for rank 1, then bytes move for 6
    db = timeline("r0 step |111111111111111111111111111111|\n r1 step |111111111111111111111111111111|")
    db.execute("delete from profile")
    for rank in (0, 1):
        profile(db, rank, host="one")
    group(db, "g", 2, 0, 1)
    collective(db, 0, 0, 10, 30, step_id=0)
    collective(db, 1, 0, 24, 30, step_id=0)

    found = results("communication_grade", db)

    parts = [(row["exposed_comm_ns"], row["exposed_transit_ns"], row["exposed_wait_ns"], row["grade"]) for row in found]
    assert parts == [(20, 6, 14, "slight"), (6, 6, 0, "slight")]


@settings(max_examples=20)
@given(captures(), st.integers(0, 20), st.integers(1, 20), st.booleans())
def test_the_parts_sum_to_the_exposed_time(rows: list[Row], start: int, length: int, known: bool) -> None:
    kernels = sum(table == "kernel" for table, _ in rows)
    recorded: dict[str, Any] = (
        {"transit_ns": length // 2, "wait_ns": length // 3, "method": "recorded"} if known else {}
    )
    rows = [*rows, kernel(start, length, "R", "communication", kernel_id=kernels, stream="9")]
    rows.append(call(start, length, collective_id=0, kernel_id=kernels, **recorded))

    (row,) = of_rows(ANALYSIS, rows)

    parts = [row[f"exposed_{part}_ns"] for part in ("transit", "wait", "idle", "unknown")]
    assert min(parts) >= 0
    assert abs(sum(parts) - row["exposed_comm_ns"]) <= 1
    assert row["grade"] in {None, *(grade for _, grade in GRADES)}
