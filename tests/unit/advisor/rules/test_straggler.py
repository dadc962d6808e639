"""R-IMB-1: the rank that the others wait for."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.advisor.advised import advised, found, suppressed

MS = 1_000_000
STEP = 100 * MS


def training(slow_ns: int, *, steps: int = 6, ranks: int = 4) -> DuckDBPyConnection:
    """Each rank computes 50 ms a step, rank 2 longer by `slow_ns`; then all meet, and their bytes move for 10 ms.

    The rest of the 100 ms of a step is computing again.
    """
    db = empty_tables()
    with together(db):
        for rank in range(ranks):
            insert(db, "profile", profile_id=rank, rank=rank, device_kind="npu", host="node-a", format="drawn",
                   source=f"r{rank}")  # fmt: skip
            insert(db, "comm_group_member", profile_id=rank, rank=rank, group_id="g", group_rank=rank, group_size=ranks,
                   size_is_exact=True, member_rank=rank)  # fmt: skip
            for step in range(steps):
                begin, own = step * STEP, 50 * MS + (slow_ns if rank == 2 else 0)
                wait = 0 if rank == 2 else slow_ns
                at = {"profile_id": rank, "rank": rank}
                insert(db, "step", **at, step_id=step, step=step + 10, ts_ns=begin, dur_ns=STEP, origin="mark")
                insert(
                    db,
                    "kernel",
                    **at,
                    kernel_id=2 * step,
                    device_id=rank,
                    stream="1",
                    name="MatMul",
                    op_type="MatMul",
                    kind="compute",
                    ts_ns=begin,
                    dur_ns=own,
                    step_id=step,
                )
                insert(db, "kernel", **at, kernel_id=2 * step + 1, device_id=rank, stream="2", name="allReduce",
                       kind="communication", ts_ns=begin + own, dur_ns=wait + 10 * MS, step_id=step)  # fmt: skip
                insert(db, "collective", **at, collective_id=step, kernel_id=2 * step + 1, op="allreduce", name="c",
                       group_id="g", sequence=step, size_bytes=8, ts_ns=begin + own, dur_ns=wait + 10 * MS,
                       transit_ns=10 * MS, wait_ns=wait, sync_ns=wait, idle_ns=0, method="recorded")  # fmt: skip
                met = 60 * MS + slow_ns
                insert(db, "kernel", **at, kernel_id=3 * steps + step, device_id=rank, stream="1", name="Adam",
                       op_type="Adam", kind="compute", ts_ns=begin + met, dur_ns=STEP - met, step_id=step)  # fmt: skip
    return db


def test_the_rank_that_comes_last_is_named_and_priced() -> None:
    finding = found(training(20 * MS), "R-IMB-1")

    assert finding is not None
    assert finding.location.ranks == (2,)
    assert (finding.message.params["lost_ns"], finding.message.params["excess_ns"]) == (20 * MS, 20 * MS)
    assert finding.advice.message_id == "rule.r-imb-1.advice-compute"
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns) == ("W9", 20 * MS)
    assert finding.severity == "critical"


def test_a_wait_at_the_threshold_is_not_reported() -> None:
    # 5 ms is 5 % of the step: neither bound is passed.
    assert found(training(5 * MS), "R-IMB-1") is None
    assert found(training(5 * MS + 1), "R-IMB-1") is not None


def test_either_bound_will_do() -> None:
    db = training(4 * MS)

    assert found(db, "R-IMB-1") is None
    assert found(db, "R-IMB-1", thresholds=["R-IMB-1.wait_from_ratio=0.03"]) is not None


def test_ranks_that_never_meet_do_not_wait_for_each_other() -> None:
    db = training(20 * MS)
    db.execute("delete from collective")
    db.execute("delete from kernel where kind = 'communication'")

    assert advised(db, "R-IMB-1").quiet == ("R-IMB-1",)


def test_where_no_call_tells_who_was_last_the_own_time_does() -> None:
    db = training(30 * MS)
    db.execute(
        "update collective set wait_ns = null, sync_ns = null, transit_ns = null, method = null, sequence = null"
    )

    # Its own time is 90 ms of the step, that of the others 60. Where they meet is not known, so nothing is gained.
    (held,) = advised(db, "R-IMB-1").suppressed
    assert (held.message.message_id, held.message.params["lost_ns"]) == ("rule.r-imb-1.message-score", 30 * MS)
    assert held.reason.message_id == "suppressed.no-gain"


def test_a_lone_first_step_is_no_evidence() -> None:
    db = training(20 * MS, steps=1, ranks=8)
    db.execute("update step set step = 0")

    assert suppressed(db, "R-IMB-1") == ["suppressed.first-step-only"]


@pytest.mark.parametrize("code", ["R-IMB-1", "R-IMB-2"])
def test_of_one_rank_of_a_larger_job_it_is_said_that_none_can_be_compared(code: str) -> None:
    db = training(0, ranks=1)
    assert advised(db, code).quiet == (code,)
    db.execute("update profile set world_size = 8")

    (lacking,) = advised(db, code).not_collected

    assert lacking.reason == "too few ranks: 1 of 8 was recorded, 2 are needed"
