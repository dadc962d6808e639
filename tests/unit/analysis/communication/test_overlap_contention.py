from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ascend_sn.analysis.communication.overlap_contention import communication_overlap, contention
from ascend_sn.analysis.steps.step_breakdown import step_breakdown
from ascend_sn.store import open_run
from tests.shared_data import requires_shared, shared_path
from tests.timeline import timeline
from tests.unit.analysis.traces import Row, captures, collective, dicts, kernel, numbered, results


def test_kernels_of_10_that_take_12_under_a_collective_are_slowed_by_a_fifth() -> None:
    rows = numbered([
        kernel(0, 10, "MatMul"), kernel(10, 10, "MatMul"), kernel(100, 12, "MatMul"), kernel(112, 12, "MatMul"),
        kernel(95, 40, "R", "communication", stream="2"),
    ])  # fmt: skip

    (row,) = results(contention, rows)

    assert (row["kind"], row["op_type"], row["alone_count"], row["overlapped_count"]) == ("compute", "MatMul", 2, 2)
    assert (row["alone_ns"], row["overlapped_ns"], row["slowdown_ratio"], row["excess_ns"]) == (10, 12, 1.2, 4)


def test_a_kernel_under_a_collective_for_less_than_half_of_its_time_is_neither() -> None:
    rows = numbered([
        kernel(0, 10, "MatMul"), kernel(100, 12, "MatMul"), kernel(107, 40, "R", "communication", stream="2"),
    ])  # fmt: skip

    assert results(contention, rows) == []


def test_other_shapes_are_other_work() -> None:
    rows = numbered([
        kernel(0, 10, "MatMul", input_shapes="1"), kernel(100, 12, "MatMul", input_shapes="2"),
        kernel(95, 40, "R", "communication", stream="2"),
    ])  # fmt: skip

    assert results(contention, rows) == []


def test_collectives_are_compared_by_their_transit() -> None:
    recorded: dict[str, Any] = {"size_bytes": 8, "method": "recorded"}
    rows = numbered([
        kernel(0, 50, "A"), kernel(0, 40, "R", "communication", stream="2"),
        kernel(100, 40, "R", "communication", stream="2"),
        collective(0, 40, transit_ns=15, **recorded), collective(100, 40, transit_ns=10, **recorded),
    ])  # fmt: skip

    (row,) = (row for row in results(contention, rows) if row["kind"] == "communication")

    assert (row["op_type"], row["alone_ns"], row["overlapped_ns"], row["slowdown_ratio"]) == ("allreduce", 10, 15, 1.5)


def test_the_overlap_ratio_is_of_the_communication() -> None:
    db = timeline(
        """
        r0 step |1111111111|
        r0 s1   |AAAA......|
        r0 s2   |..RRRR....|
        """,
        kinds={"R": "communication"},
    )

    (row,) = dicts(communication_overlap(db))

    assert (row["communication_ns"], row["overlapped_ns"], row["overlap_ratio"], row["window_ns"]) == (4, 2, 0.5, 10)


@settings(max_examples=10, deadline=None)
@given(captures())
def test_overlapped_and_exposed_are_the_communication(rows: list[Row]) -> None:
    windows = [row for row in results(step_breakdown, rows) if row["communication_ns"]]

    for row, window in zip(results(communication_overlap, rows), windows, strict=True):
        assert row["overlapped_ns"] + row["exposed_comm_ns"] == row["communication_ns"] == window["communication_ns"]


@requires_shared
def test_on_the_sample_4_029_of_105_992_us_are_overlapped() -> None:
    path = shared_path("data", "torch_npu", "text", "level1")
    with open_run(path) as run:
        row = dicts(communication_overlap(run.db))[0]

    assert row["overlap_ratio"] == pytest.approx(4028.675 / 105991.878, rel=1e-4)
