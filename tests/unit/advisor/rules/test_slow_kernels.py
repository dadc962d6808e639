"""R-OP-8: kernels that are much slower than their equals."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from tests.timeline import insert
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.advisor.rules.matrix import product, step_of


def equals(*lengths: int, step_ns: int = 1_000) -> DuckDBPyConnection:
    """Equal kernels one after another."""
    db = step_of(step_ns)
    at = 0
    for number, length in enumerate(lengths):
        product(db, number, at, length)
        at += length
    return db


def test_a_slow_one_is_found_with_its_place_and_priced_at_the_median() -> None:
    finding = found(equals(*[10] * 9, 30, step_ns=120), "R-OP-8")

    assert finding is not None
    params = finding.message.params
    assert (params["slow_count"], params["excess_ns"], params["worst_ns"], params["median_ns"]) == (1, 20, 30, 10)
    assert finding.location.steps == (5,)
    (evidence,) = [one for one in finding.evidence if one.start_ns is not None]
    assert (evidence.start_ns, evidence.end_ns) == (90, 120)
    assert finding.gain is not None
    assert (finding.gain.change, finding.gain.expected_ns) == ("W10", 20)


def repeated(*, longer_ns: int) -> DuckDBPyConnection:
    """Ten steps of one kernel each; in the last one it takes 30 instead of 10, and the step is longer by so much."""
    db = step_of(40)
    for number in range(10):
        last = number == 9
        if number:
            insert(db, "step", rank=0, step_id=number, step=5 + number, ts_ns=40 * number,
                   dur_ns=40 + longer_ns * last, origin="mark")  # fmt: skip
        product(db, number, 40 * number, 30 if last else 10)
        db.execute("update kernel set step_id = ? where kernel_id = ?", [number, number])
    return db


def test_slow_ones_beside_the_median_step_cost_what_their_steps_are_longer_by() -> None:
    # 20 lost in one of ten steps; where the step is longer by 10 only, the rest was hidden.
    whole, half = (found(repeated(longer_ns=longer), "R-OP-8") for longer in (20, 10))

    assert whole is not None
    assert half is not None
    assert whole.gain is not None
    assert half.gain is not None
    assert (whole.gain.method, whole.gain.expected_ns, whole.gain.high_ns) == ("direct", 2, 2)
    assert (half.gain.expected_ns, half.gain.high_ns) == (1, 2)
    assert whole.message.params["call_count"] == 10
    assert whole.confidence == "low"  # seen in one step only


def test_the_loss_counts_from_the_threshold_on() -> None:
    # 20 of 2000: 1 %.
    assert advised(equals(*[10] * 9, 30, step_ns=2_000), "R-OP-8").quiet == ()
    assert advised(equals(*[10] * 9, 30, step_ns=2_001), "R-OP-8").quiet == ("R-OP-8",)


def test_fewer_than_five_equals_are_too_few() -> None:
    assert suppressed(equals(10, 10, 10, 30), "R-OP-8") == ["suppressed.few-equals"]
    assert "suppressed.few-equals" not in suppressed(equals(10, 10, 10, 10, 30), "R-OP-8")


def test_equal_lengths_are_quiet() -> None:
    assert advised(equals(*[10] * 10), "R-OP-8").quiet == ("R-OP-8",)


def test_of_too_few_equal_kernels_it_is_said_that_they_cannot_be_compared() -> None:
    (lacking,) = advised(equals(10, 10, 10, 10, step_ns=120), "R-OP-8").not_collected

    assert lacking.reason == "too few equal calls: 4 of a kernel at most, 5 are needed"
    assert advised(equals(10, 10, 10, 10, 10, step_ns=120), "R-OP-8").quiet == ("R-OP-8",)
