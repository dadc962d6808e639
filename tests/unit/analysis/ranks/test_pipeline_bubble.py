from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.ranks.pipeline_bubble import ANALYSIS
from tests.unit.analysis.traces import Row, collective, kernel, numbered, results, step


def stage(number: int, *rows: Row, count: int = 4) -> list[Row]:
    member = {"kind": "pp", "group_id": "pp", "group_size": count, "size_is_exact": True}
    group: Row = ("comm_group_member", {**member, "group_rank": number, "member_rank": number})
    return numbered([(table, {"profile_id": number, **values}) for table, values in (step(0, 100), group, *rows)])


def receive(ts_ns: int, dur_ns: int, op: str = "receive", **more: Any) -> list[Row]:
    return [kernel(ts_ns, dur_ns, op, "communication", stream="9", step_id=0), collective(ts_ns, dur_ns, op, **more)]


def found(*parts: list[Row]) -> list[dict[str, Any]]:
    return results(ANALYSIS, [row for part in parts for row in part])


def test_four_stages_with_twelve_micro_batches_idle_a_fifth_at_best() -> None:
    # the first stage receives its twelve gradients: 12 x 2 ns, of which the fifth call is hidden by compute
    calls = [row for at in range(12) for row in receive(50 + 2 * at, 2)]

    (row,) = found(stage(0, kernel(0, 50, step_id=0), kernel(58, 2, step_id=0), kernel(80, 20, step_id=0), *calls))

    assert (row["micro_batches"], row["micro_batch_source"], row["stage_count"]) == (12, "receives", 4)
    assert row["ideal_ratio"] == pytest.approx(0.2)
    assert (row["receive_ns"], row["bubble_ns"], row["bubble_ratio"]) == (24, 22, 0.22)
    assert row["excess_ratio"] == pytest.approx(0.02)


def test_stages_in_the_middle_receive_twice_per_micro_batch() -> None:
    calls = [row for at in range(8) for row in receive(10 + 2 * at, 1)]

    (row,) = found(stage(1, kernel(0, 10, step_id=0), *calls))

    assert (row["micro_batches"], row["ideal_ratio"]) == (4, pytest.approx(3 / 7))


@pytest.mark.parametrize("op", ["batchsendrecv", "sendrecv"])
def test_a_bubble_is_counted_when_only_batched_calls_exist(op: str) -> None:
    (row,) = found(stage(0, kernel(0, 60, step_id=0), *receive(60, 40, op)))

    assert (row["bubble_ns"], row["bubble_ratio"], row["batched_per_step"]) == (40, 0.4, 1)
    assert (row["micro_batches"], row["ideal_ratio"], row["excess_ratio"]) == (None, None, None)


def test_time_in_which_bytes_move_is_no_bubble() -> None:
    (row,) = found(stage(0, kernel(0, 60, step_id=0), *receive(60, 40, transit_ns=10, wait_ns=30, method="recorded")))

    assert (row["receive_ns"], row["bubble_ns"]) == (40, 30)


def test_one_stage_that_knows_the_micro_batches_tells_the_others() -> None:
    logged: Row = ("metric", {"name": "micro_batches", "step": 1, "ts_ns": 5, "value": 8.0})

    first, last = found(
        stage(0, kernel(0, 60, step_id=0), *receive(60, 40, "batchsendrecv"), logged),
        stage(3, kernel(0, 60, step_id=0), *receive(60, 10, "batchsendrecv")),
    )

    assert [(row["micro_batches"], row["micro_batch_source"]) for row in (first, last)] == [
        (8, "metric"),
        (8, "other stages"),
    ]
    assert last["ideal_ratio"] == pytest.approx(3 / 11)
    assert last["excess_ratio"] == pytest.approx(0.1 - 3 / 11)


def test_without_receives_there_is_no_row() -> None:
    assert found(stage(0, kernel(0, 60, step_id=0), *receive(60, 40, "allreduce"))) == []
