"""R-COMM-1: communication that could run beside the backward pass."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import insert, timeline, together
from tests.unit.advisor.advised import advised, found, suppressed

KINDS = {"C": "communication", "D": "communication"}
LAUNCHED = {"F": "forward", "B": "backward", "O": "optimizer"}


def training(kernels: str, calls: str) -> DuckDBPyConnection:
    """A step of one rank; every call is an all-reduce of gradients that moves bytes from its begin to its end."""
    db = timeline(
        f"r0 step |{'1' * len(kernels)}|\nr0 s1 |{kernels}|\nr0 s2 |{calls}|", kinds=KINDS, launched_by=LAUNCHED
    )
    rows = db.sql("select kernel_id, ts_ns, dur_ns from kernel where kind = 'communication'").fetchall()
    with together(db):
        for number, (kernel, ts, dur) in enumerate(rows):
            insert(db, "collective", rank=0, collective_id=number, kernel_id=kernel, op="allreduce", name="c",
                   group_id="g", sequence=number, size_bytes=8, dtype="float32", ts_ns=ts, dur_ns=dur, transit_ns=dur,
                   wait_ns=0, idle_ns=0, method="recorded")  # fmt: skip
    return db


def test_communication_after_the_backward_pass_is_found_and_priced() -> None:
    # Backward 4..12, two all-reduces of 4 behind it: the gradients of the first are ready at 8, so it could end at 12.
    finding = found(training("FFFFBBBB'BBB........", "............CCCCDDDD"), "R-COMM-1")

    assert finding is not None
    assert (finding.message.params["overlap_ratio"], finding.message.params["exposed_ns"]) == (0, 8)
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns, finding.gain.base_ns) == ("W3", 4, 20)
    assert finding.severity == "critical"
    assert finding.confidence == "low"  # a single step


def test_overlap_at_the_threshold_is_enough() -> None:
    # 3 of 10 under compute: 30 %.
    at = training("FFFFBBBBBBB.........", "........CCCCCCCCCC..")
    below = training("FFFFBBBBBB..........", "........CCCCCCCCCC..")

    assert advised(at, "R-COMM-1").quiet == ("R-COMM-1",)
    assert advised(below, "R-COMM-1").quiet == ()


def test_exposed_communication_counts_from_the_threshold_on() -> None:
    # 2 of 40 exposed: 5 %.
    at = training("F" * 19 + "B" * 19 + "..", "." * 38 + "CC")
    below = training("F" * 20 + "B" * 20 + "..", "." * 40 + "CC")

    assert advised(at, "R-COMM-1").quiet == ()
    assert advised(below, "R-COMM-1").quiet == ("R-COMM-1",)


def test_a_threshold_can_be_set() -> None:
    db = training("FFFFBBBBBBB.........", "........CCCCCCCCCC..")

    assert advised(db, "R-COMM-1", thresholds=["R-COMM-1.overlap_below_ratio=0.31"]).quiet == ()


def test_compute_that_communication_slows_down_much_suppresses_it() -> None:
    # X alone takes 2, beside communication 4.
    db = training("XX..XXXX............", "....CCCC.CCCCCCCCCC.")

    assert suppressed(db, "R-COMM-1") == ["suppressed.contention"]


def test_gradients_that_are_ready_only_at_the_end_gain_nothing() -> None:
    db = training("FFFFBBBBBBBB....", "............CCCC")

    assert suppressed(db, "R-COMM-1") == ["suppressed.no-gain"]


def test_without_communication_the_rule_cannot_look() -> None:
    (lacking,) = advised(timeline("r0 step |1111|\nr0 s1 |AA..|"), "R-COMM-1").not_collected

    assert (lacking.code, lacking.what) == ("R-COMM-1", "communication_overlap")
