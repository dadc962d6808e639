from __future__ import annotations

import numpy as np
from hypothesis import given, strategies as st

from ascend_sn._native import nesting
from tests.reference import nesting as reference
from tests.reference.nesting import Place, Slice

slices_ = st.lists(st.builds(Slice, st.integers(0, 2), st.integers(0, 20), st.integers(-1, 12)), max_size=12)


def places(slices: list[Slice]) -> list[Place]:
    thread, start, dur = np.array(slices, dtype=np.int64).reshape(-1, 3).T
    found = nesting.nest(thread, start, dur)
    return [
        Place(*row)
        for row in zip(
            found.parent.tolist(),
            found.depth.tolist(),
            found.self_ns.tolist(),
            found.crossing.astype(bool).tolist(),
            strict=True,
        )
    ]


def test_children_are_found_and_taken_from_their_parent() -> None:
    # |AAAAAAAAAA|
    # |.BBB.CCCC.|
    # |......D...|
    found = places([Slice(1, 0, 10), Slice(1, 1, 3), Slice(1, 5, 4), Slice(1, 6, 1)])

    assert found == [
        Place(-1, 0, 3, False),
        Place(0, 1, 3, False),
        Place(0, 1, 3, False),
        Place(2, 2, 1, False),
    ]


def test_threads_do_not_enclose_each_other() -> None:
    assert [place.parent for place in places([Slice(1, 0, 10), Slice(2, 1, 3)])] == [-1, -1]


def test_of_equal_ranges_the_first_is_the_parent() -> None:
    assert [place.parent for place in places([Slice(1, 0, 10), Slice(1, 0, 10), Slice(1, 0, 10)])] == [
        -1,
        0,
        1,
    ]


def test_a_slice_given_before_its_parent_is_its_child() -> None:
    assert [place.parent for place in places([Slice(1, 3, 2), Slice(1, 0, 10)])] == [1, -1]


def test_a_crossing_slice_is_kept_and_flagged() -> None:
    # |PPPPPPPPPP|
    # |.AAAA.....|
    # |...BBBB...|  starts inside A, ends after it: a child of P
    # |...C......|  inside both: B starts later
    found = places([Slice(1, 0, 10), Slice(1, 1, 4), Slice(1, 3, 4), Slice(1, 3, 1)])

    assert found == [
        Place(-1, 0, 4, False),
        Place(0, 1, 4, False),
        Place(0, 1, 3, True),
        Place(2, 2, 1, False),
    ]


def test_time_shared_by_crossing_children_is_taken_once() -> None:
    found = places([Slice(1, 0, 10), Slice(1, 0, 8), Slice(1, 2, 8)])

    assert [place.self_ns for place in found] == [0, 8, 8]


def test_a_point_at_either_edge_is_contained() -> None:
    found = places([Slice(1, 0, 10), Slice(1, 0, 0), Slice(1, 10, 0), Slice(1, 11, 0)])

    assert [place.parent for place in found] == [-1, 0, 0, -1]


def test_a_neighbour_that_starts_where_another_ends_is_no_child() -> None:
    found = places([Slice(1, 0, 10), Slice(1, 10, 5)])

    assert found == [Place(-1, 0, 10, False), Place(-1, 0, 5, False)]


def test_no_slices_give_no_places() -> None:
    assert places([]) == []


def test_the_innermost_open_slice_is_found() -> None:
    slices = [Slice(1, 0, 10), Slice(1, 2, 4), Slice(1, 4, 0), Slice(2, 0, 3)]
    thread, start, dur = np.array(slices).T

    found = nesting.enclosing(thread, start, dur, [1, 1, 1, 1, 1, 2, 2, 9], [0, 10, 5, 4, 6, 2, 3, 1])

    assert found.tolist() == [0, -1, 1, 2, 0, 3, -1, -1]


def test_many_threads_and_many_starts_agree_with_a_stack() -> None:
    random = np.random.default_rng(11)
    thread = random.integers(0, 2000, 20_000) * 1_000_003 - 5
    start = random.integers(0, 10**15, 20_000)
    dur = random.integers(0, 10**12, 20_000)

    found = nesting.nest(thread, start, dur)

    has = found.parent >= 0
    parent = found.parent[has]
    assert (thread[parent] == thread[has]).all()
    assert (start[parent] <= start[has]).all()
    assert (start[parent] + dur[parent] >= start[has] + dur[has]).all()
    assert (found.depth[has] == found.depth[parent] + 1).all()
    assert (found.self_ns >= 0).all()


@given(slices_)
def test_nesting_agrees_with_comparing_all(slices: list[Slice]) -> None:
    assert places(slices) == reference.nest(slices)


@given(slices_, st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 34)), max_size=10))
def test_enclosing_agrees_with_comparing_all(slices: list[Slice], asked: list[tuple[int, int]]) -> None:
    thread, start, dur = np.array(slices, dtype=np.int64).reshape(-1, 3).T
    q_thread, q_ts = np.array(asked, dtype=np.int64).reshape(-1, 2).T

    found = nesting.enclosing(thread, start, dur, q_thread, q_ts)

    assert found.tolist() == [reference.enclosing(slices, *one) for one in asked]
