"""Memory of compiled graphs, counted by hand over the nodes of a drawing."""

from __future__ import annotations

from typing import Any

from duckdb import DuckDBPyConnection
from hypothesis import given, strategies as st

from ascend_sn.analysis.memory.static_memory import static_memory_at_peak, static_memory_curve, static_memory_peak
from tests.timeline import empty_tables, insert, together

# Nodes     0  1  2  3  4  5
# weights   8  8  8  8  8  8   to the end of the graph
# conv         4  4
# add             2  2
# relu                  1  1
# sum       8 12 14 10  9  9
PIECES = (("weights", 0, None, 8), ("conv", 1, 2, 4), ("add", 2, 3, 2), ("relu", 4, 5, 1))


def graphs(*pieces: tuple[str, int, int | None, int], total: int | None = None) -> DuckDBPyConnection:
    db = empty_tables()
    own: dict[str, Any] = {"profile_id": 0, "rank": 0, "device": "host", "model": "net", "graph_id": "1"}
    with together(db):
        for name, first, last, size in pieces:
            insert(db, "static_memory", operator_name=name, first_node=first, last_node=last, size_bytes=size,
                   is_total=False, **own)  # fmt: skip
    if total is not None:
        insert(db, "static_memory", operator_name="TOTAL", size_bytes=total, is_total=True, **own)
    return db


def curve(db: DuckDBPyConnection, graph: str = "1") -> list[tuple[int, int]]:
    return static_memory_curve(db, profile_id=0, device="host", model="net", graph_id=graph)


def test_every_operator_holds_its_memory_from_its_first_to_its_last_node() -> None:
    assert curve(graphs(*PIECES)) == [(0, 8), (1, 12), (2, 14), (3, 10), (4, 9), (5, 9)]


def test_the_curve_reaches_the_last_node_though_nothing_changes_there() -> None:
    assert curve(graphs(("a", 0, 9, 3))) == [(0, 3), (9, 3)]


def test_what_the_compiler_states_is_beside_the_peak_and_not_part_of_it() -> None:
    (row,) = static_memory_peak(graphs(*PIECES, total=16)).dicts()

    assert row == {
        "profile_id": 0, "rank": 0, "device": "host", "model": "net", "graph_id": "1", "peak_bytes": 14,
        "peak_node": 2, "end_node": 5, "total_bytes": 16, "piece_count": 4,
    }  # fmt: skip


def test_a_graph_of_which_only_the_whole_is_stated_has_no_peak() -> None:
    (row,) = static_memory_peak(graphs(total=16)).dicts()

    assert (row["peak_bytes"], row["peak_node"], row["total_bytes"], row["piece_count"]) == (None, None, 16, 0)
    assert curve(graphs(total=16)) == []


def test_the_owners_of_the_peak_hold_all_of_it() -> None:
    rows = static_memory_at_peak(graphs(*PIECES, ("conv", 2, 2, 4))).dicts()

    assert [(row["operator_name"], row["held_bytes"], row["piece_count"], row["peak_node"]) for row in rows] == [
        ("conv", 8, 2, 2),
        ("weights", 8, 1, 2),
        ("add", 2, 1, 2),
    ]
    assert [row["graph_bytes"] for row in rows] == [18] * 3
    assert [row["share_ratio"] for row in rows] == [8 / 18, 8 / 18, 2 / 18]


def test_graphs_models_and_devices_are_not_added_up() -> None:
    db = graphs(("a", 0, 1, 5))
    for device, model, graph in (("host", "net", "2"), ("host", "other", "1"), ("1", "net", "1")):
        insert(db, "static_memory", profile_id=0, rank=0, device=device, model=model, graph_id=graph,
               operator_name="a", first_node=0, last_node=0, size_bytes=2, is_total=False)  # fmt: skip

    assert [row["peak_bytes"] for row in static_memory_peak(db).dicts()] == [5, 2, 2, 2]
    assert (curve(db), curve(db, "2"), curve(db, "none")) == ([(0, 5), (1, 5)], [(0, 2)], [])


def test_what_no_source_names_is_unknown() -> None:
    db = empty_tables()
    insert(db, "static_memory", profile_id=0, first_node=0, last_node=0, size_bytes=2, is_total=False)

    (row,) = static_memory_at_peak(db).dicts()

    assert {row[name] for name in ("device", "model", "graph_id", "operator_name")} == {"unknown"}


def test_more_than_a_number_holds_is_the_highest_number() -> None:
    db = graphs(("a", 0, 0, 1 << 62), ("b", 0, 0, 1 << 62), ("c", 0, 0, 1 << 62))

    assert static_memory_peak(db).dicts()[0]["peak_bytes"] == (1 << 63) - 1


@given(st.lists(st.tuples(st.integers(0, 6), st.none() | st.integers(0, 6), st.integers(0, 9)), min_size=1, max_size=6))
def test_the_curve_is_what_adding_up_node_by_node_gives(drawn: list[tuple[int, int | None, int]]) -> None:
    pieces = [("a", first, None if more is None else first + more, size) for first, more, size in drawn]
    end = max(first if last is None else last for _, first, last, _ in pieces)
    by_node = [
        sum(size for _, first, last, size in pieces if first <= node and (last is None or node <= last))
        for node in range(end + 1)
    ]

    db = graphs(*pieces)
    found = dict(curve(db))

    begin = min(found)
    level = 0
    for node in range(begin, end + 1):
        level = found.get(node, level)
        assert level == by_node[node]
    (peak,) = static_memory_peak(db).dicts()
    assert (peak["peak_bytes"], by_node.index(max(by_node[begin:]), begin)) == (max(by_node), peak["peak_node"])
    held = static_memory_at_peak(db).dicts()
    assert sum(row["held_bytes"] for row in held) == max(by_node)
