"""HT1 of the definitions: every answer was counted by hand there."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_sn.replay import (
    Gain,
    Merge,
    Remove,
    Replay,
    RetargetDep,
    SetDur,
    TimeClass,
    Where,
    chains_of,
    fused,
    input_hidden,
    syncs_removed,
)
from tests.timeline import timeline
from tests.unit.replay.drawings import hand_trace, launch, node_of, replay_of, step_after

DATA = Where(classes=(TimeClass.DATA_LOADING,))
A, R = Where(names=("A",)), Where(names=("R",))
PYTHON = Where(part="host", tables=("none",))


@pytest.fixture
def replay() -> Replay:
    return replay_of(hand_trace())


def test_replay_without_edits_is_the_capture(replay: Replay) -> None:
    assert (replay.base_ns, replay.observed_ns, replay.violations) == (100, 100, 0)
    assert replay.identity_error_ratio == 0
    assert replay.unexplained_ratio == 0
    assert replay.without_residuals_ns == 100


def test_no_data_wait(replay: Replay) -> None:
    assert step_after(replay, Remove(DATA)) == 70


def test_a_quicker_kernel_gains_half_since_the_next_launch_becomes_critical(replay: Replay) -> None:
    assert step_after(replay, SetDur(A, 10)) == 95


def test_the_python_gap_alone_gains_nothing(replay: Replay) -> None:
    assert step_after(replay, Remove(PYTHON)) == 100


def test_kernel_and_python_gap_together_gain_more_than_their_sum(replay: Replay) -> None:
    assert step_after(replay, SetDur(A, 10), Remove(PYTHON)) == 90


def test_a_collective_that_may_start_earlier_hides_behind_the_computing(replay: Replay) -> None:
    earlier = RetargetDep(node_of(replay.graph, "R"), node_of(replay.graph, "A"))

    assert step_after(replay, earlier) == 85


def test_the_bound_of_hiding_it(replay: Replay) -> None:
    assert step_after(replay, Remove(R)) == 75


def test_two_kernels_in_one(replay: Replay) -> None:
    both = [node_of(replay.graph, "B"), node_of(replay.graph, "C")]

    assert step_after(replay, Merge(both, 10)) == 95


def test_data_wait_and_kernel(replay: Replay) -> None:
    assert step_after(replay, Remove(DATA), SetDur(A, 10)) == 65


def test_fusion_priced_by_bytes() -> None:
    # B reads 5 and writes 5 bytes in 5 ns, C reads those and writes 15 in 10 ns: 2 bytes/ns; 30 - 2 x 5 = 20 bytes.
    db = hand_trace()
    for name, read, written in (("B", 5, 5), ("C", 5, 15)):
        db.execute(
            """
            update kernel
            set input_shapes = ?, output_shapes = ?, input_dtypes = 'int8', output_dtypes = 'int8'
            where name = ?
            """,
            [str(read), str(written), name],
        )
    replay = replay_of(db)
    chains = chains_of(replay.graph, ("B", "C"))

    gain = replay.gain(fused(replay.graph, chains))

    assert isinstance(gain, Gain)
    # In the low case 20 bytes at 0.85 x 2 take 12 ns. In the high case 5 of each kernel is its fixed time, so that
    # 30 bytes move in 5: the fused one takes 5 + 3.
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (3, 5, 7)


def test_input_hidden_by_workers(replay: Replay) -> None:
    # 30 ns of production by 2 workers; a hand-over of 5 ns stays, 10 in the low case, and the rest of the step is 70.
    gain = replay.gain(input_hidden(replay.graph, workers=0, cores=64, hand_over_ns=5))

    assert isinstance(gain, Gain)
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (20, 25, 30)


def test_production_that_no_worker_hides_bounds_the_step(replay: Replay) -> None:
    # Two workers make a batch of 180 ns every 90 ns; hidden, the step would take 75.
    gain = replay.gain(input_hidden(replay.graph, workers=0, cores=64, produce_ns=180, hand_over_ns=5))

    assert isinstance(gain, Gain)
    assert (gain.expected_ns, gain.high_ns) == (10, 30)


def test_without_the_synchronisation_the_host_does_not_wait(replay: Replay) -> None:
    gain = replay.gain(syncs_removed(replay.graph, Where(names=("aclrtSynchronizeDevice",))))

    # Stream 1 needs 65 from one A to the next: A 20, B 5, C 10, R 25, D 5. Loading and launching (35) is hidden.
    assert isinstance(gain, Gain)
    assert gain.expected_ns == 35


def test_critical_path(replay: Replay) -> None:
    path = replay.critical_path()

    assert [part.name for part in path.parts] == ["data", "launch", "A", "B", "C", "R", "D"]
    assert path.class_ns == {
        TimeClass.DATA_LOADING: 30,
        TimeClass.LAUNCH: 5,  # the call, and 3 of latency
        TimeClass.COMPUTE: 40,
        TimeClass.COMMUNICATION: 25,
    }
    assert sum(path.class_ns.values()) == path.makespan_ns == 100


def test_criticality_and_slack_of_operators(replay: Replay) -> None:
    rows = {row.name: row for row in replay.critical_path().operators}

    assert rows["A"].criticality_ratio == 0.2
    assert rows["R"].slack_ns == 0
    # Of four calls of 2 ns one is critical.
    assert (rows["launch"].total_ns, rows["launch"].on_path_ns, rows["launch"].slack_ns) == (8, 2, 0)


def test_slack_of_single_nodes_counts_to_the_end_of_the_window() -> None:
    db = timeline(
        """
        r0 step |1111111111|
        r0 s1   |AAAAAA....|
        r0 s2   |BB........|
        """
    )
    launch(db, "xxxxxxxxxx")
    replay = replay_of(db)

    rows = {row.name: row for row in replay.critical_path().operators}

    assert (rows["A"].slack_ns, rows["B"].slack_ns) == (4, 8)


def test_retargeting_to_a_later_node_is_refused(replay: Replay) -> None:
    with pytest.raises(ValueError, match="earlier"):
        step_after(replay, RetargetDep(node_of(replay.graph, "A"), node_of(replay.graph, "D")))


def test_positions_choose_like_conditions(replay: Replay) -> None:
    at = np.flatnonzero(A.mask(replay.graph))

    assert at.tolist() == [node_of(replay.graph, "A")]
    assert step_after(replay, SetDur(at, 10)) == 95
