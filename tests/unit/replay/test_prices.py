from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.replay import (
    Bound,
    Candidate,
    Gain,
    Plan,
    Remark,
    Scale,
    SetDur,
    Transform,
    Unpriced,
    Where,
)
from ascend_sn.replay.prices import price
from tests.timeline import timeline
from tests.unit.replay.drawings import launch, replay_of, step_after, wait


def stream_only(unknown_ns: int) -> DuckDBPyConnection:
    """A step of 1 ms without host rows, whose kernel begins after some time that nothing explains."""
    db = timeline("r0 step |1|\n r0 s1 |A|")
    db.execute("update step set dur_ns = 1000000")
    db.execute("update kernel set ts_ns = ?, dur_ns = ?", [unknown_ns, 1_000_000 - unknown_ns])
    return db


@pytest.mark.parametrize(
    ("unknown_ns", "confidence", "priced"),
    [(50_000, "low", True), (100_000, "low", True), (300_000, "low", True), (300_001, "low", False)],
)
def test_what_nothing_explains_limits_the_price(unknown_ns: int, confidence: str, priced: bool) -> None:
    replay = replay_of(stream_only(unknown_ns))

    gain = replay.gain(Transform.exactly("x", Scale(Where(), 0.5)))

    assert replay.unexplained_ratio == unknown_ns / 1_000_000
    assert isinstance(gain, Gain) == priced
    assert replay.confidence == confidence


@pytest.mark.parametrize(("unknown_ns", "said"), [(100_000, False), (100_001, True)])
def test_above_a_tenth_unexplained_it_is_said(unknown_ns: int, said: bool) -> None:
    replay = replay_of(stream_only(unknown_ns))

    assert ("replay.unexplained" in [remark.message_id for remark in replay.remarks]) == said


# B begins before A ends on one stream: the replay delays it by 1 of 20, then by 2.
@pytest.mark.parametrize(
    ("stream", "error", "reason"),
    [
        ("AAAAAAAAAABBBBBBBBBB", 0.0, None),
        ("AAAAAAAAAAABBBBBBBBB", 0.05, None),
        ("AAAAAAAAAAAABBBBBBBB", 0.10, "replay.identity-error"),
    ],
)
def test_a_replay_that_is_not_the_capture_prices_nothing(stream: str, error: float, reason: str | None) -> None:
    db = timeline(f"r0 step |{'1' * 20}|\n r0 s1 |{stream}|")
    db.execute("update kernel set ts_ns = 10, dur_ns = 10 where name = 'B'")

    replay = replay_of(db)

    assert replay.identity_error_ratio == pytest.approx(error)
    assert replay.violations == (error > 0)
    assert (replay.refusal.message_id if replay.refusal else None) == reason
    gain = replay.gain(Transform.exactly("x", Scale(Where(), 0.5)))
    assert isinstance(gain, Unpriced) == (reason is not None)


def test_bounds_are_in_order_even_where_the_edits_are_not() -> None:
    db = timeline("r0 step |1111111111|\n r0 s1 |AAAAAAAAAA|")
    replay = replay_of(db)
    halves = [Bound((Scale(Where(names=("A",)), factor),)) for factor in (0.2, 0.5, 0.8)]

    gain = replay.gain(Transform.of("x", halves))

    assert isinstance(gain, Gain)
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (5, 5, 5)


def test_a_change_of_some_steps_gains_its_share() -> None:
    replay = replay_of(timeline("r0 step |1111111111|\n r0 s1 |AAAAAAAAAA|"))
    bound = Bound((Scale(Where(names=("A",)), 0.0),), share_ratio=0.5)

    gain = replay.gain(Transform.of("x", [bound] * 3))

    assert isinstance(gain, Gain)
    assert gain.expected_ns == 5


def test_more_work_per_step_counts_per_unit() -> None:
    replay = replay_of(timeline("r0 step |1111111111|\n r0 s1 |AAAAAAAAAA|"))
    bound = Bound((Scale(Where(names=("A",)), 1.5),), work_ratio=2.0)

    gain = replay.gain(Transform.of("x", [bound] * 3))

    assert isinstance(gain, Gain)
    assert gain.expected_ns == 2  # 15 / 2 = 7.5; the gain of 2.5 is rounded to even


def test_a_transform_that_cannot_be_made_says_why() -> None:
    replay = replay_of(timeline("r0 step |1111111111|\n r0 s1 |AAAAAAAAAA|"))
    reason = Unpriced(Remark("replay.no-data-wait"))

    assert replay.gain(reason) == reason
    assert replay.gain(lambda _: reason) == reason


def serial() -> DuckDBPyConnection:
    """Three kernels one after another, and a host that holds nothing."""
    db = timeline(f"r0 step |{'1' * 100}|\n r0 s1 |{'A' * 50}{'B' * 30}{'C' * 20}|")
    return db


def candidates() -> list[Candidate]:
    return [
        Candidate("halve A", Transform.exactly("x", Scale(Where(names=("A",)), 0.5)), "code"),
        Candidate("halve B", Transform.exactly("x", Scale(Where(names=("B",)), 0.5)), "config"),
        Candidate("A gone", Transform.exactly("x", SetDur(Where(names=("A",)), 10)), "model"),
        Candidate("nothing", Transform.exactly("x", Scale(Where(names=("C",)), 0.999)), "config"),
    ]


