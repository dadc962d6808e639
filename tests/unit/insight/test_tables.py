"""Tables of the page: numbers counted from drawings, pages, order, filters, ranks beside ranks, CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from duckdb import DuckDBPyConnection
from starlette.applications import Starlette
from starlette.testclient import TestClient

from ascend_sn.errors import UnknownNameError, UsageError
from ascend_sn.insight.ranks import Part
from ascend_sn.insight.tables import PAGE_TABLES
from ascend_sn.insight.tables.answer import RunTables
from ascend_sn.insight.tables.definition import unit_of
from ascend_sn.insight.tables.routes import table_routes
from ascend_sn.store import Run
from ascend_sn.store.input import Input
from tests.shared_data import requires_shared, shared_path
from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.insight.drawn_runs import write_run
from tests.unit.report.drawn import add_rank

Tables = Callable[[DuckDBPyConnection], RunTables]


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    """Write a drawn run and give its tables."""

    def written(db: DuckDBPyConnection) -> RunTables:
        folder = write_run(db, tmp_path / f"run-{len(list(tmp_path.iterdir()))}")
        return RunTables(Part(Run(folder, Input.of(folder))))

    return written


def named(found: RunTables, name: str, **given: str) -> list[dict[str, Any]]:
    answer = found.answer(name, {key.rstrip("_"): value for key, value in given.items()})
    return [dict(zip([column.name for column in answer.columns], row, strict=True)) for row in answer.rows]


_WORDS = Path(__file__).parents[3] / "src" / "ascend_sn" / "locale"


def words_of(code: str) -> dict[str, str]:
    catalogue = (_WORDS / code / "LC_MESSAGES" / "insight.po").read_text(encoding="utf-8")
    return dict(re.findall(r'^msgid "col\.([^"]+)"\nmsgstr "([^"]+)"', catalogue, re.MULTILINE))


@pytest.mark.parametrize("code", ["en", "zh"])
def test_columns_of_a_table_have_a_heading_each(code: str) -> None:
    words = words_of(code)
    for table in PAGE_TABLES:
        shown = [name for name in table.columns if unit_of(name) != "id" and name != "frames"]
        headings = [words.get(f"{table.name}.{name}") or words.get(name) or name for name in shown]

        assert len(set(headings)) == len(headings), (table.name, headings)
        assert code == "en" or [name for name in shown if name not in words] == [], table.name


DRAWING = """
    r0 step |11111111112222222222|
    r0 s1   |AAAA.BB...AAAA.B....|
    r1 s1   |AAA..B....AAA..C....|
