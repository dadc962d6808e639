"""Differences of kernels between two served runs, counted from drawings."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from ascend_sn.insight.app import application
from ascend_sn.insight.runs import Served
from ascend_sn.store.input import Input
from tests.timeline import timeline
from tests.unit.insight.drawn_runs import NoDocuments, write_run


@pytest.fixture
def http(tmp_path: Path) -> TestClient:
    base = write_run(timeline("r0 s1 |AAAA..AA..BB..C|"), tmp_path / "base")
    candidate = write_run(timeline("r0 s1 |AAAAAA....B...D|"), tmp_path / "candidate")
    served = Served([Input.of(base), Input.of(candidate)], NoDocuments(), cache_dir=tmp_path / "cache")
    for run in served.runs:
        run.read()
    return TestClient(application(served, pages=[]))


def test_a_name_that_both_runs_have_changes_by_its_mean(http: TestClient) -> None:
    found = http.get("/api/v1/kernel_changes", params={"base": "a", "candidate": "b"}).json()

    # A takes 4 and 2 ns, then 6; B takes 2, then 1; C and D are in one run only.
    assert [(row["name"], row["base_mean_ns"], row["candidate_mean_ns"], row["change_ratio"]) for row in found] == [
        ("A", 3.0, 6.0, 1.0),
        ("B", 2.0, 1.0, -0.5),
    ]
    assert (found[0]["base_count"], found[0]["candidate_count"]) == (2, 1)


def test_a_run_is_not_compared_with_itself(http: TestClient) -> None:
    assert http.get("/api/v1/kernel_changes", params={"base": "a", "candidate": "a"}).status_code == 400
