"""The page over a job that is known by its summaries: the same answers, from fewer files."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from duckdb import DuckDBPyConnection

from ascend_sn.insight.alignment import automatic_places
from ascend_sn.insight.profiles import profiles_of
from ascend_sn.insight.runs import OpenRun
from ascend_sn.insight.tables import PAGE_TABLES
from ascend_sn.insight.tables.answer import RunTables
from ascend_sn.model.tables import BY_NAME
from tests.timeline import insert, together
from tests.unit.insight.drawn_runs import as_large_jobs, client_of, opened_of, write_run
from tests.unit.insight.test_rank_map import four_ranks


def met() -> DuckDBPyConnection:
    """The four ranks of `four_ranks`, which meet in one call of each step, with links and blocks of memory."""
    db = four_ranks()
    with together(db):
        for rank in range(4):
            for sequence in (0, 1):
                insert(db, "collective", profile_id=rank, rank=rank, collective_id=sequence, op="allreduce", name="ar",
                       group_id="g", sequence=sequence, ts_ns=10 * sequence + rank, dur_ns=8 - rank, wait_ns=3 - rank,
                       transit_ns=5, size_bytes=64)  # fmt: skip
            insert(
                db,
                "link",
                profile_id=rank,
                rank=rank,
                collective_id=0,
                group_id="g",
                src_rank=rank,
                dst_rank=(rank + 1) % 4,
                rank_scope="global",
                transport="HCCS",
                size_bytes=640,
                dur_ns=5,
            )
            insert(
                db,
                "memory_event",
                profile_id=rank,
                rank=rank,
                ts_ns=3,
                kind="alloc",
                size_bytes=10 + rank,
                address="a",
                device="NPU:0",
                operator_name="op",
                allocated_bytes=10 + rank,
                reserved_bytes=100,
            )
            insert(
                db,
                "host_call",
                profile_id=rank,
                rank=rank,
                host_call_id=0,
                thread=1,
                level="runtime",
                name="launch",
                ts_ns=1,
                dur_ns=3 + rank,
            )
            insert(db, "damage", profile_id=rank, rank=rank, file=f"f{rank}", kind="cut", severity="warning", count=1)
    return db


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    folder = tmp_path_factory.mktemp("whole")
    return opened_of(write_run(met(), folder / "run"), folder / "cache").opened("a")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> OpenRun:
    folder = tmp_path_factory.mktemp("large")
    with as_large_jobs():
        return opened_of(write_run(met(), folder / "run"), folder / "cache").opened("a")


def tables_of(opened: OpenRun) -> RunTables:
    return RunTables(opened.across, opened.origins, opened.one_by_one)


def test_summaries_answer_for_all_ranks_what_the_tables_do(whole: OpenRun, large: OpenRun) -> None:
    told = []
    for table in PAGE_TABLES:
        one, other = (tables_of(opened).answer(table.name, {}) for opened in (whole, large))
        assert one.looked_into is None
        if other.looked_into is None:
            assert (other.rows, other.row_count, other.state) == (one.rows, one.row_count, one.state), table.name
            told.append(table.name)
        else:
            assert (other.looked_into.profiles, other.looked_into.of) == (1, 4)
            assert table.name not in SUMMED

    assert set(SUMMED) <= set(told)


SUMMED = (
    "steps", "free_time_causes", "mfu", "parallel_groups", "rank_map", "kernel_types", "operators", "primitives",
    "collectives", "calls", "call_members", "links", "rank_pairs", "rank_waits", "stragglers", "memory_peaks",
    "memory_leaks", "damage", "coverage", "profiles", "clocks", "checks",
)  # fmt: skip
"""Tables that nobody has to choose a rank for."""


@pytest.mark.parametrize("table", [table.name for table in PAGE_TABLES if "profile_id" in table.columns])
def test_a_rank_that_is_not_looked_into_is_opened_when_it_is_asked_for(
    whole: OpenRun, large: OpenRun, table: str
) -> None:
    for profile in ("0", "3"):
        one, other = (tables_of(opened).answer(table, {"profile": profile}) for opened in (whole, large))

        assert (other.rows, other.row_count) == (one.rows, one.row_count)
        assert other.looked_into is None


def test_profiles_are_listed_by_rank_with_their_places_where_asked_for(whole: OpenRun, large: OpenRun) -> None:
    for opened in (whole, large):
        plain, placed = (profiles_of(opened, placed=placed) for placed in (False, True))

        assert [(one.profile_id, one.rank, one.origin_ns) for one in plain] == [(rank, rank, "0") for rank in range(4)]
        assert [one.place_ns for one in plain] == [None] * 4
        assert [one.place_ns for one in placed] == [place.place_ns for place in automatic_places(opened)]


def test_what_takes_long_holds_up_nothing_else(whole: OpenRun) -> None:
    found = []

    def long() -> str:
        other = threading.Thread(target=lambda: found.append(whole.once("quick", lambda: "quick")))
        other.start()
        other.join(30)
        return "long"

    assert whole.once("long", long) == "long"
    assert found == ["quick"]


def test_two_ranks_are_compared_with_each_other_alone(whole: OpenRun, large: OpenRun) -> None:
    asked = {"profile": "1", "against": "2"}
    one, other = (tables_of(opened).answer("host_calls", asked) for opened in (whole, large))

    columns = [column.name for column in other.columns]
    (row,) = (dict(zip(columns, values, strict=True)) for values in other.rows)
    assert (row["name"], row["total_ns"], row["other_total_ns"], row["more_total_ns"]) == ("launch", 4, 5, 1)
    assert (other.rows, other.looked_into) == (one.rows, None)


def test_the_last_ranks_that_were_asked_for_stay_open(large: OpenRun) -> None:
    assert large.one_by_one is not None
    first = large.one_by_one.opened(0)

    assert large.one_by_one.opened(0) is first
    assert large.one_by_one.opened(2, 1) is large.one_by_one.opened(1, 2)
    assert first.cursor().execute("select distinct profile_id from kernel").fetchall() == [(0,)]


def test_questions_about_one_rank_open_no_file_of_another(tmp_path: Path) -> None:
    with as_large_jobs():
        api = client_of(met(), tmp_path)
    # What is not asked for may be gone.
    for name in BY_NAME:
        for profile in (1, 2, 3):
            for file in (tmp_path / "run" / name / f"profile={profile}").glob("*.parquet"):
                file.unlink()

    (window,) = (block for block in api.get("tracks")["profiles"] if block["profile_id"] == 0)
    found: dict[str, Any] = api.get("find", table="kernel", profile=0, key=0)
    slice_ = api.get("slice", profile=0, track=found["track"], depth=found["depth"], slice=found["slice"])

    assert window["rank"] == 0
    assert (slice_["name"], slice_["start"], slice_["dur"]) == ("A", 0, 4)
    assert len(api.get("steps")) == 8
    assert api.get("memory-curve", profile=0, component="NPU:0")["allocated_bytes"] == [10]
    assert len(api.get("tables/kernels", profile=0)["rows"]) == 4
