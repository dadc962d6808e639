from __future__ import annotations

from hypothesis import given, settings

from ascend_sn.analysis.host.launch_queue import host_bound, launch_queue
from ascend_sn.analysis.steps.step_breakdown import step_breakdown
from tests.unit.analysis.traces import Row, call, captures, ht1, kernel, numbered, operator, results, step


def test_launches_at_0_and_1_with_starts_at_2_and_5_queue_two_at_most() -> None:
    rows = numbered([call("launch", 0, 1), call("launch", 1, 1), kernel(2, 1, host_call_id=0),
                     kernel(5, 1, host_call_id=1)])  # fmt: skip

    (row,) = results(launch_queue, rows)

    assert (row["max_length"], row["launched"], row["span_ns"]) == (2, 2, 5)
    assert row["mean_length"] == 6 / 5  # waits 2 + 4 over 5
    assert row["empty_ratio"] == 0.0


def test_a_queue_is_empty_between_a_start_and_the_next_launch() -> None:
    rows = numbered([call("launch", 0, 1), call("launch", 6, 1), kernel(2, 1, host_call_id=0),
                     kernel(8, 1, host_call_id=1)])  # fmt: skip

    (row,) = results(launch_queue, rows)

    assert (row["max_length"], row["empty_ratio"]) == (1, 0.5)


def test_streams_have_queues_of_their_own() -> None:
    rows = numbered([operator("a", 0, 1), operator("b", 1, 1), kernel(2, 1, operator_id=0),
                     kernel(5, 1, stream="2", operator_id=1), kernel(7, 1, stream="3")])  # fmt: skip

    found = results(launch_queue, rows)

    assert [(row["stream"], row["max_length"], row["span_ns"]) for row in found] == [("1", 1, 2), ("2", 1, 4)]


def test_hand_trace_starves_for_30_of_its_35_free() -> None:
    (row,) = results(host_bound, ht1())

    assert (row["free_ns"], row["starved_ns"], row["host_bound"]) == (35, 30, True)
    assert row["launch_known_ratio"] == 4 / 5


def test_a_device_that_is_free_behind_a_full_queue_is_not_host_bound() -> None:
    rows = numbered([step(0, 20), call("launch", 0, 1), call("launch", 1, 1), kernel(2, 4, host_call_id=0),
                     kernel(12, 8, host_call_id=1)])  # fmt: skip

    (row,) = results(host_bound, rows)

    assert (row["free_ns"], row["starved_ns"], row["host_bound"]) == (8, 0, False)


@settings(max_examples=10, deadline=None)
@given(captures())
def test_starved_time_is_free_time(rows: list[Row]) -> None:
    free = {row["step_id"]: row["free_ns"] for row in results(step_breakdown, rows)}

    for row in results(host_bound, rows):
        assert row["free_ns"] == free[row["step_id"]]
        assert 0 <= row["starved_ns"] <= row["free_ns"]
