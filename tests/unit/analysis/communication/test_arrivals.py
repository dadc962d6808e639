"""Votes on who comes last, counted by hand and against a plain count."""

from __future__ import annotations

from math import comb
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from ascend_sn.analysis.communication.arrivals import Votes, arrival_votes
from tests.unit.analysis.traces import Row, collective, database, kernel, numbered, step

US = 1_000


def call(
    profile_id: int, sequence: int, late_us: int, *, step_id: int | None, group: str = "g", **more: Any
) -> list[Row]:
    """A collective that ran as a kernel of a step, with what it waited."""
    parts: dict[str, Any] = {
        "wait_ns": late_us * US,
        "sync_ns": late_us * US,
        "transit_ns": US,
        "idle_ns": 0,
        "method": "recorded",
    }
    own = {"profile_id": profile_id, **more}
    ran = kernel(sequence * 1_000 * US, late_us * US + US, "R", "communication", step_id=step_id, **own)
    return [
        ran,
        collective(sequence * 1_000 * US, late_us * US + US, sequence=sequence, group_id=group, **parts, **own),
    ]


def votes(rows: list[Row], stage_of: dict[int, int | None]) -> dict[int, Votes]:
    made = []
    for place, (table, values) in enumerate(numbered(rows)):
        if table == "collective":
            values = {**values, "kernel_id": numbered(rows)[place - 1][1]["kernel_id"]}
        made.append((table, values))
    return arrival_votes(database(made), stage_of)


def lateness(*steps: list[tuple[int, int]]) -> list[Row]:
    """Of two ranks, per step the calls: what rank 0 and rank 1 wait."""
    rows: list[Row] = []
    sequence = 0
    for number, calls in enumerate(steps):
        for late in calls:
            for profile_id in (0, 1):
                rows += call(profile_id, sequence, late[profile_id], step_id=number)
            sequence += 1
        rows += [step(number * 10_000 * US, 9_000 * US, number, profile_id=profile_id) for profile_id in (0, 1)]
    return rows


def test_the_calls_of_a_step_have_one_vote_together() -> None:
    found = votes(lateness([(50, 0), (50, 0), (0, 50)], [(50, 0)] * 4), {0: None, 1: None})

    # Rank 1 is last to two of three and to four of four: two votes of two, by chance (1 / 2)^2.
    assert (found[1].calls, found[1].last_calls) == (7, 6)
    assert found[1].chance_ratio == pytest.approx(0.25)
    assert found[0].chance_ratio == 1.0
    assert (found[1].others_waited_ns, found[1].longest_wait_ns) == (300 * US, 50 * US)


def test_half_of_the_calls_of_a_step_is_no_vote() -> None:
    found = votes(lateness([(50, 0), (0, 50)]), {0: None, 1: None})

    assert [one.chance_ratio for one in found.values()] == [1.0, 1.0]


def test_communicators_vote_apart_and_the_one_that_waits_most_counts() -> None:
    rows: list[Row] = []
    for sequence, (group, late) in enumerate([("a", 50), ("a", 30), ("b", 70)]):
        rows += call(0, sequence, late, step_id=0, group=group) + call(1, sequence, 0, step_id=0, group=group)
    rows += [step(0, 9_000 * US, 1, profile_id=profile_id) for profile_id in (0, 1)]

    found = votes(rows, {0: None, 1: None})

    assert found[1].chance_ratio == pytest.approx(0.25)  # two communicators of two
    assert (found[1].others_waited_ns, found[1].longest_wait_ns) == (80 * US, 70 * US)


def test_calls_across_stages_have_no_last_one() -> None:
    assert votes(lateness([(50, 0)]), {0: 0, 1: 1}) == {}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.integers(0, 60), min_size=3, max_size=3), min_size=1, max_size=8))
def test_votes_of_calls_outside_of_steps_are_those_of_a_plain_count(calls: list[list[int]]) -> None:
    rows = [
        row
        for sequence, late in enumerate(calls)
        for profile_id in range(3)
        for row in call(profile_id, sequence, late[profile_id], step_id=None)
    ]

    found = votes(rows, dict.fromkeys(range(3)))

    expected: dict[int, tuple[int, int, float]] = {}
    for late in calls:
        order = sorted(range(3), key=lambda profile_id: (late[profile_id], profile_id))
        waits = [late[profile_id] * US for profile_id in order]
        if waits[-1] - waits[0] < 10 * US or waits[0] > 0.1 * waits[-1]:
            continue
        for profile_id in range(3):
            count, last, waited = expected.get(profile_id, (0, 0, 0.0))
            mine = profile_id == order[0]
            more = median(waits[1:]) - waits[0] if mine else 0.0
            expected[profile_id] = (count + 1, last + mine, waited + more)
    assert {key: (one.calls, one.last_calls, one.others_waited_ns) for key, one in found.items()} == expected
    for one in found.values():
        hits, trials = one.last_calls, one.calls
        tail = sum(comb(trials, k) * 2 ** (trials - k) for k in range(hits, trials + 1)) / 3**trials
        assert one.chance_ratio == pytest.approx(tail)
