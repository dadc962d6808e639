from __future__ import annotations

import pytest

from ascend_sn.replay import Bound, Edit, Gain, Replay, Scale, SetDur, TimeClass, Transform, Where, straggler_normalised
from ascend_sn.replay.graph import NodeKind, Residual
from ascend_sn.replay.prices import replayed_ns
from tests.timeline import insert, timeline, together
from tests.unit.replay.drawings import launch, meet, node_of, replay_of, step_after, stretched

# A14's hand trace with what leads to it: rank 0 waits 14, both move bytes for 6.
TWO_RANKS = """
    r0 step |111111111111111111111111111111|
    r0 s1   |AAAAAAAAAA....................|
    r0 s2   |..........RRRRRRRRRRRRRRRRRRRR|
    r1 step |111111111111111111111111111111|
    r1 s1   |AAAAAAAAAAAAAAAAAAAAAAAA......|
    r1 s2   |........................RRRRRR|
"""
COLLECTIVE = {"R": "communication"}


def drawn(*, op: str = "allreduce", **meeting: int | bool | None) -> Replay:
    db = timeline(TWO_RANKS, kinds=COLLECTIVE)
    meet(db, "R", profiles=(0, 1), **{"group_size": 2, **meeting})  # type: ignore[arg-type]
    db.execute("update collective set op = ?", [op])
    for rank in (0, 1):
        db.execute(
            """
            insert into flow (profile_id, src_table, src_id, dst_table, dst_id, kind)
            values (?, 'kernel', 0, 'kernel', 1, 'event')
            """,
            [rank],
        )
    return replay_of(db)


def of_rank(rank: int, name: str) -> Where:
    return Where(profile_ids=(rank,), names=(name,))


def test_ranks_meet_and_then_move_their_bytes() -> None:
    replay = drawn()

    transit = node_of(replay.graph, "R", kind=NodeKind.TRANSIT)
    assert (replay.base_ns, replay.violations) == (30, 0)
    assert (replay.graph.nodes.start[transit], replay.graph.nodes.dur[transit]) == (24, 6)
    assert replay.graph.collectives[0].transit_known


def test_calls_of_an_unknown_operation_do_not_meet_by_their_numbers() -> None:
    # Each is as long as it is: 20 and 6.
    replay = drawn(op="unknown")

    transits = [int(at) for at in replay.graph.transit]
    assert sorted(replay.graph.nodes.dur[transits].tolist()) == [6, 20]
    assert step_after(replay, SetDur(of_rank(1, "A"), 12)) == 30


def test_a_quicker_straggler_lets_both_go_on_earlier() -> None:
    # Rank 1 computes 12: both have arrived at 12, and end at 18.
    assert step_after(drawn(), SetDur(of_rank(1, "A"), 12)) == 18


def test_the_waiting_rank_gains_nothing_by_computing_faster() -> None:
    assert step_after(drawn(), SetDur(of_rank(0, "A"), 1)) == 30


def test_a_straggler_made_normal() -> None:
    # Of the others there is one, which takes 10: arrival at 10, end at 16.
    replay = drawn()

    gain = replay.gain(straggler_normalised(replay.graph, profile_ids=(1,)))

    assert isinstance(gain, Gain)
    assert (gain.low_ns, gain.expected_ns, gain.high_ns) == (14, 14, 14)


def test_all_ranks_made_normal_come_to_the_middle() -> None:
    # The median of 10 and 24 is 17: arrival at 17, end at 23.
    replay = drawn()

    gain = replay.gain(straggler_normalised(replay.graph))

    assert isinstance(gain, Gain)
    assert gain.expected_ns == 7


def test_the_critical_path_crosses_from_rank_to_rank() -> None:
    parts = drawn().critical_path().parts

    assert [(part.profile_id, part.name, part.dur_ns) for part in parts] == [(1, "A", 24), (0, "R", 6)]


def test_absent_members_are_a_residual_of_their_own_and_not_unexplained() -> None:
    # Two of eight are here and 2 of 6 ns are recorded as moving bytes; the others may have come at any time.
    replay = drawn(group_size=8, is_exact=False, transit_ns=2)

    transit = node_of(replay.graph, "R", kind=NodeKind.TRANSIT)
    assert (replay.graph.nodes.start[transit], replay.graph.nodes.dur[transit]) == (28, 2)
    assert replay.graph.residual[transit] == 4
    assert replay.graph.residual_type[transit] == Residual.MEMBERS_ABSENT
    assert replay.unexplained_ratio == 0
    assert replay.critical_path().class_ns[TimeClass.WAIT] == 4


def test_what_is_waited_for_absent_members_stays_whatever_the_edit() -> None:
    replay = drawn(group_size=8, is_exact=False, transit_ns=2)

    edits: list[Edit] = [Scale(Where(names=("A",)), 0.0), Scale(Where(kinds=("communication",)), 0.0)]

    assert step_after(replay, *edits) == 4


