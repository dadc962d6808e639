"""Memory at a moment over the API: parts by stack, segments, CSV, and requests that mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.timeline import empty_tables
from tests.unit.analysis.test_memory_moment import recorded
from tests.unit.insight.drawn_runs import ApiClient, client_of
from tests.unit.report.drawn import add_rank


@pytest.fixture
def api(tmp_path: Path) -> ApiClient:
    db = recorded()
    add_rank(db, 0)
    return client_of(db, tmp_path)


def test_the_peak_is_the_moment_when_none_is_given(api: ApiClient) -> None:
    found = api.get("memory-moment", profile=0)

    assert (found["device"], found["at_ns"], found["peak_ns"], found["held_bytes"]) == ("cuda:0", 2, 2, 500)
    parts = [tuple(part.values()) for part in found["parts"]]  # name, depth, offset, bytes, blocks
    assert parts == [
        ("main", 0, 0, 500, 2), ("forward", 1, 0, 300, 1), ("backward", 1, 300, 200, 1), ("layer", 2, 0, 300, 1)
    ]  # fmt: skip


def test_segments_of_a_chosen_moment(api: ApiClient) -> None:
    found = api.get("memory-moment", profile=0, at_ns=4)

    assert (found["held_bytes"], found["block_count"]) == (300, 2)
    (segment,) = found["segments"]
    assert segment["blocks"] == [[300, 200, "backward"], [500, 100, "layer"]]
    assert (segment["free_bytes"], segment["largest_free_bytes"]) == (700, 400)


def test_the_same_as_csv(api: ApiClient) -> None:
    found = api.http.get("/api/v1/runs/a/memory-moment?profile=0&at_ns=4&format=csv&part=segments")

    assert found.text.lstrip("\ufeff").splitlines() == [
        "address,stream,size_bytes,free_bytes,largest_free_bytes,block_count", "1000,7,1000,700,400,2"
    ]  # fmt: skip


def test_a_run_without_memory_says_so(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)

    assert client_of(db, tmp_path).get("memory-moment", profile=0)["state"] != "collected"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({"profile": 0, "device": "npu:9"}, 404),
        ({"profile": -1}, 400),
        ({"profile": 0, "at_ns": "soon"}, 400),
        ({"profile": 0, "format": "xml"}, 400),
    ],
)
def test_requests_without_meaning_are_refused(api: ApiClient, given: dict[str, object], status: int) -> None:
    assert api.refused("memory-moment", **given)[0] == status


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("tables/memory_blocks", {"count": -1}, 400),
        ("tables/memory_blocks", {"from": -5}, 400),
        ("tables/memory_blocks", {"lang": "xx"}, 400),
        ("tables/memory_blocks", {"descending": "maybe"}, 400),
        ("tables/memory_blocks", {"profile": 99}, 404),
        ("memory-curve", {"profile": 99, "component": "cuda:0"}, 404),
        ("memory-curve", {"profile": 0, "points": 1}, 400),
        ("memory-curve", {"profile": 0, "from_ns": 5, "to_ns": 1}, 400),
        ("memory-curve", {"profile": 0, "colour": "red"}, 404),
    ],
)
def test_parameters_are_what_they_should_be(api: ApiClient, path: str, given: dict[str, object], status: int) -> None:
    assert api.refused(path, **given)[0] == status
