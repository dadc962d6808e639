"""Call paths of two runs over the API."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from ascend_sn.insight.app import application
from ascend_sn.insight.runs import Served
from ascend_sn.store.input import Input
from tests.unit.analysis.host.test_call_paths import drawn
from tests.unit.analysis.traces import Row, database
from tests.unit.insight.drawn_runs import NoDocuments, write_run


def slower() -> list[Row]:
    """The drawn capture; the second linear takes 3 ns more, at the cost of its caller, and launches no copy."""
    rows = []
    for table, values in drawn():
        if table == "operator" and values["operator_id"] == 3:
            values = {**values, "dur_ns": 12}
        if table != "kernel" or values["kind"] != "copy":
            rows.append((table, values))
    return rows


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("changes")
    runs = [write_run(database(rows), folder / name) for name, rows in (("base", drawn()), ("cand", slower()))]
    served = Served([Input.of(run) for run in runs], NoDocuments(), cache_dir=folder / "cache")
    for run in served.runs:
        run.read()
    return TestClient(application(served, pages=[]))


def asked(http: TestClient, **given: Any) -> Any:
    found = http.get("/api/v1/call-path-changes", params={"base": "a", "candidate": "b", **given})
    assert found.status_code == 200, found.text
    return found.json()


def test_times_are_told_per_step_with_their_difference(http: TestClient) -> None:
    found = asked(http)

    told = [(one["name"], one["parent"], one["base_ns"], one["candidate_ns"], one["more_ns"]) for one in found["paths"]]
    assert told == [
        ("train.py(3): train", -1, 12.0, 12.0, 0.0), ("linear", 0, 7.5, 9.0, 1.5), ("mm", 1, 3.0, 3.0, 0.0),
        ("add", 1, 0.5, 0.5, 0.0), ("mm", -1, 1.5, 1.5, 0.0),
    ]  # fmt: skip
    assert (found["is_per_step"], found["base_steps"], found["candidate_steps"]) == (True, 2, 2)
    assert (found["base_ns"], found["candidate_ns"], found["path_count"]) == (13.5, 13.5, 5)
    assert found["paths"][1]["candidate_longest"] == {"profile_id": 0, "table": "operator", "key": "3", "dur_ns": 12}


def test_device_time_from_a_path_on_and_as_csv(http: TestClient) -> None:
    found = asked(http, measure="device", root=1)

    assert [(one["name"], one["base_ns"], one["more_ns"]) for one in found["paths"]] == [
        ("linear", 21.0, -3.5), ("mm", 15.0, 0.0), ("add", 2.5, 0.0)
    ]  # fmt: skip
    assert [one["name"] for one in found["above"]] == ["train.py(3): train", "linear"]
    text = http.get("/api/v1/call-path-changes?base=a&candidate=b&root=1&format=csv").text
    assert text.lstrip("\ufeff").splitlines()[:2] == [
        "path,depth,base_calls,candidate_calls,base_ns,candidate_ns,more_ns",
        "train.py(3): train > linear,1,2,2,7.5,9.0,1.5",
    ]


def test_one_step_of_one_rank_is_compared(http: TestClient) -> None:
    whole, first = asked(http), asked(http, rank=0, from_step=1, to_step=1)
    second = asked(http, from_step=2)

    assert (whole["first_step"], whole["last_step"]) == (1, 2)
    assert (first["base_steps"], first["candidate_steps"], first["is_per_step"]) == (1, 1, True)
    # Of two steps the mean is told, of one its own time.
    assert first["base_ns"] + second["base_ns"] == 2 * whole["base_ns"]
    assert first["candidate_ns"] + second["candidate_ns"] == 2 * whole["candidate_ns"]
    assert {one["name"] for one in first["paths"]} <= {one["name"] for one in whole["paths"]}


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"candidate": "a"}, 400),
        ({"measure": "self"}, 400),
        ({"root": 99}, 400),
        ({"candidate": "c"}, 404),
        ({"rank": 7}, 404),
        ({"from_step": 9}, 404),
        ({"rank": "x"}, 400),
    ],
)
def test_what_cannot_be_is_refused(http: TestClient, given: dict[str, Any], status: int) -> None:
    found = http.get("/api/v1/call-path-changes", params={"base": "a", "candidate": "b", **given})

    assert found.status_code == status
