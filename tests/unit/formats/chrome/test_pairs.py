"""Begin and end events, against a stack per track."""

from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from ascend_sn.formats.chrome.pairs import match


def by_stack(track: list[int], ts: list[int], begins: list[bool]) -> tuple[set[tuple[int, int]], set[int], set[int]]:
    pairs, stray = set(), set()
    open_: dict[int, list[int]] = {}
    for at in sorted(range(len(ts)), key=lambda at: (ts[at], at)):
        stack = open_.setdefault(track[at], [])
        if begins[at]:
            stack.append(at)
        elif stack:
            pairs.add((stack.pop(), at))
        else:
            stray.add(at)
    return pairs, {at for stack in open_.values() for at in stack}, stray


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 6), st.booleans()), max_size=40))
def test_ends_close_the_latest_begin_of_their_track(events: list[tuple[int, int, bool]]) -> None:
    track, ts, begins = [one[0] for one in events], [one[1] for one in events], [one[2] for one in events]

    found = match(np.array(track, np.int64), np.array(ts, np.int64), np.array(begins, np.bool_))

    pairs, left_open, stray = by_stack(track, ts, begins)
    assert set(zip(found.begin.tolist(), found.end.tolist(), strict=True)) == pairs
    assert set(found.open.tolist()) == left_open
    assert set(found.stray.tolist()) == stray
    assert found.begin.tolist() == sorted(found.begin.tolist())
