"""R-PP-1: bubbles of a pipeline, and stages that compute longer."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.advisor.advised import advised, found

MS = 1_000_000
STEP = 100 * MS


def stages(
    bubble_ns: int, *, micro_batches: int | None = 12, op: str = "receive", extra_ns: int = 0, shape: str = "8,128"
) -> DuckDBPyConnection:
    """Four stages; each computes, and in the middle of the step waits in a receive for some time.

    The last one has an operator more; the step of all others idles meanwhile at its end.
    """
    db = empty_tables()
    with together(db):
        for rank in range(4):
            at = {"profile_id": rank, "rank": rank}
            insert(db, "profile", **at, device_kind="npu", host="node-a", format="drawn", source=f"r{rank}")
            for member in range(4):
                insert(db, "comm_group_member", **at, group_id="p", kind="pp", group_rank=member, group_size=4,
                       size_is_exact=True, member_rank=member)  # fmt: skip
            for step in range(6):
                begin = step * STEP
                insert(db, "step", **at, step_id=step, step=step + 10, ts_ns=begin, dur_ns=STEP, origin="mark")
                insert(
                    db,
                    "kernel",
                    **at,
                    kernel_id=4 * step,
                    device_id=rank,
                    stream="1",
                    name="MatMul",
                    op_type="MatMul",
                    input_shapes="8,64",
                    kind="compute",
                    ts_ns=begin,
                    dur_ns=20 * MS,
                    step_id=step,
                )
                insert(db, "kernel", **at, kernel_id=4 * step + 1, device_id=rank, stream="2", name=op,
                       kind="communication", ts_ns=begin + 20 * MS, dur_ns=bubble_ns, step_id=step)  # fmt: skip
                insert(db, "collective", **at, collective_id=step, kernel_id=4 * step + 1, op=op, name=op, group_id="p",
                       sequence=step, size_bytes=8, ts_ns=begin + 20 * MS, dur_ns=bubble_ns, transit_ns=0,
                       wait_ns=bubble_ns, idle_ns=0, method="recorded")  # fmt: skip
                if rank == 3 and extra_ns:
                    insert(db, "kernel", **at, kernel_id=4 * step + 2, device_id=rank, stream="1", name="Vocabulary",
                           op_type="Vocabulary", input_shapes=shape, kind="compute", ts_ns=begin + 20 * MS + bubble_ns,
                           dur_ns=extra_ns, step_id=step)  # fmt: skip
            if micro_batches is not None:
                insert(db, "metric", **at, name="micro_batches", step=10, ts_ns=0, value=micro_batches)
    return db


def test_a_bubble_beyond_the_ideal_one_is_found() -> None:
    # 4 stages, 12 micro-batches: 3 / 15 = 20 % would be needed, 30 % are measured.
    finding = found(stages(30 * MS), "R-PP-1")

    assert finding is not None
    assert finding.message.params["ideal_ratio"] == pytest.approx(0.2)
    assert finding.message.params["bubble_ratio"] == pytest.approx(0.3)
    assert finding.gain is not None
    # Of 30 ms, 20 are the schedule's: half of them goes with twice the micro-batches.
    assert (finding.gain.low_ns, finding.gain.expected_ns, finding.gain.high_ns) == (5 * MS, 10 * MS, 20 * MS)


@pytest.mark.parametrize(("bubble_ms", "is_found"), [(20, False), (25, False), (26, True)])
def test_five_points_beyond_are_allowed(bubble_ms: int, is_found: bool) -> None:
    assert (found(stages(bubble_ms * MS), "R-PP-1") is not None) == is_found


@pytest.mark.parametrize(("bubble_ms", "is_found"), [(10, False), (11, True)])
def test_a_bubble_counts_even_with_batched_calls_only(bubble_ms: int, is_found: bool) -> None:
    finding = found(stages(bubble_ms * MS, micro_batches=None, op="batchsendrecv"), "R-PP-1")

    assert (finding is not None) == is_found
    if finding is not None:
        assert finding.gain is None
        assert finding.unpriced is not None
        assert finding.unpriced.message_id == "unpriced.micro-batches-unknown"
        assert finding.at_stake_ns == 11 * MS


def test_a_stage_that_computes_longer_is_named_by_its_kernels() -> None:
    finding = found(stages(20 * MS, extra_ns=8 * MS), "R-PP-1")

    assert finding is not None
    assert finding.location.stage == 3
    assert finding.message.params["kernels"] == "Vocabulary"
    assert finding.advice.message_id == "rule.r-pp-1.advice-stage"
    assert finding.gain is not None
    # Three quarters of the extra 8 ms could be shared out.
    assert (finding.gain.low_ns, finding.gain.expected_ns, finding.gain.high_ns) == (0, 6 * MS, 8 * MS)


def test_work_of_the_size_of_a_vocabulary_is_told() -> None:
    finding = found(stages(20 * MS, extra_ns=8 * MS, shape="8,50000"), "R-PP-1")

    assert finding is not None
    assert finding.advice.message_id == "rule.r-pp-1.advice-vocabulary"


@pytest.mark.parametrize(("extra_ms", "is_found"), [(2, False), (3, True)])
def test_a_tenth_more_compute_is_allowed(extra_ms: int, is_found: bool) -> None:
    # 2 of 20 ms is a tenth.
    assert (advised(stages(20 * MS, extra_ns=extra_ms * MS), "R-PP-1").quiet == ()) == is_found


def held(db: DuckDBPyConnection) -> list[str]:
    return [one.reason.message_id for one in advised(db, "R-PP-1").suppressed]


def with_waits(db: DuckDBPyConnection, rank: int, bubble_ns: int) -> DuckDBPyConnection:
    """Let the receives of a rank take another time."""
    db.execute(f"update collective set dur_ns = {bubble_ns}, wait_ns = {bubble_ns} where rank = {rank}")
    db.execute(f"update kernel set dur_ns = {bubble_ns} where rank = {rank} and kind = 'communication'")
    return db


def test_a_longer_stage_explains_what_the_others_wait() -> None:
    # 30 % are measured where 20 are needed, but the last stage, which computes longer, waits 20 only.
    db = with_waits(stages(30 * MS, extra_ns=8 * MS), 3, 20 * MS)

    (finding,) = advised(db, "R-PP-1").findings

    assert finding.title.message_id == "rule.r-pp-1.title-stage"
    assert held(db) == ["suppressed.stage-explains"]


def test_where_every_stage_waits_the_schedule_is_to_blame() -> None:
    db = stages(30 * MS, extra_ns=8 * MS)

    assert [one.title.message_id for one in advised(db, "R-PP-1").findings] == [
        "rule.r-pp-1.title",
        "rule.r-pp-1.title-stage",
    ]
    assert held(db) == []


def test_a_slow_link_explains_what_some_stages_wait() -> None:
    assert held(with_waits(stages(30 * MS), 3, 20 * MS)) == []  # nothing is known to hold them up

    db = with_waits(stages(30 * MS), 3, 20 * MS)
    with together(db):
        for src in range(4):
            for dst in range(4):
                if src != dst:
                    insert(db, "link", profile_id=src, rank=src, step=10, collective_id=0, src_rank=src, dst_rank=dst,
                           rank_scope="global", transport="HCCS", size_bytes=8_000,
                           dur_ns=4_000 if (src, dst) == (3, 0) else 1_000, group_id="p")  # fmt: skip

    assert held(db) == ["suppressed.told-by"]
