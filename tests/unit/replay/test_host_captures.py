"""Captures without a device: stretches of threads are the work, all-reduces the meetings."""

from __future__ import annotations

import pytest

from ascend_sn.replay import (
    Gain,
    Remove,
    Scale,
    TimeClass,
    Transform,
    Where,
    comm_faster,
    comm_overlapped,
    input_hidden,
    straggler_normalised,
)
from tests.unit.replay.drawings import host_capture, replay_of, step_after

# Rank 1 loads longer; rank 0 waits for it; the bytes move for 5.
SERIAL = {
    0: "ddffffffffffbbbbbbbbbbRRRRRRRRRRRRRooo",
    1: "ddddddddddffffffffffbbbbbbbbbbRRRRRooo",
}
STEPS = {0: "1" * 38, 1: "1" * 38}
DATA = Where(classes=(TimeClass.DATA_LOADING,))


def test_the_replay_is_the_capture() -> None:
    replay = replay_of(host_capture(SERIAL, steps=STEPS))

    assert (replay.base_ns, replay.violations, replay.unexplained_ratio) == (38, 0, 0)
    assert replay.without_residuals_ns == 38
    assert replay.confidence == "low"
    assert "replay.no-device" in [remark.message_id for remark in replay.remarks]


def test_less_data_of_the_late_rank() -> None:
    # Without its 10 of data rank 1 arrives at 20, rank 0 at 22: 22 + 5 + 3.
    late = Where(classes=(TimeClass.DATA_LOADING,), profile_ids=(1,))

    assert step_after(replay_of(host_capture(SERIAL, steps=STEPS)), Remove(late)) == 30


def test_a_straggler_is_normal_when_its_data_are() -> None:
    replay = replay_of(host_capture(SERIAL, steps=STEPS))

    gain = replay.gain(straggler_normalised(replay.graph, profile_ids=(1,)))

    # The other rank takes 2 for what takes this one 10.
    assert isinstance(gain, Gain)
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (8, 8, 8)


def test_input_of_the_slowest_rank_decides() -> None:
    replay = replay_of(host_capture(SERIAL, steps=STEPS))

    gain = replay.gain(input_hidden(replay.graph, workers=0, cores=64, hand_over_ns=1))

    # One ns of hand-over stays on each rank: 1 + 20 + 5 + 3.
    assert isinstance(gain, Gain)
    assert (gain.expected_ns, gain.high_ns) == (9, 10)


def test_serial_data_parallel_training_overlaps_its_first_bucket() -> None:
    # Two equal buckets after a backward pass of 20: the first may go at 10, and moves its 6 bytes' time meanwhile.
    lane = "f" * 4 + "b" * 20 + "R" * 6 + "S" * 6 + "o" * 4
    db = host_capture({0: lane, 1: lane}, steps={0: "1" * 40, 1: "1" * 40})
    replay = replay_of(db)

    gain = replay.gain(comm_overlapped(replay.graph))

    # The second still comes after the backward pass, of which 10 ns beside the first take 12 (low) or 10.5 (-> 11).
    assert isinstance(gain, Gain)
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (4, 5, 12)


@pytest.mark.parametrize(("kind", "is_of_gradients"), [("dp", True), ("dp_cp", True), ("tp", False), ("mp", False)])
def test_what_other_communicators_reduce_is_no_gradient(kind: str, is_of_gradients: bool) -> None:
    lane = "f" * 4 + "b" * 20 + "R" * 6 + "S" * 6 + "o" * 4
    db = host_capture({0: lane, 1: lane}, steps={0: "1" * 40, 1: "1" * 40})
    db.execute("update comm_group_member set kind = ?", [kind])
    graph = replay_of(db).graph

    assert isinstance(comm_overlapped(graph), Transform) == is_of_gradients


def test_a_faster_link_shortens_the_transit_and_not_the_wait() -> None:
    db = host_capture(SERIAL, steps=STEPS)
    db.execute("update collective set size_bytes = 4")
    replay = replay_of(db)

    # 4 bytes x 2 (n - 1) / n = 4 bytes per link; at 2 bytes/ns they take 2 of the 5 ns.
    gain = replay.gain(comm_faster(replay.graph, bytes_per_s=2e9, alpha_ns=0))

    assert isinstance(gain, Gain)
    assert gain.high_ns == 3
    assert gain.low_ns == 2  # 4 / (2 x 0.6) = 3.33 -> 3


def test_time_between_spans_is_the_programs_own() -> None:
    db = host_capture({0: "ff....bbbb"}, steps={0: "1111111111"})
    replay = replay_of(db)

    assert replay.critical_path().class_ns == {TimeClass.HOST: 4, TimeClass.COMPUTE: 6}
    assert step_after(replay, Scale(Where(tables=("none",)), 0.0)) == 6


def test_a_call_that_the_window_cuts_is_no_meeting() -> None:
    db = host_capture({0: "RRRRbbbbbb", 1: "RRRRbbbbbb"}, steps={0: "..11111111", 1: "..11111111"})

    replay = replay_of(db)

    assert len(replay.graph.transit) == 0
    assert replay.base_ns == 8
