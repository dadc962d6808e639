from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from ascend_sn._native.dag import Schedule, longest_path

Edge = tuple[int, int, int]


def schedule(durs: list[int], edges: list[Edge]) -> Schedule:
    src, dst, weight = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    return longest_path(durs, src, dst, weight)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[Edge]]:
    durs = draw(st.lists(st.integers(0, 9), min_size=1, max_size=8))
    pairs = [(a, b) for b in range(len(durs)) for a in range(b)]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=12)) if pairs else []
    return durs, [(a, b, draw(st.integers(-3, 5))) for a, b in chosen]


def latest(durs: list[int], edges: list[Edge], node: int) -> int:
    """Start of a node by walking every path to it."""
    return max([0, *(latest(durs, edges, a) + durs[a] + w for a, b, w in edges if b == node)])


def test_a_node_waits_for_the_latest_of_its_predecessors() -> None:
    # 0 (10) --5--> 2 (1) ; 1 (20) --0--> 2
    found = schedule([10, 20, 1], [(0, 2, 5), (1, 2, 0)])

    assert found.start.tolist() == [0, 0, 20]
    assert found.end.tolist() == [10, 20, 21]
    assert found.critical_pred.tolist() == [-1, -1, 1]


def test_of_equally_late_predecessors_the_first_is_named() -> None:
    assert schedule([5, 5, 1], [(0, 2, 0), (1, 2, 0)]).critical_pred.tolist() == [-1, -1, 0]


def test_edges_in_any_order_give_the_same() -> None:
    assert schedule([1, 2, 3], [(1, 2, 0), (0, 1, 7)]).end.tolist() == [1, 10, 13]


def test_no_edge_can_start_a_node_before_zero() -> None:
    found = schedule([1, 1], [(0, 1, -5)])

    assert found.start.tolist() == [0, 0]
    assert found.critical_pred.tolist() == [-1, -1]


def test_a_graph_without_nodes_is_empty() -> None:
    assert schedule([], []).end.tolist() == []


@pytest.mark.parametrize("edge", [(1, 0, 0), (1, 1, 0), (-1, 1, 0), (0, 2, 0)])
def test_edges_that_do_not_lead_forwards_are_refused(edge: Edge) -> None:
    with pytest.raises(ValueError, match="later"):
        schedule([1, 1], [edge])


@given(graphs())
def test_starts_agree_with_walking_every_path(graph: tuple[list[int], list[Edge]]) -> None:
    durs, edges = graph

    found = schedule(durs, edges)

    assert found.start.tolist() == [latest(durs, edges, node) for node in range(len(durs))]
    for node, pred in enumerate(found.critical_pred.tolist()):
        arrivals = [int(found.end[a]) + w for a, b, w in edges if b == node]
        assert pred >= 0 or all(arrival < 0 for arrival in arrivals)
        assert pred < 0 or found.start[node] in [int(found.end[a]) + w for a, b, w in edges if (a, b) == (pred, node)]
