"""R-INF-1 to R-INF-3: requests that copy, requests that are slow, and the batch to serve with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, together
from tests.unit.advisor.advised import advised, found, suppressed
from tests.unit.report.drawn import add_rank

US = 1_000


def served(parts: Sequence[tuple[int, int, int]]) -> DuckDBPyConnection:
    """Requests one after another, each with so many us of copying in, inference and copying out."""
    db = empty_tables()
    add_rank(db, 0)
    at = 0
    with together(db):
        for number, (copy_in, inference, copy_out) in enumerate(parts):
            total = copy_in + inference + copy_out
            insert(db, "span", rank=0, span_id=number, name="request", domain="request", thread="main", ts_ns=at,
                   dur_ns=total * US, depth=0)  # fmt: skip
            for place, (kind, direction, length) in enumerate(
                (("copy", "h2d", copy_in), ("compute", None, inference), ("copy", "d2h", copy_out))
            ):
                insert(
                    db,
                    "kernel",
                    rank=0,
                    kernel_id=3 * number + place,
                    device_id=0,
                    stream="1",
                    name=kind,
                    kind=kind,
                    copy_direction=direction,
                    ts_ns=at,
                    dur_ns=length * US,
                )
                at += length * US
    return db


def swept(latencies: Mapping[int, Sequence[int]]) -> DuckDBPyConnection:
    """Ranges of so many us by batch size."""
    db = empty_tables()
    add_rank(db, 0)
    at = number = 0
    with together(db):
        for size, runs in latencies.items():
            for run in runs:
                insert(db, "span", rank=0, span_id=number, name=f"batch_size={size}", domain="user", thread="main",
                       ts_ns=at, dur_ns=run * US, depth=0)  # fmt: skip
                at += run * US
                number += 1
    return db


def test_copies_that_are_a_fifth_of_the_latency_are_found_and_priced() -> None:
    # 150 in, 800, 50 out: beside other requests one costs 800 of 1000.
    finding = found(served([(150, 800, 50)] * 10), "R-INF-1")

    assert finding is not None
    assert finding.message.params["copy_ratio"] == 0.2
    assert finding.gain is not None
    assert (finding.gain.low_ns, finding.gain.expected_ns, finding.gain.high_ns) == (0, 200 * US, 200 * US)
    assert (finding.gain.base_ns, finding.severity) == (1000 * US, "critical")


def test_less_than_a_fifth_is_quiet() -> None:
    assert advised(served([(149, 801, 50)] * 10), "R-INF-1").quiet == ("R-INF-1",)


def test_copies_longer_than_the_inference_hide_that() -> None:
    finding = found(served([(600, 300, 100)] * 10), "R-INF-1")

    assert finding is not None
    assert finding.gain is not None
    assert (finding.gain.expected_ns, finding.gain.high_ns) == (400 * US, 700 * US)


def test_a_tiny_model_needs_a_larger_batch_instead() -> None:
    assert suppressed(served([(50, 99, 50)] * 10), "R-INF-1") == ["suppressed.tiny-model"]
    assert found(served([(50, 100, 50)] * 10), "R-INF-1") is not None


def steps_only(phase: str) -> DuckDBPyConnection:
    """The same without requests: each is a marked step."""
    db = served([(150, 800, 50)] * 10)
    db.execute("""
        insert into step by name
        select profile_id, rank, span_id::integer as step_id, span_id as step, ts_ns, dur_ns, 'mark' as origin from span
    """)
    db.execute("delete from span")
    insert(db, "operator", rank=0, operator_id=0, thread="main", name="model", ts_ns=0, dur_ns=1, self_ns=1, depth=0,
           phase=phase)  # fmt: skip
    return db


def test_steps_of_a_forward_pass_alone_are_requests() -> None:
    assert found(steps_only("forward"), "R-INF-1") is not None


def test_steps_of_which_nothing_says_that_they_infer_are_not() -> None:
    assert advised(steps_only("other"), "R-INF-1", "R-INF-2").quiet == ("R-INF-1", "R-INF-2")


def test_steps_that_train_are_no_requests() -> None:
    assert advised(steps_only("backward"), "R-INF-1", "R-INF-2").quiet == ("R-INF-1", "R-INF-2")


def test_a_slow_tail_is_found_with_what_it_spends_the_time_in() -> None:
    # 95 of 1 ms, 5 of 3 ms in the model: the mean is 1.1 ms, the median 1.
    finding = found(served([(50, 900, 50)] * 95 + [(50, 2900, 50)] * 5), "R-INF-2")

    assert finding is not None
    assert finding.message.params["stage"].message_id == "stage.inference"
    assert (finding.message.params["p50_ns"], finding.message.params["p99_ns"]) == (1000 * US, 3000 * US)
    assert finding.gain is not None
    assert (finding.gain.expected_ns, finding.gain.base_ns) == (100 * US, 1100 * US)


def test_one_and_a_half_times_the_median_is_allowed() -> None:
    at = served([(50, 900, 50)] * 95 + [(50, 1400, 50)] * 5)
    above = served([(50, 900, 50)] * 95 + [(50, 1401, 50)] * 5)

    assert advised(at, "R-INF-2").quiet == ("R-INF-2",)
    assert found(above, "R-INF-2") is not None


def test_of_few_even_requests_it_is_said_that_the_tail_cannot_be_seen() -> None:
    (lacking,) = advised(served([(50, 900, 50)] * 49), "R-INF-2").not_collected
    assert lacking.reason == "too few requests: 49 recorded, 50 are needed"
    assert advised(served([(50, 900, 50)] * 50), "R-INF-2").quiet == ("R-INF-2",)


def test_few_requests_have_no_tail() -> None:
    assert suppressed(served([(50, 900, 50)] * 44 + [(50, 2900, 50)] * 5), "R-INF-2") == ["suppressed.few-requests"]
    assert found(served([(50, 900, 50)] * 45 + [(50, 2900, 50)] * 5), "R-INF-2") is not None


SWEEP = {1: [2000] * 5, 8: [3750] * 5, 16: [6000] * 5, 32: [11800] * 5}
"""500, 2133, 2667 and 2712 samples per second: 16 is the smallest with 95 % of the most."""


def test_the_knee_of_a_sweep_is_named_with_what_a_sample_gains() -> None:
    finding = found(swept(SWEEP), "R-INF-3")

    assert finding is not None
    assert finding.message.params["batch"] == 16
    # A sample takes 2000 us alone and 375 in a batch of 16.
    assert finding.gain is not None
    assert (finding.gain.expected_ns, finding.gain.base_ns) == (1625 * US, 2000 * US)


def test_a_limit_of_the_latency_makes_the_batch_smaller() -> None:
    limit = ["R-INF-3.latency_limit_ns=4e6"]
    finding = found(swept(SWEEP), "R-INF-3", thresholds=limit)

    assert finding is not None
    assert (finding.message.message_id, finding.message.params["batch"]) == ("rule.r-inf-3.message-limit", 8)


def test_a_limit_that_no_size_keeps_holds_it_back() -> None:
    (held,) = advised(swept(SWEEP), "R-INF-3", thresholds=["R-INF-3.latency_limit_ns=1e6"]).suppressed

    assert held.reason.message_id == "suppressed.limit-violated"


def test_a_sweep_that_gains_nothing_is_held_back() -> None:
    assert suppressed(swept({1: [1000] * 5, 8: [8000] * 5}), "R-INF-3") == ["suppressed.no-gain"]


def test_few_runs_of_a_size_are_no_measurement() -> None:
    assert suppressed(swept({**SWEEP, 16: [6000] * 4}), "R-INF-3") == ["suppressed.few-requests"]


def test_numbered_batches_of_a_loop_are_no_sweep() -> None:
    assert advised(swept({number: [2000] * 5 for number in range(1, 9)}), "R-INF-3").quiet == ("R-INF-3",)


def test_one_size_is_no_sweep() -> None:
    (lacking,) = advised(swept({8: [3750, 3750]}), "R-INF-3").not_collected
    assert lacking.reason == "too few batch sizes: 1 measured, 2 are needed"
