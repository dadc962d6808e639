from __future__ import annotations

from hypothesis import given, settings

from ascend_sn.analysis.kernels.utilisation_map import utilisation_map
from tests.timeline import timeline
from tests.unit.analysis.traces import Row, captures, dicts, results


def test_busy_for_the_first_half_of_ten_chunks_is_five_full_ones_and_one_low_run() -> None:
    db = timeline(f"""
        r0 step |{"1" * 100}|
        r0 s1   |{"A" * 50}|
    """)

    rows = dicts(utilisation_map(db, 10))

    assert [row["busy_ratio"] for row in rows] == [1.0] * 5 + [0.0] * 5
    assert [row["low_run"] for row in rows] == [None] * 5 + [0] * 5
    assert [(row["ts_ns"], row["dur_ns"]) for row in rows[:2]] == [(0, 10), (10, 10)]


def test_low_chunks_that_do_not_touch_are_different_runs() -> None:
    db = timeline("""
        r0 step |11111111|
        r0 s1   |A..AAA.A|
    """)

    rows = dicts(utilisation_map(db, 4))

    assert [row["busy_ns"] for row in rows] == [1, 1, 2, 1]
    assert [row["low_run"] for row in rows] == [None, None, None, None]
    assert [row["low_run"] for row in dicts(utilisation_map(db, 8))] == [None, 0, 0, None, None, None, 1, None]


def test_communication_is_busy_but_no_compute_and_time_on_two_streams_counts_once() -> None:
    db = timeline(
        """
        r0 step |1111|
        r0 s1   |AA..|
        r0 s2   |.RR.|
        """,
        kinds={"R": "communication"},
    )

    (row,) = dicts(utilisation_map(db, 1))

    assert (row["busy_ns"], row["compute_ns"], row["busy_ratio"]) == (3, 2, 0.75)


@settings(max_examples=10, deadline=None)
@given(captures())
def test_the_chunks_cover_the_capture_without_gaps(rows: list[Row]) -> None:
    chunks = results(utilisation_map, rows)

    assert all(left["ts_ns"] + left["dur_ns"] == right["ts_ns"] for left, right in zip(chunks, chunks[1:]))  # noqa: B905, RUF007
    assert all(0 <= row["compute_ns"] <= row["busy_ns"] <= row["dur_ns"] for row in chunks)
