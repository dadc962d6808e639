"""Memory at a moment over the API: parts by stack, segments, CSV, and requests that mean nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.timeline import empty_tables, insert
from tests.unit.analysis.memory.test_memory_moment import recorded
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


def blocks(api: ApiClient, **given: object) -> list[tuple[object, ...]]:
    found = api.get("tables/memory_blocks", **given)
    names = [column["name"] for column in found["columns"]]
    shown = [names.index(name) for name in ("address", "size_bytes", "site", "frames")]
    return [tuple(row[at] for at in shown) for row in found["rows"]]


def test_every_block_has_its_stack(api: ApiClient) -> None:
    assert blocks(api, sort="ts_ns") == [
        ("1000", 300, "layer", "layer\nforward\nmain"),
        ("1300", 200, "backward", "backward\nmain"),
        ("1500", 100, "layer", "layer\nforward\nmain"),
    ]


@pytest.mark.parametrize(("text", "sizes"), [("FORWARD", [300, 100]), ("backward", [200]), ("1300", [200]), ("no", [])])
def test_blocks_are_found_by_any_frame_of_their_stacks(api: ApiClient, text: str, sizes: list[int]) -> None:
    assert [size for _, size, _, _ in blocks(api, contains=text)] == sizes


def test_a_block_without_a_stack_has_that_of_its_operator(tmp_path: Path) -> None:
    db = recorded()
    add_rank(db, 0)
    insert(db, "operator", profile_id=0, operator_id=5, name="aten::mm", stack_id=1, ts_ns=9, dur_ns=1)
    insert(db, "memory_event", profile_id=0, ts_ns=9, kind="alloc", address="1", size_bytes=999, operator_id=5)

    assert blocks(client_of(db, tmp_path), contains="aten::mm") == [("1", 999, "backward", "backward\nmain")]


def test_stacks_are_one_line_in_csv(api: ApiClient) -> None:
    found = api.http.get("/api/v1/runs/a/tables/memory_blocks?format=csv&sort=ts_ns")

    assert found.text.splitlines()[1].endswith(",layer,layer | forward | main")


def test_a_run_without_memory_says_so(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)

    assert client_of(db, tmp_path).get("memory-moment", profile=0)["state"] != "collected"


def test_without_addresses_nobody_knows_which_blocks_live(tmp_path: Path) -> None:
    db = empty_tables()
    add_rank(db, 0)
    for ts_ns, kind in ((1, "alloc"), (2, "alloc"), (3, "free")):
        insert(db, "memory_event", profile_id=0, ts_ns=ts_ns, kind=kind, size_bytes=8)
    api = client_of(db, tmp_path)

    assert api.get("memory-moment", profile=0)["state"] == "missing"
    assert api.get("tables/memory_blocks")["state"] == "missing"


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
