"""Stages of a pipeline: sends meet receives, streams that were not recorded, what a synchronisation is worth there."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.replay import (
    Gain,
    Replay,
    Scale,
    SetDur,
    TimeClass,
    Unpriced,
    Where,
    straggler_normalised,
    syncs_removed,
)
from ascend_sn.replay.graph import NodeKind, Residual
from tests.timeline import insert, timeline, together
from tests.unit.replay.drawings import exchange, launch, meet, node_of, replay_of, step_after, stretched, wait

KINDS = dict.fromkeys("STRVMN", "communication")
UNIT = 10_000
TWO_STAGES = {(0, "S"): "send", (0, "V"): "receive", (1, "R"): "receive", (1, "T"): "send"}


def two_stages() -> DuckDBPyConnection:
    """A forward and a backward pass, in units of 10 us.

    Stage 0 runs A, sends (S), receives (V) the gradients and runs D; stage 1 receives (R), runs B for both, and sends
    back (T). A takes 6, B 6, D 3, each transfer 2. The hosts launch it all and then wait for the device.
    """
    db = timeline(
        f"""
        r0 step |{"1" * 20}|
        r0 s1   |.{"A" * 6}{"." * 10}DDD|
        r0 s2   |{"." * 7}SS{"." * 11}|
        r0 s3   |{"." * 7}{"V" * 10}...|
        r1 step |{"1" * 20}|
        r1 s1   |{"." * 9}{"B" * 6}.....|
        r1 s2   |{"." * 15}TT...|
        r1 s3   |.{"R" * 8}{"." * 11}|
        """,
        kinds=KINDS,
    )
    wait(db, {"S": "A", "V": "A", "D": "V"})
    wait(db, {"B": "R", "T": "B"}, profile=1)
    exchange(db, TWO_STAGES, stages=2)
    launch(db, f"ASVD{'s' * 16}")
    launch(db, f"RBT{'s' * 17}", profile=1)
    return stretched(db, UNIT)


def of_stage(stage: int, name: str) -> Where:
    return Where(profile_ids=(stage,), names=(name,))


def test_a_send_meets_its_receive_whatever_their_numbers() -> None:
    replay = replay_of(two_stages())

    graph = replay.graph
    assert (replay.base_ns, replay.violations, replay.unexplained_ratio) == (20 * UNIT, 0, 0)
    assert sorted(graph.nodes.start[graph.transit].tolist()) == [7 * UNIT, 15 * UNIT]
    assert graph.nodes.dur[graph.transit].tolist() == [2 * UNIT, 2 * UNIT]
    assert not (graph.residual_type[graph.transit] == Residual.MEMBERS_ABSENT).any()
    assert all(collective.transit_known for collective in graph.collectives)


def test_a_stage_waits_for_the_one_before_and_the_one_behind() -> None:
    replay = replay_of(two_stages())

    assert step_after(replay, SetDur(of_stage(0, "A"), 2 * UNIT)) == 16 * UNIT
    assert step_after(replay, SetDur(of_stage(1, "B"), 2 * UNIT)) == 16 * UNIT
    assert step_after(replay, Scale(replay.graph.transit, 0.0)) == 16 * UNIT


def test_the_critical_path_goes_through_both_stages() -> None:
    parts = replay_of(two_stages()).critical_path().parts

    assert [(part.profile_id, part.name) for part in parts if part.table == "kernel"] == [
        (0, "A"),
        (0, "S"),
        (1, "B"),
        (1, "T"),
        (0, "D"),
    ]


def test_a_synchronisation_at_the_end_hides_only_the_first_launch() -> None:
    # Without it A of the next step starts when D has ended: 6 + 2 + 6 + 2 + 3. The pipeline binds, not the hosts, which
    # need 4 and 3, nor any one device, of which the busiest computes 9.
    replay = replay_of(two_stages())

    gain = replay.gain(syncs_removed(replay.graph, Where(names=("aclrtSynchronizeDevice",))))

    assert isinstance(gain, Gain)
    assert (gain.base_ns, gain.expected_ns) == (20 * UNIT, UNIT)


def test_a_send_to_a_stage_that_is_not_replayed_waits_for_absent_members() -> None:
    db = two_stages()
    db.execute("delete from collective where profile_id = 1 and op = 'receive'")

    replay = replay_of(db)

    nodes = replay.graph.nodes
    assert sorted(nodes.start[replay.graph.transit].tolist()) == [7 * UNIT, 15 * UNIT]
    assert step_after(replay, SetDur(of_stage(0, "A"), 2 * UNIT)) == 20 * UNIT
    assert step_after(replay, SetDur(of_stage(1, "B"), 2 * UNIT)) == 16 * UNIT


OVERLAPPING = """
    r0 step |11111111111111111111|
    r0 s1   |AAAA..........BBBBBB|
    r0 s2   |....SSSSSS..........|
    r0 s3   |......TTTTTTTT......|
