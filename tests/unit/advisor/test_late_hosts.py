"""Advice about a program is not given for a rank whose host alone is late."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.advisor.facts import Facts
from ascend_sn.advisor.finding import Finding, Suppressed
from ascend_sn.advisor.late_hosts import late_hosts
from tests.timeline import insert, together
from tests.unit.advisor.advised import advised
from tests.unit.advisor.rules.test_straggler import MS, STEP, training
from tests.unit.report.drawn import DrawnRun

LATE = 2


def late(host_ns: int = 5 * MS) -> DuckDBPyConnection:
    """Rank 2 begins to compute 20 ms late; its operators take the host 60 ms a step, those of the others `host_ns`."""
    db = training(20 * MS)
    db.execute(f"update kernel set ts_ns = ts_ns + {20 * MS}, dur_ns = dur_ns - {20 * MS} "
               f"where rank = {LATE} and name = 'MatMul'")  # fmt: skip
    with together(db):
        for rank in range(4):
            took_ns = 60 * MS if rank == LATE else host_ns
            for step in range(6):
                insert(db, "operator", profile_id=rank, rank=rank, operator_id=step, thread="host", name="aten::mm",
                       ts_ns=step * STEP, dur_ns=took_ns, self_ns=took_ns, depth=0, phase="forward")  # fmt: skip
    db.execute("update kernel set operator_id = step_id where name = 'MatMul'")
    return db


def test_a_rank_that_begins_late_is_late_by_its_host() -> None:
    assert late_hosts(Facts(DrawnRun(late()))) == {LATE: LATE}
    assert late_hosts(Facts(DrawnRun(training(20 * MS)))) == {}  # it computes longer


def test_its_dispatch_is_explained_by_the_straggler() -> None:
    (held,) = advised(late(), "R-HOST-5").suppressed

    assert (held.reason.message_id, held.reason.params, held.location.ranks) == (
        "suppressed.straggler-explains",
        {"rank": LATE},
        (LATE,),
    )


def test_what_the_other_ranks_have_as_well_is_told_of_them() -> None:
    # 30 ms of the host beside 50 ms of the device, on every rank.
    advice = advised(late(30 * MS), "R-HOST-5")

    told: list[Finding | Suppressed] = [*advice.findings, *advice.suppressed]
    assert [one.location.ranks for one in told] != [(LATE,)]
    assert all(one.reason.message_id != "suppressed.straggler-explains" for one in advice.suppressed)
