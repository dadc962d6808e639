"""A25 as analyses: the path of HT1 slice by slice, its classes, and slack; answers counted by hand."""

from __future__ import annotations

import pytest

from ascend_sn import replay
from ascend_sn.analysis.registry import evaluate
from ascend_sn.errors import NotCollectedError
from tests.timeline import empty_tables
from tests.unit.replay.drawings import hand_trace
from tests.unit.report.drawn import DrawnRun, nothing, two_ranks


def test_the_path_of_the_hand_trace() -> None:
    rows = replay.path_slices(DrawnRun(hand_trace())).select("name, start_ns, dur_ns, table_name").fetchall()

    assert rows == [
        ("data", 0, 30, "operator"),
        ("launch", 30, 2, "host_call"),
        ("A", 35, 20, "kernel"),
        ("B", 55, 5, "kernel"),
        ("C", 60, 10, "kernel"),
        ("R", 70, 25, "kernel"),
        ("D", 95, 5, "kernel"),
    ]


def test_the_classes_of_the_hand_trace_are_the_step() -> None:
    rows = replay.path_classes(DrawnRun(hand_trace())).fetchall()

    assert rows == [
        ("compute", 40, 0.4),
        ("data_loading", 30, 0.3),
        ("communication", 25, 0.25),
        ("launch", 5, 0.05),  # the call, and 3 of latency
    ]


def test_slack_of_the_hand_trace() -> None:
    found = replay.operator_slack(DrawnRun(hand_trace()))
    rows = {row[0]: row[2:] for row in found.fetchall()}

    # Of four calls of 2 ns one is critical.
    assert rows["launch"] == (8, 2, 0.02, 0)
    assert rows["R"] == (25, 25, 0.25, 0)


def test_each_slice_names_its_row_and_rank() -> None:
    run = two_ranks()

    rows = replay.path_slices(run).fetchall()

    assert rows
    for profile_id, rank, _, _, _, name, table, row_id in rows:
        if table == "kernel":
            (known,) = run.db.execute(
                "select name from kernel where profile_id = ? and kernel_id = ?", [profile_id, row_id]
            ).fetchall()
            assert (known[0], profile_id) == (name, rank)


def test_no_rows_in_gives_no_rows_out() -> None:
    db = empty_tables()

    assert [evaluate(analysis, db).fetchall() for analysis in replay.ANALYSES] == [[], [], []]


@pytest.mark.parametrize("analyse", [replay.path_classes, replay.path_slices, replay.operator_slack])
def test_where_nothing_can_be_replayed_it_is_said(analyse: type) -> None:
    with pytest.raises(NotCollectedError, match="nothing recorded"):
        analyse(nothing())
