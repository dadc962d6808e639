"""How long a step is once a change has lasted: the host may run ahead of the device."""

from __future__ import annotations

import numpy as np
import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.replay import Bound, Gain, Replay, Scale, SetDur, TimeClass, Transform, Where, syncs_removed
from ascend_sn.replay.engine import Draft
from ascend_sn.replay.graph import EdgeKind
from ascend_sn.replay.prices import replayed_ns
from ascend_sn.replay.steady import steady_ns
from tests.timeline import timeline
from tests.unit.replay.drawings import first_step_after, launch, meet, replay_of, step_after, wait

SYNC = Where(names=("aclrtSynchronizeDevice",))


def loaded_then_run(data: int, kernel: int) -> Replay:
    """A host that loads, launches one kernel and waits for it."""
    loading, running = f"{'d' * data}{'.' * (1 + kernel)}", f"{'.' * (data + 1)}{'A' * kernel}"
    db = timeline(f"r0 step |{'1' * len(loading)}|\n r0 host |{loading}|\n r0 s1 |{running}|")
    launch(db, f"{'.' * data}A{'s' * kernel}")
    return replay_of(db)


def expected_ns(replay: Replay) -> int:
    gain = replay.gain(syncs_removed(replay.graph, SYNC))
    assert isinstance(gain, Gain)
    return gain.base_ns - gain.expected_ns


def test_without_a_wait_the_longer_of_host_and_device_counts() -> None:
    # Loading 8 and launching 1 beside 24 of the device; then 30 and 1 beside the same.
    assert expected_ns(loaded_then_run(8, 24)) == 24
    assert expected_ns(loaded_then_run(30, 24)) == 31


def test_the_first_step_alone_is_as_long_as_before() -> None:
    replay = loaded_then_run(8, 24)
    transform = syncs_removed(replay.graph, SYNC)

    assert isinstance(transform, Transform)
    assert first_step_after(replay, *transform.expected.edits) == 33


@pytest.mark.parametrize("factor", [0.0, 0.5, 1.0])
def test_with_the_wait_nothing_runs_ahead(factor: float) -> None:
    replay = loaded_then_run(8, 24)

    assert step_after(replay, Scale(Where(names=("A",)), factor)) == 9 + round(24 * factor)


def two_steps_behind() -> DuckDBPyConnection:
    """A device that is 4 behind when the step begins, and 4 behind when it ends; the host is not waiting for it."""
    db = timeline(f"r0 step |{'1' * 20}{'2' * 20}|\n r0 host |{'f' * 40}|\n r0 s1 |{'.' * 4}{'A' * 40}|")
    db.execute("delete from kernel")
    for number, start in enumerate((4, 24)):
        db.execute(
            "insert into kernel (profile_id, rank, kernel_id, device_id, stream, name, kind, ts_ns, dur_ns, step_id)"
            " values (0, 0, ?, 0, '1', 'A', 'compute', ?, 20, ?)",
            [number, start, number],
        )
    return db


def test_an_edit_of_nothing_changes_nothing_of_a_device_that_is_behind() -> None:
    replay = replay_of(two_steps_behind())

    assert replay.base_ns == 20
    assert step_after(replay, SetDur(Where(names=("A",)), 20)) == 20


def test_a_quicker_host_does_not_make_a_busy_device_quicker() -> None:
    replay = replay_of(two_steps_behind())

    assert step_after(replay, Scale(Where(part="host", classes=(TimeClass.HOST,)), 0.5)) == 20


def late_by_its_tail() -> Replay:
    """Rank 1 computes B after the meeting, begins the next step 2 later than rank 0, and is waited for."""
    db = timeline(
        """
        r0 step |1111111111..|
        r0 s1   |AAAA........|
        r0 s2   |....MMMMMM..|
        r1 step |..1111111111|
        r1 s1   |..AAAAAA..BB|
        r1 s2   |........MM..|
        """,
        kinds={"M": "communication"},
    )
    meet(db, "M", profiles=(0, 1), group_size=2)
    wait(db, {"M": "A"}, profile=0)
    wait(db, {"M": "A", "B": "M"}, profile=1)
    return replay_of(db)


def test_a_rank_that_ends_a_step_earlier_begins_the_next_one_earlier() -> None:
    # Without B rank 1 begins with rank 0, computes for 6, and both move their bytes for 2.
    assert replayed_ns(late_by_its_tail().graph, Bound((Scale(Where(names=("B",)), 0.0),))) == 8


def test_without_a_change_ranks_begin_as_far_apart_as_they_did() -> None:
    replay = late_by_its_tail()

    assert (replay.base_ns, replayed_ns(replay.graph)) == (10, 10)


def test_what_the_late_rank_does_longer_at_the_end_makes_it_later() -> None:
    # B takes 5 instead of 2: rank 1 computes 6, moves for 2 and computes for 5, and rank 0 waits for that.
    assert replayed_ns(late_by_its_tail().graph, Bound((SetDur(Where(names=("B",)), 5, raises=True),))) == 13


def test_a_change_that_leads_an_edge_to_a_node_of_its_own_is_replayed() -> None:
    # What follows the first kernel of rank 1 waits for a new node that takes no time: nothing changes.
    graph = late_by_its_tail().graph
    draft = Draft(graph)
    added = draft.add_node(0, after=int(graph.edges.src[1]))
    led = int(np.flatnonzero((draft.kind != EdgeKind.WINDOW) & (draft.src == graph.edges.src[1]))[0])
    draft.add_edges(draft.src[led : led + 1], np.array([added]), np.zeros(1, np.int64), int(draft.kind[led]))
    draft.src[led] = added

    assert steady_ns(draft) == steady_ns(Draft(graph))