def test_a_plan_takes_the_best_per_effort_and_prices_what_is_left() -> None:
    plan = replay_of(serial()).joint(candidates())

    # Per effort: halve A 25/2, halve B 15/1, A gone 40/3. Then A gone (13.3) before halve A (12.5); of A's 10 it
    # takes 5 more.
    assert isinstance(plan, Plan)
    assert [(step.name, step.gain.expected_ns, step.step_ns) for step in plan.steps] == [
        ("halve B", 15, 85),
        ("A gone", 40, 45),
        ("halve A", 5, 40),
    ]
    assert plan.left_out == (("nothing", "gain"),)


def test_of_two_that_conflict_one_is_taken() -> None:
    plan = replay_of(serial()).joint(candidates(), conflicts=[("halve A", "A gone")])

    assert isinstance(plan, Plan)
    assert [step.name for step in plan.steps] == ["halve B", "A gone"]
    assert ("halve A", "conflict") in plan.left_out


def test_a_plan_keeps_what_some_steps_keep() -> None:
    half = Transform.of("x", [Bound((Scale(Where(names=("A",)), 0.0),), share_ratio=0.5)] * 3)
    rest = Transform.exactly("x", Scale(Where(names=("B",)), 0.0))

    plan = replay_of(serial()).joint([Candidate("A", half, "config"), Candidate("B", rest, "config")])

    assert isinstance(plan, Plan)
    assert [(step.name, step.step_ns) for step in plan.steps] == [("B", 70), ("A", 45)]


def test_where_a_wait_is_guessed_the_low_case_does_not_count_on_it() -> None:
    # Nothing says that the thread waits for A; it is quiet until A has ended, and 10 longer.
    db = timeline("r0 step |1|\n r0 s1 |A|")
    db.execute("update step set dur_ns = 1000000")
    db.execute("update kernel set ts_ns = 100000, dur_ns = 800000")
    launch(db, "A")
    db.execute("update host_call set ts_ns = 50000, dur_ns = 50000")
    replay = replay_of(db)

    gain = replay.gain(Transform.exactly("x", Scale(Where(names=("A",)), 0.5)))

    assert isinstance(gain, Gain)
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (0, 400_000, 400_000)
    assert "replay.waits-guessed" in [remark.message_id for remark in gain.remarks]


def test_where_waits_are_recorded_none_is_guessed() -> None:
    db = timeline("r0 step |1|\n r0 s1 |A|")
    db.execute("update step set dur_ns = 1000000")
    db.execute("update kernel set ts_ns = 100000, dur_ns = 800000")
    launch(db, "As")
    db.execute("update host_call set ts_ns = 50000, dur_ns = 50000 where name = 'launch'")
    db.execute("update host_call set ts_ns = 10, dur_ns = 10 where name <> 'launch'")

    assert step_after(replay_of(db), Scale(Where(names=("A",)), 0.5)) == 1_000_000


def test_a_kernel_of_the_step_before_delays_and_is_not_priced() -> None:
    # B of step 1 still runs for 4 of step 2, and step 2's own kernel for as long after it.
    db = timeline(
        """
        r0 step |11111111112222222222|
        r0 s1   |AAAABBBBBBBBBBCCCCCCCCCC|
        """
    )
    launch(db, "AB........C.........")
    replay = replay_of(db)

    assert (replay.choice.windows[0].step, replay.base_ns, replay.observed_ns) == (2, 10, 10)
    assert step_after(replay, Scale(Where(names=("B",)), 0.0)) == 10
    # Half of C leaves the host as it is, which needs 10 for its own work.
    assert step_after(replay, Scale(Where(part="device"), 0.5), Scale(Where(part="host"), 0.0)) == 5


def test_waits_for_events_pass_on_what_they_wait_for() -> None:
    db = timeline(f"r0 step |{'1' * 20}|\n r0 s1 |{'A' * 10}{'.' * 10}|\n r0 s2 |{'.' * 10}{'B' * 10}|")
    wait(db, {"B": "A"})

    assert step_after(replay_of(db), Scale(Where(names=("A",)), 0.5)) == 15


@pytest.mark.parametrize(
    ("factor", "low", "expected", "high"),
    [
        (0.25, 13, 15, 16),  # a step of 5, but 4 to 7: a quarter as long varies by twice the share
        (0.95, 0, 1, 3),  # of 19, but 17 to 23: not said to be longer
        (1.5, -10, -10, -7),  # of 30, at best 27: a longer one varies by the same share
        (0.0, 20, 20, 20),
    ],
)
def test_low_and_high_hold_the_spread_of_the_steps(factor: float, low: int, expected: int, high: int) -> None:
    replay = replay_of(timeline(f"r0 step |{'1' * 20}|\n r0 s1 |{'A' * 20}|"))
    edits = Transform.exactly("x", Scale(Where(names=("A",)), factor))

    gain = price(replay.graph, replay.base_ns, edits, "high", (0.1, 0.2))

    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (low, expected, high)
