"""R-IMB-2: ranks that wait for each other in turn."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import insert
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.calls import MS, job
from tests.unit.advisor.rules.test_straggler import training


def in_turn(wait_ns: int, op: str = "allreduce") -> DuckDBPyConnection:
    """Of four ranks another one is late in every step; the others wait for it."""
    call = {"op": op, "transit_ns": 10 * MS, "wait_ns": lambda rank, step: 0 if rank == step % 4 else wait_ns}
    return job([call], ranks=4, steps=8)


def test_no_rank_is_to_blame_and_all_would_gain() -> None:
    finding = found(in_turn(20 * MS), "R-IMB-2")

    # Three of four ranks wait 20 ms in every step.
    assert finding is not None or suppressed(in_turn(20 * MS), "R-IMB-2") == ["suppressed.no-gain"]
    assert advised(in_turn(20 * MS), "R-IMB-1").quiet == ("R-IMB-1",)
    if finding is not None:
        assert finding.message.params["wait_ns"] == 15 * MS


@pytest.mark.parametrize(("wait_us", "quiet"), [(6_600, True), (6_700, False)])
def test_five_ms_or_five_percent(wait_us: int, quiet: bool) -> None:
    # The mean is three quarters of it: 4.95 and 5.03 ms of a step of 100.
    assert advised(in_turn(wait_us * 1000), "R-IMB-2").quiet == (("R-IMB-2",) if quiet else ())


def test_waits_that_are_always_the_same_are_not_uneven_work() -> None:
    db = job([{"transit_ns": 10 * MS, "wait_ns": 20 * MS}], ranks=4)

    assert advised(db, "R-IMB-2").quiet == ("R-IMB-2",)


@pytest.mark.parametrize("op", ["send", "unknown"])
def test_waits_of_calls_that_may_be_between_two_ranks_say_nothing_about_all(op: str) -> None:
    assert advised(in_turn(20 * MS, op), "R-IMB-2").quiet == ("R-IMB-2",)


def test_a_straggler_explains_it() -> None:
    assert suppressed(training(20 * MS), "R-IMB-2") == ["suppressed.straggler-explains"]


def test_absent_members_may_be_the_late_ones() -> None:
    db = in_turn(20 * MS)
    insert(db, "comm_group_member", profile_id=0, rank=0, group_id="g", group_rank=7, group_size=8,
           size_is_exact=True)  # fmt: skip

    assert suppressed(db, "R-IMB-2") == ["suppressed.members-absent"]


def loaded(heavy: int, ranks: int) -> DuckDBPyConnection:
    """The first `heavy` ranks compute 20 ms longer than the others, in every step; all meet after that."""
    db = training(0, ranks=ranks)
    db.execute(f"update kernel set dur_ns = dur_ns + {20 * MS} where name = 'MatMul' and rank < {heavy}")
    db.execute(f"update kernel set ts_ns = ts_ns + {20 * MS} where name = 'allReduce' and rank < {heavy}")
    db.execute(f"update kernel set dur_ns = dur_ns + {20 * MS} where name = 'allReduce' and rank >= {heavy}")
    db.execute(f"update kernel set ts_ns = ts_ns + {20 * MS}, dur_ns = dur_ns - {20 * MS} where name = 'Adam'")
    db.execute(f"update collective set ts_ns = ts_ns + {20 * MS} where rank < {heavy}")
    db.execute(f"""
        update collective
        set dur_ns = dur_ns + {20 * MS}, wait_ns = {20 * MS}, sync_ns = {20 * MS}
        where rank >= {heavy}
    """)
    return db


def test_many_ranks_that_have_more_to_do_are_an_uneven_load() -> None:
    db = loaded(4, 12)

    finding = found(db, "R-IMB-2")

    assert suppressed(db, "R-IMB-1") == ["suppressed.uneven-load"]
    assert finding is not None
    assert finding.gain is not None
    assert finding.gain.expected_ns == 20 * MS


def shaped(db: DuckDBPyConnection, heavy: int, *, rows: int) -> DuckDBPyConnection:
    """Give the products shapes; their left factor has so many rows on the first ranks, and 50 on the others."""
    db.execute(f"update kernel set input_shapes = if(rank < {heavy}, '{rows},64;64,8', '50,64;64,8') where rank >= 0")
    return db


def test_ranks_with_more_to_do_share_it_with_the_others() -> None:
    # Products of 70 rows take 70 ms, those of 50 rows 50.
    db = shaped(loaded(2, 8), 2, rows=70)
    db.execute("update kernel set input_shapes = '8,8' where name = 'Adam'")

    finding = found(db, "R-IMB-2")

    assert suppressed(db, "R-IMB-1") == ["suppressed.more-work"]
    assert finding is not None
    assert finding.title.message_id == "rule.r-imb-2.title-more-work"
    assert finding.location.ranks == (0, 1)
    assert (finding.message.params["ranks"], finding.message.params["kernels"]) == ("0-1", "MatMul")
    assert finding.message.params["excess_ns"] == 20 * MS
    assert finding.gain is not None
    # The mean of twice 70 and six times 50 is 55.
    assert finding.gain.expected_ns == 15 * MS


def test_one_rank_with_more_to_do_is_a_straggler_whose_work_is_shared() -> None:
    db = shaped(loaded(1, 4), 1, rows=70)
    db.execute("update kernel set input_shapes = '8,8' where name = 'Adam'")

    finding = found(db, "R-IMB-1")

    assert suppressed(db, "R-IMB-2") == ["suppressed.straggler-explains"]
    assert finding is not None
    assert finding.advice.message_id == "rule.r-imb-1.advice-more-work"
    assert finding.gain is not None
    # The mean of 70 and three times 50 is 55.
    assert finding.gain.expected_ns == 15 * MS


@pytest.mark.parametrize("heavy", [3, 4])
def test_ranks_that_are_slow_alike_are_stragglers_together(heavy: int) -> None:
    # Four of twelve would be an uneven load, but the same products take longer.
    db = shaped(loaded(heavy, 12), heavy, rows=50)

    finding = found(db, "R-IMB-1")

    assert suppressed(db, "R-IMB-2") == ["suppressed.straggler-explains"]
    assert finding is not None
    assert finding.title.message_id == "rule.r-imb-1.title-several"
    assert finding.advice.message_id == "rule.r-imb-1.advice-same-work"
    assert finding.location.ranks == tuple(range(heavy))
    assert finding.gain is not None
    assert finding.gain.expected_ns == 20 * MS


def test_few_ranks_that_have_more_to_do_are_stragglers() -> None:
    db = loaded(3, 12)

    assert suppressed(db, "R-IMB-2") == ["suppressed.straggler-explains"]
    assert "suppressed.uneven-load" not in suppressed(db, "R-IMB-1")
