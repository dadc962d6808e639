"""Curves of compiled graphs over HTTP: whole, in part, thinned out; and the tables beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.timeline import empty_tables, insert, together
from tests.unit.insight.drawn_runs import ApiClient, client_of
from tests.unit.report.drawn import add_rank

GRAPH = {"profile": 0, "device": "host", "model": "net", "graph_id": "1"}
# Nodes 0 to 9: `weights` holds 8 throughout, the operator of node n holds n at that node alone.


@pytest.fixture
def api(tmp_path: Path) -> ApiClient:
    db = empty_tables()
    add_rank(db, 0)
    own: dict[str, Any] = {"profile_id": 0, "rank": 0, "device": "host", "model": "net", "graph_id": "1"}
    pieces = [("weights", 0, None, 8), *((f"op{node}", node, node, node) for node in range(10))]
    with together(db):
        for name, first, last, size in pieces:
            insert(db, "static_memory", operator_name=name, first_node=first, last_node=last, size_bytes=size,
                   is_total=False, **own)  # fmt: skip
    insert(db, "static_memory", operator_name="TOTAL", size_bytes=32, is_total=True, **own)
    return client_of(db, tmp_path)


def test_a_whole_curve_has_all_its_points(api: ApiClient) -> None:
    found = api.get("static-memory-curve", **GRAPH)

    assert found["nodes"] == list(range(10))
    assert found["held_bytes"] == [8 + node for node in range(10)]
    assert (found["state"], found["recorded"]) == ("collected", 10)


def test_a_part_begins_and_ends_where_it_is_asked_to(api: ApiClient) -> None:
    found = api.get("static-memory-curve", **GRAPH, from_node=3, to_node=5)

    assert (found["nodes"], found["held_bytes"]) == ([3, 4, 5], [11, 12, 13])


def test_a_part_beyond_the_graph_is_cut_to_it_or_empty(api: ApiClient) -> None:
    assert api.get("static-memory-curve", **GRAPH, from_node=9, to_node=99)["nodes"] == [9]
    assert api.get("static-memory-curve", **GRAPH, from_node=50)["nodes"] == []


def test_a_thinned_curve_keeps_the_highest_of_each_interval(api: ApiClient) -> None:
    found = api.get("static-memory-curve", **GRAPH, points=2)

    assert (found["nodes"], found["held_bytes"], found["recorded"]) == ([4, 9], [12, 17], 10)


def test_graphs_are_listed_with_their_peak_and_what_the_compiler_states(api: ApiClient) -> None:
    found = api.get("tables/static_graphs")
    row = dict(zip([column["name"] for column in found["columns"]], found["rows"][0], strict=True))

    assert (row["peak_bytes"], row["peak_node"], row["end_node"], row["total_bytes"]) == (17, 9, 9, 32)
    assert {column["name"]: column["unit"] for column in found["columns"]}["graph_id"] == "text"


def test_operators_are_those_that_hold_memory_in_a_range_of_nodes(api: ApiClient) -> None:
    chosen = {name: value for name, value in GRAPH.items() if name != "profile"}
    found = api.get("tables/static_memory", **chosen, from_node=2, to_node=3)

    at = [column["name"] for column in found["columns"]].index("operator_name")
    assert [row[at] for row in found["rows"]] == ["weights", "op3", "op2"]


def test_a_run_without_compiled_graphs_says_so(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)

    found = client_of(db, tmp_path).get("static-memory-curve", **GRAPH)

    assert (found["state"], found["nodes"]) == ("missing", [])


@pytest.mark.parametrize(
    "wrong", [{"from_node": "x"}, {"from_node": 5, "to_node": 4}, {"points": 1}, {"points": 99_999}, {"profile": "-1"}]
)
def test_what_is_no_range_is_refused(api: ApiClient, wrong: dict[str, Any]) -> None:
    assert api.refused("static-memory-curve", **{**GRAPH, **wrong}) == (400, "bad_parameter")
