"""Call paths over the API: shares, what is left out, zoom, CSV, and requests that mean nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ascend_sn.insight.call_trees import PATHS_AT_MOST
from tests.timeline import empty_tables, insert, together
from tests.unit.analysis.host.test_call_paths import drawn
from tests.unit.analysis.traces import Row, database, numbered, operator
from tests.unit.insight.drawn_runs import ApiClient, client_of
from tests.unit.report.drawn import add_rank


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> ApiClient:
    """The drawn capture on two ranks."""
    other: list[Row] = [(table, {**values, "profile_id": 1}) for table, values in drawn()]
    return client_of(database([*drawn(), *other]), tmp_path_factory.mktemp("calls"))


def told(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(one["name"], one["parent"], one["calls"], one["total_ns"], one["device_ns"]) for one in found["paths"]]


def test_all_ranks_are_added_up(api: ApiClient) -> None:
    found = api.get("call-paths")

    assert told(found) == [
        ("train.py(3): train", -1, 2, 48, 84), ("linear", 0, 4, 30, 84), ("mm", 1, 4, 12, 60), ("add", 1, 2, 2, 10),
        ("mm", -1, 2, 6, 6),
    ]  # fmt: skip
    assert (found["whole_ns"], found["path_count"], found["left_out_paths"]) == (54, 5, 0)
    assert (found["looked_into"], found["profile_count"], found["first_step"], found["last_step"]) == (2, 2, 1, 2)
    assert found["paths"][1]["longest"] == {"profile_id": 0, "table": "operator", "key": "3", "dur_ns": 9}


def test_one_rank_and_one_step(api: ApiClient) -> None:
    found = api.get("call-paths", profile=1, from_step=2)

    assert told(found) == [("train.py(3): train", -1, 1, 14, 27), ("linear", 0, 1, 9, 27), ("mm", 1, 1, 4, 20)]
    assert found["paths"][2]["longest"]["profile_id"] == 1


def test_a_path_becomes_the_whole_and_says_where_it_lies(api: ApiClient) -> None:
    found = api.get("call-paths", profile=0, root=1, measure="device")

    assert told(found) == [("linear", -1, 2, 15, 42), ("mm", 0, 2, 6, 30), ("add", 0, 1, 1, 5)]
    assert [(one["id"], one["name"]) for one in found["above"]] == [(0, "train.py(3): train"), (1, "linear")]
    assert (found["whole_ns"], found["path_count"]) == (42, 3)


def test_self_time_has_callers_inside(api: ApiClient) -> None:
    found = api.get("call-paths", profile=0, measure="self")

    assert told(found)[:3] == [("mm", -1, 3, 9, 33), ("linear", 0, 2, 6, 30), ("train.py(3): train", 1, 2, 6, 30)]
    assert found["whole_ns"] == 27


def test_what_is_small_is_counted(tmp_path: Path) -> None:
    rows = [operator("long", 0, 100_000), *(operator(f"short {at}", 10 * at, 5) for at in range(7))]

    found = client_of(database(numbered(rows)), tmp_path).get("call-paths")

    assert told(found) == [("long", -1, 1, 100_000, None)]
    assert (found["left_out_paths"], found["left_out_calls"], found["has_device"]) == (7, 7, False)


def test_no_more_paths_are_told_than_can_be_drawn(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for at in range(PATHS_AT_MOST + 5):
            # Each inside of the one before: all are large.
            insert(
                db, "operator", operator_id=at, thread="a", name=f"f{at}", ts_ns=at, dur_ns=10 * PATHS_AT_MOST - 2 * at
            )

    found = client_of(db, tmp_path).get("call-paths")

    assert len(found["paths"]) == PATHS_AT_MOST
    assert (found["path_count"], found["left_out_paths"]) == (PATHS_AT_MOST + 5, 5)


def test_csv_holds_all_paths(api: ApiClient) -> None:
    found = api.http.get("/api/v1/runs/a/call-paths?profile=0&root=1&format=csv").text.lstrip("\ufeff").splitlines()

    assert found == [
        "path,depth,calls,total_ns,self_ns,device_ns,device_self_ns,longest_ns,longest_table,profile_id,longest_key",
        "train.py(3): train > linear,1,2,15,8,42,7,9,operator,0,3",
        "train.py(3): train > linear > mm,2,2,6,6,30,30,4,operator,0,4",
        "train.py(3): train > linear > add,2,1,1,1,5,5,1,operator,0,2",
    ]


def test_a_run_without_calls_says_so(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)

    assert client_of(db, tmp_path).get("call-paths")["state"] != "collected"


@pytest.mark.parametrize(
    ("given", "status", "code"),
    [
        ({"profile": 9}, 404, "no_profile"),
        ({"root": 5}, 400, "bad_parameter"),
        ({"measure": "calls"}, 400, "bad_parameter"),
        ({"from_step": "first"}, 400, "bad_parameter"),
    ],
)
def test_what_cannot_be_is_refused(api: ApiClient, given: dict[str, Any], status: int, code: str) -> None:
    assert api.refused("call-paths", **given) == (status, code)
