"""Chains that were fused between two runs, over the API."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from ascend_sn.insight.app import application
from ascend_sn.insight.runs import Served
from ascend_sn.store.input import Input
from tests.timeline import timeline
from tests.unit.insight.drawn_runs import NoDocuments, write_run

UNFUSED = """
    r0 step |11111111111111111111|
    r0 s1   |AABBCDDDE.AABBCDDDE.|
"""
FUSED = """
    r0 step |11111111111111111111|
    r0 s1   |AAFFFFE...AAFFFFE...|
"""
HOST = """
    r0 step |1111111111|
    r0 host |ffffbbbboo|
"""


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    folder = tmp_path_factory.mktemp("fused")
    runs = [write_run(timeline(drawn), folder / str(at)) for at, drawn in enumerate((UNFUSED, FUSED, HOST))]
    served = Served([Input.of(run) for run in runs], NoDocuments(), cache_dir=folder / "cache")
    for run in served.runs:
        run.read()
    return TestClient(application(served, pages=[]))


def asked(http: TestClient, **given: Any) -> Any:
    return http.get("/api/v1/fused-changes", params={"base": "a", "candidate": "b", **given})


def test_the_chain_is_told_with_an_example_of_both_runs(http: TestClient) -> None:
    found = asked(http).json()

    (chain,) = found["chains"]
    assert (chain["state"], chain["before"], chain["after"]) == ("fused", "B, C, D", "F")
    assert (chain["count"], chain["before_ns"], chain["after_ns"], chain["gain_ns"]) == (2, 12, 8, 4)
    assert (chain["base_example"], chain["candidate_example"]) == ([0, 1], [0, 1])
    assert (found["state"], found["rank_count"], found["base_kernels"], found["candidate_kernels"]) == (
        "collected", 1, 10, 6,
    )  # fmt: skip


def test_the_other_way_round_it_costs(http: TestClient) -> None:
    (chain,) = asked(http, base="b", candidate="a").json()["chains"]

    assert (chain["state"], chain["before"], chain["after"], chain["gain_ns"]) == ("split", "F", "B, C, D", -4)


def test_it_is_a_csv_file_too(http: TestClient) -> None:
    found = asked(http, format="csv")

    assert found.text.removeprefix("\ufeff").splitlines() == [
        "state,before,after,before_kernels,after_kernels,count,before_ns,after_ns,gain_ns",
        'fused,"B, C, D",F,3,1,2.0,12.0,8.0,4.0',
    ]


def test_a_run_without_kernels_says_so(http: TestClient) -> None:
    found = asked(http, candidate="c").json()

    assert (found["state"], found["chains"]) == ("missing", [])
    assert found["reason"]


@pytest.mark.parametrize("given", [{"candidate": "a"}, {"format": "xml"}])
def test_what_cannot_be_asked_is_refused(http: TestClient, given: dict[str, str]) -> None:
    assert asked(http, **given).status_code == 400
