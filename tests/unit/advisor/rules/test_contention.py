"""R-COMM-8: kernels that take longer beside communication."""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline
from tests.unit.advisor.advised import advised, found


def beside(alone: int, slowed: int) -> DuckDBPyConnection:
    """Kernel X alone, then beside an all-reduce that begins with it and outlasts it by two."""
    rest = 80 - alone - slowed
    db = timeline(
        f"""
        r0 step |{"1" * 82}|
        r0 s1   |{"X" * alone}.{"X" * slowed}.{"A" * rest}|
        r0 s2   |{"." * (alone + 1)}{"C" * (slowed + 2)}|
        """,
        kinds={"C": "communication"},
    )
    ((kernel, ts, dur),) = db.sql("select kernel_id, ts_ns, dur_ns from kernel where name = 'C'").fetchall()
    insert(db, "collective", rank=0, collective_id=0, kernel_id=kernel, op="allreduce", name="c", group_id="g",
           sequence=0, size_bytes=8, ts_ns=ts, dur_ns=dur, transit_ns=dur, wait_ns=0, idle_ns=0,
           method="recorded")  # fmt: skip
    return db


def test_what_the_kernels_lose_is_the_gain() -> None:
    finding = found(beside(10, 20), "R-COMM-8")

    assert finding is not None
    assert (finding.message.params["slowdown_ratio"], finding.at_stake_ns) == (2, 10)
    assert finding.gain is not None
    assert finding.gain.expected_ns <= 10


@pytest.mark.parametrize(("slowed", "is_found"), [(11, False), (12, False), (13, True)])
def test_above_the_threshold_only(slowed: int, is_found: bool) -> None:
    assert (advised(beside(10, slowed), "R-COMM-8").quiet == ()) == is_found


def test_kernels_that_were_never_seen_alone_tell_nothing() -> None:
    db = beside(10, 20)
    db.execute("update kernel set op_type = 'Y', name = 'Y' where name = 'X' and ts_ns = 0")

    assert advised(db, "R-COMM-8").quiet == ("R-COMM-8",)
