"""R-COMM-0: the grade of exposed transit, and what is said of the rest."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found


def communication(window: int, dur: int, **parts: object) -> DuckDBPyConnection:
    """One step of one rank: compute, then one all-reduce of `dur` at its end."""
    compute = "A" * (window - dur)
    lanes = (f"step |{'1' * window}|", f"s1 |{compute}|", f"s2 |{'.' * len(compute)}{'C' * dur}|")
    db = timeline("\n".join(f"r0 {lane}" for lane in lanes), kinds={"C": "communication"})
    insert(db, "collective", rank=0, collective_id=0, kernel_id=1, op="allreduce", name="c", group_id="g", sequence=0,
           size_bytes=8, ts_ns=window - dur, dur_ns=dur, **parts)  # fmt: skip
    return db


def moving(window: int, dur: int) -> DuckDBPyConnection:
    return communication(window, dur, transit_ns=dur, wait_ns=0, idle_ns=0, method="recorded")


@pytest.mark.parametrize(
    ("dur", "grade"), [(14, None), (15, "slight"), (29, "slight"), (30, "severe"), (49, "severe"), (50, "extreme")]
)
def test_exposed_transit_is_graded_a_bound_belongs_to_the_grade_above(dur: int, grade: str | None) -> None:
    finding = found(moving(100, dur), "R-COMM-0")

    assert (finding and finding.grade) == grade


def test_waiting_is_not_graded_but_said() -> None:
    # 40 of 100 exposed, 8 of them transit: 20 % of the communication.
    finding = found(communication(100, 40, transit_ns=8, wait_ns=20, idle_ns=12, method="recorded"), "R-COMM-0")

    assert finding is not None
    assert finding.grade is None
    assert finding.message.message_id == "rule.r-comm-0.message-waits"
    assert finding.message.params["transit_ratio"] == pytest.approx(0.2)
    assert finding.at_stake_ns == 32  # of the 40, 8 move bytes
    assert (finding.gain, finding.severity) == (None, "info")


def test_absent_members_are_named() -> None:
    db = communication(100, 40, transit_ns=8, wait_ns=2, idle_ns=30, method="recorded")
    insert(db, "comm_group_member", rank=0, group_id="g", group_rank=0, group_size=8, size_is_exact=True)

    finding = found(db, "R-COMM-0")

    assert finding is not None
    assert finding.message.message_id == "rule.r-comm-0.message-absent"
    assert finding.unpriced is not None
    assert finding.unpriced.message_id == "unpriced.members-absent"


def test_half_of_the_communication_waiting_is_still_graded_alone() -> None:
    (finding,) = advised(
        communication(100, 40, transit_ns=20, wait_ns=20, idle_ns=0, method="recorded"), "R-COMM-0"
    ).findings

    assert finding.grade == "slight"


def test_an_unknown_transit_has_no_grade() -> None:
    finding = found(communication(100, 40), "R-COMM-0")

    assert finding is not None
    assert (finding.grade, finding.message.message_id) == (None, "rule.r-comm-0.message-unknown")
    assert found(communication(100, 14), "R-COMM-0") is None
