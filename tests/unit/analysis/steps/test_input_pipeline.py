"""A06: does the step wait for its data?"""

from __future__ import annotations

import pytest
from duckdb import DuckDBPyConnection

from tests.timeline import empty_tables, insert, timeline, together
from tests.unit.analysis.rows import profile, results

MS = 1_000_000


def steps(*placed: tuple[int, int], data: tuple[tuple[int, int], ...] = ()) -> DuckDBPyConnection:
    """Marked steps and data ranges on the host, as (start, end) in ms."""
    db = empty_tables()
    profile(db, 0)
    with together(db):
        for number, (start, end) in enumerate(placed):
            insert(
                db,
                "step",
                rank=0,
                step_id=number,
                step=number,
                ts_ns=start * MS,
                dur_ns=(end - start) * MS,
                origin="mark",
            )
    with together(db):
        for number, (start, end) in enumerate(data):
            own = {"operator_id": number, "thread": "main", "name": "load", "phase": "data"}
            insert(db, "operator", rank=0, ts_ns=start * MS, dur_ns=(end - start) * MS, **own)
    return db


@pytest.mark.parametrize(
    ("data", "compute", "bottleneck"),
    [(45, 55, "data"), (12, 55, "compute"), (8, 55, "compute"), (44, 55, "data"), (43, 55, "compute")],
)
def test_data_is_the_bottleneck_from_four_fifths_of_the_compute_time_on(
    data: int, compute: int, bottleneck: str
) -> None:
    db = steps((0, data + compute), data=((0, data),))

    (found,) = results("input_pipeline", db)

    assert found["bottleneck"] == bottleneck
    assert (found["data_ns"], found["compute_ns"], found["window_ns"]) == (
        data * MS,
        compute * MS,
        (data + compute) * MS,
    )


@pytest.mark.parametrize(
    ("data", "grade"),
    [(0, None), (1, "none"), (4, "none"), (5, "moderate"), (19, "moderate"), (20, "high"), (90, "high")],
)
def test_the_ladder_is_5_and_20_percent(data: int, grade: str | None) -> None:
    db = steps((0, 100), data=((0, data),) if data else ())

    assert [row["grade"] for row in results("input_pipeline", db)] == ([] if grade is None else [grade])


def test_figures_are_means_over_the_steps() -> None:
    db = steps((0, 100), (100, 300), data=((0, 20), (10, 30), (100, 140), (290, 320)))

    (found,) = results("input_pipeline", db)

    # 30 in the first step, 40 and the 10 before its end in the second.
    assert (found["steps"], found["data_ns"], found["window_ns"], found["compute_ns"]) == (
        2,
        40 * MS,
        150 * MS,
        110 * MS,
    )
    assert (found["data_share_ratio"], found["source"]) == (80 / 300, "ranges")


def test_logged_data_times_are_seconds_and_are_added() -> None:
    db = steps((0, 100), (100, 200), data=((0, 10),))
    for moment, seconds in ((50, 0.03), (150, 0.04), (900, 5.0)):
        insert(db, "metric", rank=0, name="data_time", ts_ns=moment * MS, value=seconds)
    insert(db, "metric", rank=0, name="loss", ts_ns=50 * MS, value=7.0)

    (found,) = results("input_pipeline", db)

    assert (found["data_ns"], found["data_share_ratio"], found["source"]) == (40 * MS, 0.4, "ranges and logged")


def test_without_marks_logged_times_stand_against_the_recorded_phases() -> None:
    db = empty_tables()
    profile(db, 0)
    with together(db):
        for number, (phase, start, end) in enumerate([("forward", 0, 30), ("backward", 30, 55), ("data", 55, 60)]):
            own = {"operator_id": number, "thread": "main", "name": phase, "phase": phase}
            insert(db, "operator", rank=0, ts_ns=start * MS, dur_ns=(end - start) * MS, **own)
    insert(db, "metric", rank=0, name="data_time", ts_ns=70 * MS, value=0.045)

    (found,) = results("input_pipeline", db)

    assert (found["data_ns"], found["compute_ns"], found["bottleneck"]) == (45 * MS, 55 * MS, "data")
    assert found["source"] == "logged"


def test_inferred_steps_are_no_measure() -> None:
    db = steps((0, 100), data=((0, 50),))
    db.execute("update step set origin = 'inferred'")

    assert results("input_pipeline", db) == []


def test_a_profile_that_recorded_no_data_time_has_no_row() -> None:
    db = timeline("r0 step |1111|\n r0 host |ffff|\n r1 step |1111|\n r1 host |dfff|")

    assert [(row["rank"], row["data_share_ratio"]) for row in results("input_pipeline", db)] == [(1, 0.25)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -5.0, 1e300])
def test_a_logged_time_that_is_none_is_left_out(value: float) -> None:
    db = steps((0, 100))
    with together(db):
        for at, logged in enumerate((0.02, value)):
            insert(db, "metric", rank=0, name="data_time", ts_ns=(10 + at) * MS, value=logged)

    (found,) = results("input_pipeline", db)

    assert found["data_ns"] == 20 * MS