"""


def overlapping() -> Replay:
    """Two sends to different stages that run at once, of which the capture names no stream."""
    db = timeline(OVERLAPPING, kinds=KINDS)
    wait(db, {"S": "A", "T": "A", "B": "T"})
    exchange(db, {(0, "S"): "send", (0, "T"): "send"}, stages=3, transit_ns=2)
    db.execute("update kernel set stream = null where kind = 'communication'")
    return replay_of(db)


def test_calls_of_a_communicator_may_overlap_where_no_stream_is_recorded() -> None:
    replay = overlapping()

    assert (replay.violations, replay.base_ns) == (0, 20)
    assert replay.timing.start[node_of(replay.graph, "T", kind=NodeKind.ARRIVE)] == 6


def test_calls_on_streams_of_their_own_do_not_follow_each_other() -> None:
    # Nothing is left of S; T begins 2 behind A all the same.
    replay = overlapping()

    arrived = node_of(replay.graph, "T", kind=NodeKind.ARRIVE)
    assert replay.graph.residual[arrived] == 2
    assert step_after(replay, SetDur(of_stage(0, "A"), 1)) == 17


def one_rank() -> Replay:
    """In units of 10 us: A is launched and, at once, M, which starts after A and is followed by N on another stream."""
    db = timeline(
        """
        r0 step |11111111111111111111|
        r0 s1   |...AAAAAAAAAA.......|
        r0 s2   |.............MMMM...|
        r0 s3   |.................NNN|
        """,
        kinds=KINDS,
    )
    launch(db, f"AMN{'s' * 17}")
    for name in "MN":
        db.execute(
            "insert into collective (profile_id, rank, collective_id, kernel_id, op, group_id, sequence, ts_ns, dur_ns)"
            " select 0, 0, kernel_id, kernel_id, 'allreduce', name, 0, ts_ns, dur_ns from kernel where name = ?",
            [name],
        )
    return replay_of(stretched(db, UNIT))


def test_waiting_for_another_stream_is_no_latency_of_a_launch() -> None:
    # A starts 20 us after its launch; that M starts 110 us after its own is due to A.
    replay = one_rank()

    assert replay.critical_path().class_ns[TimeClass.LAUNCH] == 3 * UNIT
    assert step_after(replay, SetDur(of_stage(0, "A"), 2 * UNIT)) == 12 * UNIT


def test_communication_may_follow_communication_of_another_communicator() -> None:
    replay = one_rank()

    transit = node_of(replay.graph, "M", kind=NodeKind.TRANSIT)
    assert replay.unexplained_ratio == 0
    assert step_after(replay, SetDur([transit], 0)) == 16 * UNIT


def four_ranks(stages: dict[int, int]) -> Replay:
    """Two ranks run A for 4, one for 8 and one for 10; then all meet in M, which takes 2. `stages` by rank."""
    db = timeline(
        """
        r0 step |111111111111|
        r0 s1   |AAAA........|
        r0 s2   |....MMMMMMMM|
        r1 step |111111111111|
        r1 s1   |AAAA........|
        r1 s2   |....MMMMMMMM|
        r2 step |111111111111|
        r2 s1   |AAAAAAAA....|
        r2 s2   |........MMMM|
        r3 step |111111111111|
        r3 s1   |AAAAAAAAAA..|
        r3 s2   |..........MM|
        """,
        kinds=KINDS,
    )
    meet(db, "M", profiles=(0, 1, 2, 3), group_size=4)
    for rank in range(4):
        wait(db, {"M": "A"}, profile=rank)
    with together(db):
        for rank, stage in stages.items():
            insert(
                db,
                "comm_group_member",
                profile_id=rank,
                group_id=f"pipeline {rank % 2}",
                kind="pp",
                group_rank=stage,
                group_size=2,
                member_rank=rank,
            )
    return replay_of(db)


def normalised_ns(replay: Replay) -> int:
    gain = replay.gain(straggler_normalised(replay.graph, [3]))
    assert isinstance(gain, Gain)
    return gain.expected_ns


def test_a_straggler_is_compared_with_its_own_stage() -> None:
    # The other rank of its stage takes 8 of its 10.
    assert normalised_ns(four_ranks({0: 0, 1: 0, 2: 1, 3: 1})) == 2


def test_without_stages_a_straggler_is_compared_with_all() -> None:
    # The median of 4, 4 and 8 is 4; then the rank with 8 holds the others.
    assert normalised_ns(four_ranks({})) == 2


def test_a_rank_that_is_alone_in_its_stage_is_compared_with_nobody() -> None:
    graph = replay_of(two_stages()).graph

    found = straggler_normalised(graph, [1])

    assert isinstance(found, Unpriced)
    assert found.reason.message_id == "replay.one-rank"