"""


def test_kernels_are_summed_per_rank(tables: Tables) -> None:
    rows = named(tables(timeline(DRAWING)), "kernel_types")

    assert [(row["rank"], row["op_type"], row["calls"], row["total_ns"]) for row in rows] == [
        (0, "A", 2, 8), (1, "A", 2, 6), (0, "B", 2, 3), (1, "B", 1, 1), (1, "C", 1, 1),
    ]  # fmt: skip


def test_ranks_are_merged_and_shares_are_of_all(tables: Tables) -> None:
    rows = named(tables(timeline(DRAWING)), "kernel_types", merged="1")

    assert [(row["op_type"], row["calls"], row["total_ns"], row["mean_ns"]) for row in rows] == [
        ("A", 4, 14, 4), ("B", 3, 4, 1), ("C", 1, 1, 1),
    ]  # fmt: skip
    assert [row["share_ratio"] for row in rows] == pytest.approx([14 / 19, 4 / 19, 1 / 19])
    assert "rank" not in rows[0]


def test_two_ranks_stand_beside_each_other_and_what_one_lacks_is_not_zero(tables: Tables) -> None:
    rows = named(tables(timeline(DRAWING)), "kernel_types", profile="0", against="1")

    assert [(row["op_type"], row["total_ns"], row["other_total_ns"], row["more_total_ns"]) for row in rows] == [
        ("C", None, 1, None), ("A", 8, 6, -2), ("B", 3, 1, -2),
    ]  # fmt: skip


def test_rows_are_sorted_paged_and_counted(tables: Tables) -> None:
    found = tables(timeline(DRAWING))

    answer = found.answer("kernels", {"sort": "dur_ns", "count": "2", "from": "1", "descending": "1"})

    column = [one.name for one in answer.columns].index("dur_ns")
    assert [row[column] for row in answer.rows] == [4, 3]  # 4 4 3 3 2 1 1 1
    assert answer.row_count == 8


def test_times_count_from_the_begin_of_the_profile_and_rows_lead_to_slices(tables: Tables) -> None:
    db = empty_tables()
    add_rank(db, 0)
    for number in (0, 1):
        insert(db, "kernel", profile_id=0, rank=0, kernel_id=number, name="A", kind="compute", device_id=0, stream="1",
               ts_ns=1_760_000_000_000_000_007 + 10 * number, dur_ns=4)  # fmt: skip

    answer = tables(db).answer("kernels", {"sort": "ts_ns"})
    rows = named(tables(db), "kernels", sort="ts_ns", from_ns="4", to_ns="12")

    assert answer.slices == {"table": "kernel", "profile": "profile_id", "key": "kernel_id"}
    assert [row[[one.name for one in answer.columns].index("ts_ns")] for row in answer.rows] == [0, 10]
    assert [row["kernel_id"] for row in rows] == [1]  # the first ends at 4


def test_rows_are_narrowed_by_rank_by_text_and_by_their_own_filters(tables: Tables) -> None:
    found = tables(timeline(DRAWING))

    of_rank = named(found, "kernels", profile="1")
    with_text = named(found, "kernels", contains="b")
    of_type = named(found, "kernels", op_type="C")

    assert {row["rank"] for row in of_rank} == {1}
    assert {row["name"] for row in with_text} == {"B"}
    assert [row["rank"] for row in of_type] == [1]


def test_a_text_of_the_reader_is_no_query(tables: Tables) -> None:
    found = tables(timeline(DRAWING))

    assert named(found, "kernels", contains="' or 1=1 --") == []
    assert named(found, "kernels", op_type="'; drop table kernel; --") == []
    assert len(named(found, "kernels")) == 8


@pytest.mark.parametrize(
    ("table", "given", "error"),
    [
        ("nothing", {}, UnknownNameError),
        ("kernels", {"sort": "name; drop table kernel"}, UnknownNameError),
        ("kernels", {"odd": "1"}, UnknownNameError),
        ("kernels", {"from": "x"}, UsageError),
        ("kernels", {"profile": "9" * 30}, UsageError),
        ("kernels", {"merged": "1"}, UsageError),
        ("kernel_types", {"against": "1"}, UsageError),
    ],
)
def test_what_has_no_meaning_is_refused(
    tables: Tables, table: str, given: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        tables(timeline(DRAWING)).answer(table, given)


def test_a_thousand_rows_are_the_most_of_one_answer(tables: Tables) -> None:
    db = empty_tables()
    add_rank(db, 0)
    db.execute("""
        insert into kernel by name
        select 0 as profile_id, 0 as rank, i as kernel_id, 'A' as name, 'compute' as kind, i * 10 as ts_ns, 5 as dur_ns
        from range(1500) t(i)
    """)

    answer = tables(db).answer("kernels", {"count": "5000"})

    assert (len(answer.rows), answer.row_count) == (1000, 1500)


def test_what_was_not_collected_says_so(tables: Tables) -> None:
    db = empty_tables()
    add_rank(db, 0)
    insert(db, "coverage", profile_id=0, rank=0, table_name="memory_event", column_name=None, state="not_requested",
           reason="memory was not profiled", turn_on="profile_memory=True")  # fmt: skip

    answer = tables(db).answer("memory_blocks", {})

    assert (answer.state, answer.reason, answer.turn_on) == (
        "not_requested", "memory was not profiled", "profile_memory=True",
    )  # fmt: skip
    assert answer.rows == []


def memory_run() -> DuckDBPyConnection:
    """Blocks of 10 (from 0 to 50), 20 (from 10 on), 30 (from 20 to 30, at the address of the first later on)."""
    db = empty_tables()
    add_rank(db, 0)
    events = [("alloc", 0, 10, "a"), ("alloc", 10, 20, "b"), ("alloc", 20, 30, "c"), ("free", 30, 30, "c"),
              ("free", 50, 10, "a"), ("alloc", 60, 40, "a")]  # fmt: skip
    with together(db):
        for kind, ts, size, address in events:
            insert(
                db,
                "memory_event",
                profile_id=0,
                rank=0,
                ts_ns=100 + ts,
                kind=kind,
                size_bytes=size,
                address=address,
                device="NPU:0",
                operator_name=f"op{size}",
            )
    return db


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({}, [40, 30, 20, 10]),
        ({"alive_from_ns": "35", "alive_to_ns": "40"}, [20, 10]),
        ({"made_from_ns": "5", "made_to_ns": "25"}, [30, 20]),
        ({"freed_from_ns": "25", "freed_to_ns": "60"}, [30, 10]),
        ({"made_from_ns": "5", "made_to_ns": "40", "freed_from_ns": "5", "freed_to_ns": "40"}, [30]),
        ({"alive_from_ns": "30", "alive_to_ns": "30"}, [20, 10]),  # one is freed at the moment: gone
        ({"alive_from_ns": "60", "alive_to_ns": "60"}, [40, 20]),  # one is allocated at the moment: there
    ],
)
def test_blocks_live_from_their_allocation_to_their_free(
    tables: Tables, given: dict[str, str], sizes: list[int]
) -> None:
    rows = named(tables(memory_run()), "memory_blocks", **given)

    assert [row["size_bytes"] for row in rows] == sizes


def test_a_block_that_is_not_freed_has_no_end(tables: Tables) -> None:
    rows = named(tables(memory_run()), "memory_blocks", sort="ts_ns")

    assert [(row["ts_ns"], row["freed_ts_ns"], row["held_ns"]) for row in rows] == [
        (0, 50, 50), (10, None, None), (20, 30, 10), (60, None, None),
    ]  # fmt: skip


def test_a_block_of_a_snapshot_shows_what_was_asked_for_beside_what_it_got(tables: Tables) -> None:
    db = memory_run()
    for address, size, requested in (("a", 512, 40), ("b", 512, None), ("c", 512, 9)):
        insert(db, "memory_block", profile_id=0, rank=0, device="NPU:0", address=address, size_bytes=size,
               requested_bytes=requested, state="allocated")  # fmt: skip

    rows = named(tables(db), "memory_blocks", sort="ts_ns")

    # Both blocks that were freed, the first one of address a, have left no trace of their rounded size.
    assert [(row["address"], row["size_bytes"], row["rounded_bytes"]) for row in rows] == [
        ("a", 10, None), ("b", 20, 512), ("c", 30, None), ("a", 40, 512),
    ]  # fmt: skip


def calls_run() -> DuckDBPyConnection:
    """Two ranks of one host; rank 1 comes 3 ns late to the second call."""
    db = empty_tables()
    for rank in (0, 1):
        add_rank(db, rank)
        for sequence, start, dur in ((0, 100, 10), (1, 200 + 3 * rank, 20 - 3 * rank)):
            insert(db, "collective", profile_id=rank, rank=rank, collective_id=sequence, op="allreduce", name="ar",
                   group_id="g", sequence=sequence, ts_ns=start, dur_ns=dur, size_bytes=64)  # fmt: skip
        insert(db, "comm_group_member", profile_id=rank, rank=rank, group_id="g", group_rank=rank, group_size=2,
               size_is_exact=True, member_rank=rank)  # fmt: skip
    return db


def test_the_rank_that_comes_last_is_named(tables: Tables) -> None:
    found = tables(calls_run())

    calls = {row["sequence"]: row for row in named(found, "calls")}
    members = named(found, "call_members", op="allreduce", group_id="g", sequence="1")

    assert (calls[1]["members"], calls[1]["spread_ns"], calls[1]["last_rank"]) == (2, 3, 1)
    assert calls[0]["spread_ns"] == 0
    assert [(row["rank"], row["lag_ns"], row["is_last"]) for row in members] == [(0, 0, False), (1, 3, True)]


@pytest.mark.parametrize("op", ["send", "unknown"])
def test_calls_that_numbers_do_not_match_stand_alone(tables: Tables, op: str) -> None:
    db = calls_run()
    db.execute("update collective set op = ? where sequence = 1", [op])
    found = tables(db)

    calls = [row for row in named(found, "calls") if row["sequence"] == 1]
    members = named(found, "call_members", op=op, group_id="g", sequence="1")

    assert [(row["members"], row["spread_ns"], row["last_rank"]) for row in calls] == [(1, None, None)] * 2
    assert [(row["rank"], row["lag_ns"], row["is_last"]) for row in members] == [(0, None, False), (1, None, False)]


@requires_shared
@pytest.mark.parametrize(
    "sample", ["torch_npu/text/level1", "torch_npu/db/level1", "kineto/nccl_parser_config", "kineto/memory_analysis"]
)
def test_every_table_answers_or_says_what_is_missing(sample: str) -> None:
    from ascend_sn.store import open_run

    with open_run(shared_path("data", *sample.split("/"))) as run:
        found = RunTables(Part(run))
        answers = {table.name: found.answer(table.name, {"count": "3"}) for table in PAGE_TABLES}
        for table in PAGE_TABLES:
            if table.keys and answers[table.name].row_count:
                assert found.answer(table.name, {"merged": "1"}).row_count
                first = answers[table.name].rows[0][0]
                assert found.answer(table.name, {"profile": str(first), "against": str(first)}).row_count

    for table in PAGE_TABLES:
        answer = answers[table.name]
        if answer.state == "collected":
            assert [column.name for column in answer.columns] == list(table.columns)
        else:
            assert answer.reason or answer.state == "missing"


@pytest.mark.parametrize(
    ("column", "unit"),
    [("dur_ns", "ns"), ("ts_ns", "at_ns"), ("bandwidth_bytes_per_s", "bytes_per_s"), ("size_bytes", "bytes"),
     ("share_ratio", "ratio"), ("calls", "count"), ("profile_id", "id"), ("group_id", "text"), ("rank", "number"),
     ("is_leak", "flag"), ("flops_per_s", "flops_per_s"), ("name", "text")],
)  # fmt: skip
def test_the_name_of_a_column_tells_its_unit(column: str, unit: str) -> None:
    assert unit_of(column) == unit


HOSTILE = ["=1+1", "+cmd", "-2", "@x", "\x1b[31mred", '"quoted",\n<b>', "plain"]


def hostile_client(tables: Tables) -> TestClient:
    db = empty_tables()
    add_rank(db, 0)
    with together(db):
        for number, name in enumerate(HOSTILE):
            insert(db, "kernel", profile_id=0, rank=0, kernel_id=number, name=name, kind="compute", ts_ns=number,
                   dur_ns=100 - number)  # fmt: skip
    found = tables(db)
    return TestClient(Starlette(routes=table_routes(lambda _run: found)))


def test_a_download_holds_no_formula(tables: Tables) -> None:
    with hostile_client(tables) as client:
        reply = client.get("/runs/a/tables/kernels", params={"format": "csv"})

    lines = list(csv.DictReader(io.StringIO(reply.content.decode("utf-8-sig"))))
    assert [line["name"] for line in lines] == [
        "'=1+1", "'+cmd", "'-2", "'@x", "\\x1b[31mred", '"quoted",\\x0a<b>', "plain",
    ]  # fmt: skip
    assert reply.headers["content-disposition"] == 'attachment; filename="kernels.csv"'


def test_names_come_over_the_wire_as_they_are(tables: Tables) -> None:
    with hostile_client(tables) as client:
        reply = client.get("/runs/a/tables/kernels", params={"count": "2"}).json()

    name = [column["name"] for column in reply["columns"]].index("name")
    assert [row[name] for row in reply["rows"]] == ["=1+1", "+cmd"]


def test_ranks_of_a_communicator_stand_in_the_order_of_their_numbers(tables: Tables) -> None:
    db = timeline(DRAWING)
    for rank in (10, 2, 0):
        insert(db, "comm_group_member", profile_id=0, group_id="g", kind="dp", member_rank=rank, group_size=3)

    (row,) = named(tables(db), "parallel_groups")

    assert row["member_ranks"] == "0, 2, 10"


def test_tasks_that_move_nothing_have_no_rate(tables: Tables) -> None:
    db = timeline(DRAWING)
    for name, size in (("Notify_Wait", 0), ("Reduce_Inline", 30)):
        insert(db, "comm_task", profile_id=0, rank=0, name=name, dur_ns=10, ts_ns=0, size_bytes=size)

    rows = named(tables(db), "transfers")

    assert {row["name"]: row["bandwidth_bytes_per_s"] for row in rows} == {"Notify_Wait": None, "Reduce_Inline": 3e9}
