"""Pairs of a send and its receive."""

from __future__ import annotations

from ascend_sn.replay.point_to_point import Message, pairs_of

US = 1_000


def send(stage: int, start: int, end: int, size: int | None = 1) -> Message:
    return Message(stage, stage, "send", start * US, end * US, size)


def receive(stage: int, start: int, end: int, size: int | None = 1) -> Message:
    return Message(stage, stage, "receive", start * US, end * US, size)


def test_the_ones_that_end_together_belong_together() -> None:
    # Stage 1 sends forward and back at nearly the same time.
    messages = [send(1, 0, 20), send(1, 1, 25), receive(0, 5, 25), receive(2, 10, 20)]

    assert sorted(pairs_of(messages, 3)) == [(0, 3), (1, 2)]


def test_clocks_that_differ_a_little_do_not_part_them() -> None:
    messages = [send(0, 0, 100), send(0, 500, 600), receive(1, 40, 107), receive(1, 300, 593)]

    assert sorted(pairs_of(messages, 2)) == [(0, 2), (1, 3)]


def test_stages_that_are_no_neighbours_exchange_nothing() -> None:
    assert pairs_of([send(0, 0, 20), receive(2, 0, 20)], 4) == []


def test_the_last_stage_and_the_first_one_are_neighbours() -> None:
    # Interleaved stages: what the last rank has done goes on at the first one.
    assert pairs_of([send(3, 0, 20), receive(0, 0, 20)], 4) == [(0, 1)]


def test_ranks_whose_place_is_not_known_may_be_neighbours() -> None:
    messages = [Message(0, None, "send", 0, 20, None), Message(5, None, "receive", 10, 20, None)]

    assert pairs_of(messages, None) == [(0, 1)]


def test_messages_of_different_size_are_different_ones() -> None:
    assert pairs_of([send(0, 0, 20, size=8), receive(1, 0, 20, size=4)], 2) == []


def test_a_message_is_not_received_before_it_is_sent() -> None:
    assert pairs_of([send(0, 50, 60), receive(1, 0, 40)], 2) == []


def test_messages_from_one_rank_to_another_do_not_pass_each_other() -> None:
    # The second receive ends closest to the first send, but then the first one would get what was sent later.
    messages = [send(0, 0, 30), send(0, 10, 62), receive(1, 5, 61), receive(1, 20, 90)]

    assert pairs_of(messages, 2) == [(1, 2)]


def test_both_ends_of_what_is_batched_send_and_receive() -> None:
    batched = [Message(stage, stage, "batchsendrecv", 0, end * US, 1) for stage, end in ((0, 20), (1, 20), (2, 50))]

    assert pairs_of(batched, 3) == [(0, 1)] or pairs_of(batched, 3) == [(1, 0)]


def test_nobody_sends_to_itself() -> None:
    assert pairs_of([send(0, 0, 20), receive(0, 0, 20)], 2) == []
