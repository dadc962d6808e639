"""Work that some ranks have more of: what it explains, and what sharing it out gains."""

from __future__ import annotations

import pytest

from ascend_sn.replay import Gain, Replay, Unpriced, WorkExcess, work_balanced, work_excesses
from tests.timeline import timeline
from tests.unit.replay.drawings import meet, replay_of, wait

THREE_RANKS = """
    r0 step |111111111111111111|
    r0 s1   |XXXXAAAAAAAAAAAA..|
    r0 s2   |................MM|
    r1 step |111111111111111111|
    r1 s1   |XXXXAAAAAA........|
    r1 s2   |..........MMMMMMMM|
    r2 step |111111111111111111|
    r2 s1   |XXXXAAAAAA........|
    r2 s2   |..........MMMMMMMM|
"""
"""All compute X alike, then rank 0 computes A twice as long as the others; they meet, and bytes move for 2."""


def drawn(*shapes: str | None, text: str = THREE_RANKS) -> Replay:
    """The drawing; `shapes` are those of A on each rank."""
    db = timeline(text, kinds={"M": "communication"})
    for rank, shape in enumerate(shapes):
        db.execute("update kernel set input_shapes = '8,64' where name = 'X'")
        db.execute("update kernel set input_shapes = ? where name = 'A' and rank = ?", [shape, rank])
    meet(db, "M", profiles=(0, 1, 2), group_size=3)
    for rank in range(3):
        wait(db, {"M": "A"}, profile=rank)
    return replay_of(db)


UNEVEN = ("2048,64;64,8", "1024,64;64,8", "1024,64;64,8")


def priced(replay: Replay, standing_for: dict[int, float] | None = None) -> tuple[int, int, int]:
    gain = replay.gain(work_balanced(replay.graph, standing_for))
    assert isinstance(gain, Gain)
    return gain.low_ns, gain.expected_ns, gain.high_ns


def test_twice_the_inputs_explain_twice_the_time() -> None:
    # Of the inputs, those that all ranks have alike do not count.
    first, *others = work_excesses(drawn(*UNEVEN).graph)

    assert first == WorkExcess(0, excess_ns=6, more_work_ns=6, op_types=("A",), has_shapes=True)
    # The median of the other two is 13 of 10 and 16, and of A's expected time 9 of 6 and 12.
    assert [(one.excess_ns, one.more_work_ns, one.op_types) for one in others] == [(-3, -3, ())] * 2


@pytest.mark.parametrize(("shapes", "is_known"), [(("1024,64",) * 3, True), ((), False)])
def test_equal_inputs_explain_nothing(shapes: tuple[str, ...], is_known: bool) -> None:
    replay = drawn(*shapes)

    first = work_excesses(replay.graph)[0]

    assert (first.excess_ns, first.more_work_ns, first.has_shapes) == (6, 0, is_known)
    found = work_balanced(replay.graph)
    assert isinstance(found, Unpriced)
    assert found.reason.message_id == "replay.work-is-even"


def test_shared_out_evenly_all_take_the_mean() -> None:
    # A takes 12, 6 and 6: 8 on average. Half of the difference makes it 10 and 7; the median is 6.
    assert priced(drawn(*UNEVEN)) == (2, 4, 6)


def test_ranks_that_are_not_replayed_count() -> None:
    # The others stand for two and a half each: (12 + 5 * 6) / 6 = 7.
    _, expected, _ = priced(drawn(*UNEVEN), {0: 1.0, 1: 2.5, 2: 2.5})

    assert expected == 5


def test_more_kernels_are_more_work() -> None:
    two = THREE_RANKS.replace("XXXXAAAAAAAAAAAA", "XXXXAAAAA.AAAAAA")

    replay = drawn("8,64", "8,64", "8,64", text=two)

    # Two of 5 and 6 against one of 6: 23 of four kernels, half of them rank 0's.
    first = work_excesses(replay.graph)[0]
    assert (first.excess_ns, first.op_types) == (5, ("A",))
    assert first.more_work_ns == round(23 / 2 - 23 / 4)


def test_a_rank_alone_shares_with_nobody() -> None:
    found = work_balanced(replay_of(timeline("r0 step |11|\n r0 s1 |AA|")).graph)

    assert isinstance(found, Unpriced)
    assert found.reason.message_id == "replay.one-rank"
