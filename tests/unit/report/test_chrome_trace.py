"""A run as a Chrome trace: every slice once, none crossing another, ranks on one clock."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest
from duckdb import DuckDBPyConnection
from hypothesis import given, strategies as st

import ascend_sn
from ascend_sn.report.chrome_trace.export import Window, chrome_trace
from ascend_sn.report.chrome_trace.lanes import Nesting
from ascend_sn.store import Run
from tests.shared_data import requires_shared, shared_path
from tests.timeline import empty_tables, insert, timeline, together

CATEGORIES = {
    "step": "steps",
    "span": "marks",
    "operator": "operators",
    "host_call": "calls",
    "kernel": "kernels",
    "collective": "collectives",
    "comm_task": "tasks",
}


def exported(db: DuckDBPyConnection, window: Window | None = None) -> dict[str, Any]:
    text = "".join(chrome_trace(cast(Run, SimpleNamespace(db=db, row_count=0)), window))
    return cast(dict[str, Any], json.loads(text, parse_float=Decimal))


def slices(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def lane_names(trace: dict[str, Any]) -> dict[tuple[int, int], str]:
    named = [event for event in trace["traceEvents"] if event["name"] == "thread_name"]
    return {(event["pid"], event["tid"]): event["args"]["name"] for event in named}


def crossing(events: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    """Pairs of one lane that overlap without one holding the other."""
    lanes: dict[tuple[int, int], list[tuple[Decimal, Decimal]]] = {}
    for event in events:
        lanes.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    return [
        (one, other)
        for lane in lanes.values()
        for one, other in itertools.combinations(sorted(lane), 2)
        if one[0] < other[0] < one[1] < other[1]
    ]


def test_a_drawn_run_slice_by_slice() -> None:
    trace = exported(
        timeline("""
            r0 step |11112222|
            r0 host |ff..bb..|
            r0 s1   |.AA..B..|
        """)
    )

    names = lane_names(trace)
    found = [(names[e["pid"], e["tid"]], e["name"], e["ts"], e["dur"]) for e in slices(trace)]
    ns = Decimal("0.001")
    assert found == [
        ("Steps", "step 1", 0 * ns, 4 * ns),
        ("Steps", "step 2", 4 * ns, 4 * ns),
        ("Operators (thread host)", found[2][1], 0 * ns, 2 * ns),
        ("Operators (thread host)", found[3][1], 4 * ns, 2 * ns),
        ("Device 0, stream 1", "A", 1 * ns, 2 * ns),
        ("Device 0, stream 1", "B", 5 * ns, 1 * ns),
    ]
    processes = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "process_name"]
    assert processes == ["rank 0, npu", "rank 0, host"]


def test_only_the_chosen_steps_and_ranks() -> None:
    db = timeline("""
        r0 step |11112222|
        r0 s1   |AA.CC.B.|
        r1 step |11112222|
        r1 s1   |AA...BB.|
    """)

    first = exported(db, Window(steps=(1, 1)))
    only = exported(db, Window(ranks={1}))

    # C begins in step 1 and ends in step 2; step 2 touches the end of step 1.
    assert Counter(e["name"] for e in slices(first) if e["cat"] == "kernels") == {"A": 2, "C": 1}
    assert Counter(e["name"] for e in slices(only)) == {"step 1": 1, "step 2": 1, "A": 1, "B": 1}


def test_times_are_exact_beyond_the_precision_of_a_double() -> None:
    db = empty_tables()
    insert(db, "profile", profile_id=0, rank=0, format="drawing", source="r0", device_kind="npu")
    with together(db):
        for number, ts_ns in enumerate((1736408883573887921, 1736408883573887922, 1736408999999999999)):
            insert(
                db, "kernel", profile_id=0, rank=0, kernel_id=number, name="K", kind="compute", ts_ns=ts_ns, dur_ns=1
            )

    trace = exported(db)

    base = trace["baseTimeNanoseconds"]
    assert [base + int(e["ts"] * 1000) for e in slices(trace)] == [
        1736408883573887921,
        1736408883573887922,
        1736408999999999999,
    ]


def test_slices_that_cross_get_rows_of_their_own() -> None:
    db = empty_tables()
    insert(db, "profile", profile_id=0, rank=0, format="drawing", source="r0", device_kind="npu")
    with together(db):
        for number, (start, dur) in enumerate([(0, 10), (5, 10), (6, 2), (12, 9), (20, 1)]):
            insert(
                db,
                "operator",
                profile_id=0,
                rank=0,
                operator_id=number,
                thread="t",
                name=str(number),
                ts_ns=start,
                dur_ns=dur,
            )

    trace = exported(db)

    names = lane_names(trace)
    rows = {e["name"]: names[e["pid"], e["tid"]] for e in slices(trace)}
    one, two = "Operators (thread t)", "Operators (thread t), row 2"
    assert rows == {"0": one, "1": two, "2": one, "3": one, "4": one}
    assert crossing(slices(trace)) == []


def test_requests_inside_of_each_other_get_rows_of_their_own() -> None:
    db = empty_tables()
    insert(db, "profile", rank=0, source="r0")
    with together(db):
        for key, (start, dur) in enumerate(((0, 10), (2, 3))):
            insert(db, "span", span_id=key, name="served", domain="request", ts_ns=start, dur_ns=dur)

    trace = exported(db)

    assert sorted(lane_names(trace).values()) == ["Requests", "Requests, row 2"]


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 20)), max_size=25))
def test_rows_never_hold_slices_that_cross(drawn: list[tuple[int, int]]) -> None:
    nesting = Nesting()
    rows: dict[int, list[tuple[int, int]]] = {}
    for start, dur in sorted(drawn, key=lambda one: (one[0], -one[1])):
        rows.setdefault(nesting.row_of(start, start + dur), []).append((start, start + dur))
    for row in rows.values():
        for one, other in itertools.combinations(row, 2):
            assert not one[0] < other[0] < one[1] < other[1]


def test_arrows_go_from_the_launch_to_its_kernel() -> None:
    db = empty_tables()
    insert(db, "profile", profile_id=0, rank=0, format="drawing", source="r0", device_kind="npu")
    insert(db, "host_call", profile_id=0, rank=0, host_call_id=7, thread="t", name="launch", ts_ns=10, dur_ns=2)
    insert(
        db, "kernel", profile_id=0, rank=0, kernel_id=3, name="K", kind="compute", ts_ns=15, dur_ns=4, host_call_id=7
    )
    insert(db, "kernel", profile_id=0, rank=0, kernel_id=4, name="L", kind="compute", ts_ns=25, dur_ns=4)

    trace = exported(db)

    start, end = [e for e in trace["traceEvents"] if e["ph"] in "sf"]
    assert start["id"] == end["id"]
    assert isinstance(start["id"], str)
    assert (start["ph"], start["pid"], start["ts"]) == ("s", 1, 0)
    assert (end["ph"], end["pid"], end["ts"], end["bp"]) == ("f", 2, Decimal("0.005"), "e")


def test_hostile_names_stay_text() -> None:
    db = empty_tables()
    insert(db, "profile", profile_id=0, rank=0, format="drawing", source="r0", device_kind="npu")
    name = '"}]</script>\x1b[2J\u2028 中文'
    insert(db, "kernel", profile_id=0, rank=0, kernel_id=0, name=name, kind="compute", ts_ns=1, dur_ns=1)

    assert [e["name"] for e in slices(exported(db))] == [name]


def test_a_run_without_anything_is_an_empty_trace() -> None:
    assert exported(empty_tables())["traceEvents"] == []


@requires_shared
@pytest.mark.parametrize("name", ["torch_npu/text/level1", "torch_npu/db", "kineto/critical_path/cuda_event_sync"])
def test_no_slice_of_a_real_run_is_lost(name: str) -> None:
    with ascend_sn.open(shared_path("data", *name.split("/"))) as run:
        trace = json.loads("".join(chrome_trace(run)), parse_float=Decimal)
        expected = {
            table: run.sql(f"select count(*) from {table} where ts_ns is not null and dur_ns is not null").fetchall()[
                0
            ][0]
            for table in CATEGORIES
        }
        busy_ns = run.sql("select sum(dur_ns) from kernel where ts_ns is not null").fetchall()[0][0]

    found = slices(trace)
    assert Counter(e["cat"] for e in found) == {CATEGORIES[table]: count for table, count in expected.items() if count}
    assert sum(e["dur"] for e in found if e["cat"] == "kernels") * 1000 == busy_ns
    assert crossing(found) == []


@requires_shared
def test_ranks_are_moved_onto_one_clock() -> None:
    with ascend_sn.open(shared_path("data", "torch_npu", "text", "level1")) as run:
        trace = json.loads("".join(chrome_trace(run)), parse_float=Decimal)
        ends = run.sql("""
            select profile_id, max(ts_ns + dur_ns) from collective group by profile_id order by profile_id
        """).fetchall()

    first, second = trace["otherData"]["profiles"]
    apart_ns = (ends[1][1] - second["offset_ns"]) - ends[0][1]
    assert (first["method"], second["method"]) == ("reference", "collectives")
    assert abs(apart_ns) < abs(ends[1][1] - ends[0][1])
    exported_ends = [
        max((e["ts"] + e["dur"]) * 1000 for e in slices(trace) if e["cat"] == "collectives" and e["pid"] == pid)
        for pid in (2, 4)
    ]
    assert exported_ends[1] - exported_ends[0] == apart_ns
