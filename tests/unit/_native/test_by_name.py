from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn._native.by_name import NameSums, NameTotals

Slices = list[tuple[int, int, int, int]]

slices_ = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(-20, 20), st.integers(0, 9)), max_size=30
)


def add(totals: NameTotals, slices: Slices, own: list[int] | None = None) -> None:
    name, kind, start, dur = np.array(slices, dtype=np.int64).reshape(-1, 4).T
    start = np.ascontiguousarray(start)
    self_ns = None if own is None else np.array(own, np.int64)
    totals.add(start, start + dur, name.astype(np.uint32), kind.astype(np.uint8), self_ns)


def test_slices_are_added_up_by_name_over_several_arrays() -> None:
    totals = NameTotals(4)

    add(totals, [(3, 1, 0, 5), (0, 2, 7, 1)], own=[4, 1])
    add(totals, [(3, 1, 9, 2)])

    assert list(totals.taken()) == [NameSums(3, 2, 7, 6, 2, 5, 1), NameSums(0, 1, 1, 1, 1, 1, 2)]
    assert list(totals.taken()) == []


def test_a_name_beyond_the_names_is_refused() -> None:
    with pytest.raises(ValueError, match="a name is none"):
        add(NameTotals(2), [(2, 0, 0, 1)])


@given(st.lists(slices_, max_size=3))
def test_the_figures_are_those_of_plain_python(arrays: list[Slices]) -> None:
    totals = NameTotals(6)
    for _ in range(2):  # the second time from a fresh begin
        for slices in arrays:
            add(totals, slices)
        found = {one.name: one for one in totals.taken()}

    every = [one for slices in arrays for one in slices]
    assert set(found) == {name for name, *_ in every}
    for name, one in found.items():
        own = [dur for other, _, _, dur in every if other == name]
        assert (one.calls, one.total_ns, one.self_ns) == (len(own), sum(own), sum(own))
        assert (one.min_ns, one.max_ns) == (min(own), max(own))
