"""Copies by direction: how long, how much of it exposed, how fast."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings

from ascend_sn.analysis.kernels.copies import ANALYSIS
from ascend_sn.analysis.steps.step_breakdown import step_breakdown
from tests.timeline import timeline
from tests.unit.analysis.rows import results
from tests.unit.analysis.traces import Row, captures, check_laws, kernel, numbered, results as of_rows, step


def copy(ts_ns: int, dur_ns: int, direction: str | None, **more: Any) -> Row:
    return kernel(ts_ns, dur_ns, kind="copy", stream="3", copy_direction=direction, **more)


def test_a_copy_is_exposed_where_neither_compute_nor_communication_runs() -> None:
    db = timeline(
        """
        r0 step |1111111111|
        r0 s1   |AAA.......|
        r0 s2   |....CC....|
        r0 s3   |.HHHHHHH..|
        """,
        kinds={"C": "communication", "H": "copy"},
    )
    db.execute("update kernel set copy_direction = 'h2d', size_bytes = 14 where name = 'H'")

    (row,) = results("copies", db)

    assert row == {
        "profile_id": 0,
        "rank": 0,
        "direction": "h2d",
        "host_memory": None,
        "calls": 1,
        "total_ns": 7,
        "mean_ns": 7,
        "exposed_ns": 3,
        "overlapped_ns": 4,
        "window_ns": 10,
        "exposed_share_ratio": 0.3,
        "size_bytes": 14,
        "sized_calls": 1,
        "bandwidth_bytes_per_s": 2e9,
    }


def test_directions_and_kinds_of_host_memory_are_told_apart() -> None:
    rows = [
        step(0, 100),
        copy(0, 10, "h2d", name="Memcpy HtoD (Pageable -> Device)", size_bytes=100),
        copy(10, 10, "h2d", name="Memcpy HtoD (Pinned -> Device)", size_bytes=400),
        copy(20, 5, "d2h", name="Memcpy DtoH (Device -> Pageable)"),
        copy(30, 1, None, name="MEMCPY_ASYNC"),
        copy(40, 30, "d2d", name="Memcpy DtoD"),
    ]

    found = of_rows(ANALYSIS, numbered(rows))

    assert [(row["direction"], row["host_memory"], row["total_ns"]) for row in found] == [
        ("d2d", None, 30),
        ("h2d", "pageable", 10),
        ("h2d", "pinned", 10),
        ("d2h", "pageable", 5),
        (None, None, 1),
    ]
    assert [row["bandwidth_bytes_per_s"] for row in found[1:4]] == [10e9, 40e9, None]


def test_the_rate_counts_only_copies_whose_size_is_known() -> None:
    rows = [step(0, 100), copy(0, 10, "h2d", size_bytes=100), copy(20, 30, "h2d")]

    (row,) = of_rows(ANALYSIS, numbered(rows))

    assert (row["calls"], row["sized_calls"], row["size_bytes"], row["bandwidth_bytes_per_s"]) == (2, 1, 100, 10e9)


def test_copies_that_run_at_once_count_once_beside_the_step() -> None:
    rows = [step(0, 100), copy(0, 10, "h2d"), copy(5, 10, "h2d", device_id=0)]

    (row,) = of_rows(ANALYSIS, numbered(rows))

    assert (row["total_ns"], row["exposed_ns"]) == (20, 15)


@settings(max_examples=20)
@given(captures(0), captures(1))
def test_laws(first: list[Row], second: list[Row]) -> None:
    check_laws(ANALYSIS, [first, second])


@settings(max_examples=20)
@given(captures())
def test_of_one_direction_the_exposed_time_is_that_of_the_breakdown(rows: list[Row]) -> None:
    found = of_rows(ANALYSIS, rows)
    told = [row for row in of_rows(step_breakdown, rows) if row["origin"] != "inferred"]

    assert sum(row["exposed_ns"] for row in found) == sum(row["exposed_copy_ns"] for row in told)