# Rank 2 is not here. R is of ranks 0 and 2, S of ranks 1 and 2: rank 1 comes to S at 6 and waits for rank 2, which is
# in R until 18 and comes 2 later; the bytes of S move for 6.
THROUGH_ABSENT = """
    r0 step |111111111111111111............|
    r0 s1   |AAAA..........................|
    r0 s2   |....RRRRRRRRRRRRRR............|
    r1 step |11111111111111111111111111....|
    r1 s1   |AAAAAA........................|
    r1 s2   |......SSSSSSSSSSSSSSSSSSSS....|
"""


def through_absent(*, members_known: bool = True, op: str = "allreduce") -> Replay:
    # In 10 us: short waits are scheduling.
    db = stretched(timeline(THROUGH_ABSENT, kinds={"R": "communication", "S": "communication"}), 10_000)
    meet(db, "R", profiles=(0,), group_size=2, transit_ns=140_000)
    meet(db, "S", profiles=(1,), group_size=2, transit_ns=60_000)
    for rank in (0, 1):
        insert(db, "flow", profile_id=rank, src_table="kernel", src_id=0, dst_table="kernel", dst_id=1,
               kind="event")  # fmt: skip
    ((of_r,), (of_s,)) = db.execute("select group_id from collective order by profile_id").fetchall()
    db.execute("update collective set op = ?", [op])
    db.execute("delete from comm_group_member")
    with together(db):
        for profile, group in ((0, of_r), (1, of_s)):
            for place, rank in enumerate((profile, 2)):
                insert(db, "comm_group_member", profile_id=profile, rank=profile, group_id=group, group_rank=place,
                       group_size=2, size_is_exact=True, member_rank=rank if members_known else None)  # fmt: skip
    return replay_of(db)


def test_an_absent_member_comes_after_the_call_that_it_still_was_in() -> None:
    replay = through_absent()

    transit = node_of(replay.graph, "S", profile=1, kind=NodeKind.TRANSIT)
    assert (replay.graph.nodes.start[transit], replay.graph.residual[transit]) == (200_000, 0)
    # R moves its bytes in 4 instead of 14: rank 2 leaves it at 8, comes to S at 10, and that ends at 16.
    quicker = SetDur(Where(names=("R",), kinds=("communication",)), 40_000)
    assert replay.base_ns - step_after(replay, quicker) == 100_000


@pytest.mark.parametrize(("members_known", "op"), [(False, "allreduce"), (True, "unknown")])
def test_where_the_members_are_not_known_nothing_ties_the_calls_together(members_known: bool, op: str) -> None:
    replay = through_absent(members_known=members_known, op=op)

    transit = node_of(replay.graph, "S", profile=1, kind=NodeKind.TRANSIT)
    assert replay.graph.residual[transit] == 140_000
    assert replay.graph.residual_type[transit] == Residual.MEMBERS_ABSENT


def test_without_a_record_and_with_absent_members_the_transit_is_unknown() -> None:
    replay = drawn(group_size=8)

    assert not replay.graph.collectives[0].transit_known


def test_what_a_complete_group_neither_waits_nor_moves_is_idle() -> None:
    replay = drawn(transit_ns=2)

    transit = node_of(replay.graph, "R", kind=NodeKind.TRANSIT)
    assert replay.graph.residual_type[transit] == Residual.IDLE
    assert replay.graph.residual[transit] == 4


def test_calls_that_do_not_overlap_did_not_meet() -> None:
    db = timeline(
        """
        r0 step |11111111111111111111|
        r0 s2   |RRRR................|
        r1 step |11111111111111111111|
        r1 s2   |..........RRRR......|
        """,
        kinds=COLLECTIVE,
    )
    launch(db, "x" * 20)
    launch(db, "x" * 20, profile=1)
    meet(db, "R", profiles=(0, 1), group_size=2)

    replay = replay_of(db)

    assert len(replay.graph.transit) == 2
    assert replay.violations == 2
    assert replay.identity_error_ratio == 0


def test_a_rank_that_ends_later_keeps_the_difference() -> None:
    db = timeline(
        """
        r0 step |1111111111|
        r0 s2   |RRRRRR....|
        r1 step |1111111111|
        r1 s2   |..RRRRRRRR|
        """,
        kinds=COLLECTIVE,
    )
    meet(db, "R", profiles=(0, 1), group_size=2)

    replay = replay_of(db)

    finish = node_of(replay.graph, "R", profile=1, kind=NodeKind.FINISH)
    assert (replay.graph.nodes.start[finish], replay.graph.nodes.dur[finish]) == (6, 4)
    without_transit = Bound((Scale(Where(kinds=("communication",)), 0.0),))
    assert replayed_ns(replay.graph, without_transit) == 6


def test_a_rank_that_begins_its_step_later_is_not_late() -> None:
    db = timeline(
        """
        r0 step |111111....|
        r0 s1   |AAAAAA....|
        r1 step |....111111|
        r1 s1   |....AAAAAA|
        """
    )

    replay = replay_of(db)

    assert replay.base_ns == replay.observed_ns == 6
    assert replay.without_residuals_ns == 6


def test_gains_have_their_own_words() -> None:
    gain = drawn().gain(Transform.exactly("x", SetDur(of_rank(1, "A"), 12)))

    assert isinstance(gain, Gain)
    assert gain.expected_ratio == 0.4
