"""Memory by its parts over the API: the same moments for all, times from the begin of the profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.timeline import empty_tables, insert, together
from tests.unit.insight.drawn_runs import ApiClient, client_of
from tests.unit.report.drawn import add_rank

ORIGIN = 1_700_000_000_000_000_000
LEVELS = (("parameter", 0, 10), ("activation", 100, 30), ("activation", 200, 5))


@pytest.fixture
def api(tmp_path: Path) -> ApiClient:
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for component, at, level in LEVELS:
            insert(
                db, "memory_sample", profile_id=0, rank=0, ts_ns=ORIGIN + at, component=component, allocated_bytes=level
            )
    return client_of(db, tmp_path)


def test_every_part_is_there_at_every_moment(api: ApiClient) -> None:
    assert api.get("memory-parts", profile=0, family="category") == {
        "at_ns": [0, 100, 200],
        "parts": [{"part": "activation", "held_bytes": [0, 30, 5]}, {"part": "parameter", "held_bytes": [10, 10, 10]}],
    }


def test_a_part_of_the_time_begins_with_the_levels_from_before(api: ApiClient) -> None:
    found = api.get("memory-parts", profile=0, family="category", from_ns=150, to_ns=250)

    assert found["at_ns"] == [200]
    assert [one["held_bytes"] for one in found["parts"]] == [[5], [10]]


def test_without_such_parts_there_is_nothing(api: ApiClient) -> None:
    assert api.get("memory-parts", profile=0, family="module") == {"at_ns": [], "parts": []}


def test_the_table_holds_the_parts_at_the_peak(api: ApiClient) -> None:
    found = api.get("tables/memory_parts", family="category")
    names = [column["name"] for column in found["columns"]]
    rows = [dict(zip(names, row, strict=True)) for row in found["rows"]]

    assert [(row["part"], row["held_bytes"], row["peak_ts_ns"]) for row in rows] == [
        ("activation", 30, 100), ("parameter", 10, 100),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "status"),
    [({"family": "colour"}, 400), ({"points": 1}, 400), ({"from_ns": "x"}, 400), ({"profile": 9}, 404)],
)
def test_what_is_not_there_is_refused(api: ApiClient, wrong: dict[str, object], status: int) -> None:
    assert api.refused("memory-parts", **{"profile": 0, "family": "category", **wrong})[0] == status
