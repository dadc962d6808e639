from __future__ import annotations

from hypothesis import given, settings

from ascend_sn.analysis.host.free_time_causes import CAUSES, SILENT_HOST_NS, free_time_causes
from ascend_sn.analysis.steps.step_breakdown import step_breakdown
from tests.unit.analysis.traces import (
    Row,
    call,
    captures,
    ht1,
    kernel,
    numbered,
    operator,
    results,
    step,
)


def causes(rows: list[Row]) -> dict[str, int]:
    return {row["cause"]: row["cause_ns"] for row in results(free_time_causes, numbered(rows))}


def test_hand_trace_waits_30_for_data_2_in_the_launch_and_3_after_it() -> None:
    rows = results(free_time_causes, ht1())

    assert [(row["cause"], row["cause_ns"]) for row in rows] == [
        ("data_wait", 30),
        ("launch_latency", 3),
        ("launch_call", 2),
    ]
    assert {(row["free_ns"], row["window_ns"], row["step"], row["scope"]) for row in rows} == {(35, 100, 7, "step")}


def test_the_stretch_before_the_operator_is_python_and_its_own_work_is_dispatch() -> None:
    found = causes([step(0, 30), operator("aten::mm", 10, 8), call("launch", 14, 3),
                    kernel(20, 10, host_call_id=0, operator_id=0)])  # fmt: skip

    assert found == {"host_python": 10, "dispatch": 4, "launch_call": 3, "launch_latency": 3}


def test_without_host_calls_the_operator_stands_for_the_launch() -> None:
    found = causes([step(0, 30), operator("aten::mm", 10, 8), kernel(20, 10, operator_id=0)])

    assert found == {"host_python": 10, "dispatch": 8, "launch_latency": 2}


def test_recorded_host_work_takes_the_time_before_python_and_launch() -> None:
    found = causes([
        step(0, 60), call("GC", 0, 5, level="gc"), call("aclrtMalloc", 5, 5), call("aclopCompileAndExecute", 10, 10),
        call("aclrtMemcpy", 25, 5), call("aclrtSynchronizeStream", 30, 5), call("launch", 40, 10),
        kernel(50, 10, host_call_id=5),
    ])  # fmt: skip

    assert found == {
        "gc": 5, "allocator": 5, "compile": 10, "copy_call": 5, "host_sync": 5, "launch_call": 10, "host_python": 10,
    }  # fmt: skip


def test_what_torch_compile_does_is_compilation_and_no_silence() -> None:
    quiet = SILENT_HOST_NS
    found = causes([
        step(0, quiet + 20), operator("entire_frame_compile", 4, quiet + 4),
        operator("_compile.compile_inner (dynamo_timed)", 5, quiet, depth=1),
        call("launch", quiet + 10, 5), kernel(quiet + 15, 5, host_call_id=0),
    ])  # fmt: skip

    assert found == {"compile": quiet, "host_python": 10, "launch_call": 5}


def test_a_wait_on_the_stream_of_the_next_kernel_is_an_event_wait_and_one_elsewhere_is_not() -> None:
    found = causes([
        step(0, 30), call("launch", 0, 2), kernel(20, 10, host_call_id=0),
        kernel(5, 8, "EVENT_WAIT", "sync"), kernel(13, 4, "EVENT_WAIT", "sync", stream="2"),
    ])  # fmt: skip

    assert found == {"launch_call": 2, "event_wait": 8, "launch_latency": 10}


def test_a_launch_recorded_after_the_start_leaves_the_whole_stretch_to_the_host() -> None:
    assert causes([step(0, 20), call("launch", 15, 2), kernel(10, 10, host_call_id=0)]) == {"host_python": 10}


def test_a_kernel_nobody_is_known_to_have_launched_leaves_unknown() -> None:
    assert causes([step(0, 20), kernel(10, 10)]) == {"unknown": 10}


def test_behind_the_last_kernel_the_host_has_asked_for_nothing() -> None:
    assert causes([step(0, 30), call("launch", 0, 1), kernel(1, 9, host_call_id=0)]) == {
        "launch_call": 1,
        "host_python": 20,
    }


def test_a_long_silence_of_the_host_is_guessed_to_be_a_collection_unless_collections_were_recorded() -> None:
    quiet = SILENT_HOST_NS
    rows = [step(0, quiet + 20), call("launch", 0, 5), kernel(5, 5, host_call_id=0), call("launch", quiet + 15, 1),
            kernel(quiet + 16, 4, host_call_id=1)]  # fmt: skip

    assert causes(rows) == {"launch_call": 6, "gc_guess": quiet + 5}
    assert causes([*rows, call("GC", 1, 1, level="gc")]) == {"launch_call": 5, "gc": 1, "host_python": quiet + 5}
    # The recorder says so even where none was long enough to have a row.
    assert causes([*rows, ("metric", {"name": "profiler.collections_ns", "ts_ns": 0, "value": 0.0})]) == {
        "launch_call": 6,
        "host_python": quiet + 5,
    }


def test_data_work_of_a_thread_that_launches_nothing_is_no_wait() -> None:
    found = causes([step(0, 20), operator("load", 0, 10, thread="worker", phase="data"), operator("aten::mm", 9, 1),
                    kernel(10, 10, operator_id=1)])  # fmt: skip

    assert found == {"host_python": 9, "dispatch": 1}


@settings(max_examples=20, deadline=None)
@given(captures())
def test_the_causes_sum_to_the_free_time_of_the_step_breakdown(rows: list[Row]) -> None:
    found = results(free_time_causes, rows)

    assert {row["cause"] for row in found} <= set(CAUSES)
    for window in results(step_breakdown, rows):
        parts = [row for row in found if row["step_id"] == window["step_id"]]
        assert sum(row["cause_ns"] for row in parts) == window["free_ns"]
        assert all(row["free_ns"] == window["free_ns"] for row in parts)
