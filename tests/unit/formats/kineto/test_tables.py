"""What each kind of event becomes, on traces drawn by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.derive import derive
from tests.unit.formats.kineto.traces import (
    PID,
    annotation,
    captured,
    kernel,
    launch,
    ledger,
    operator,
    rows,
    state,
    write,
)


def test_annotations_are_operators_and_step_marks_are_steps(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        annotation("ProfilerStep#8", 300, 100),
        annotation("ProfilerStep#7", 100, 150),
        annotation("Optimizer.step#SGD.step", 200, 40),
        operator("ProfilerStep#6", 0, 90),
        launch(1, 10),
    )

    capture = captured(path)

    assert rows(capture, "step", "step_id", "step", "ts_ns", "dur_ns", "origin") == [
        (0, 6, 0, 90_000, "mark"),
        (1, 7, 100_000, 150_000, "mark"),
        (2, 8, 300_000, 100_000, "mark"),
    ]
    assert rows(capture, "operator", "operator_id", "name", "thread") == [(0, "Optimizer.step#SGD.step", "1")]


@pytest.mark.parametrize("name", ["Step {}", "iteration {}", "Iteration#{}", "train_step: {}", "global_step={}"])
def test_ranges_that_the_training_draws_around_its_steps_mark_them(tmp_path: Path, name: str) -> None:
    path = write(
        tmp_path,
        annotation(name.format(11), 100, 50),
        annotation(name.format(13), 150, 60),
        annotation(name.format(15), 220, 20),
        launch(1, 110),
    )

    assert rows(captured(path), "step", "step", "ts_ns", "dur_ns", "origin") == [
        (11, 100_000, 50_000, "mark"),
        (13, 150_000, 60_000, "mark"),
        (15, 220_000, 20_000, "mark"),
    ]


@pytest.mark.parametrize(("outside", "steps"), [(1, [1, 2, 3]), (2, [])], ids=["4 of 5 inside", "4 of 6 inside"])
def test_the_trainings_own_ranges_are_steps_where_they_hold_most_launches(
    tmp_path: Path, outside: int, steps: list[int]
) -> None:
    marks = [annotation(f"step {number}", 100 * number, 50) for number in (1, 2, 3)]
    inside = [launch(number, moment) for number, moment in enumerate((100, 110, 210, 349))]
    path = write(tmp_path, *marks, *inside, *(launch(10 + number, 350 + number) for number in range(outside)))

    assert [number for (number,) in rows(captured(path), "step", "step")] == steps


def test_without_a_device_the_operators_say_whether_the_trainings_own_ranges_are_steps(tmp_path: Path) -> None:
    marks = [annotation(f"step {number}", 100 * number, 50) for number in (1, 2, 3)]
    held = write(tmp_path, *marks, operator("aten::mm", 110, 5), name="held.json")
    beside = write(tmp_path, *marks, operator("aten::mm", 160, 5), name="beside.json")

    assert rows(captured(held), "step", "step") == [(1,), (2,), (3,)]
    assert rows(captured(beside), "step", "step") == []


def test_one_range_with_a_number_does_not_hide_the_steps_that_the_rhythm_tells(tmp_path: Path) -> None:
    launches = [launch(number, 50 * number) for number in range(20)]
    kernels = [kernel(("gemm", "relu")[number % 2], 50 * number + 10, 20, correlation=number) for number in range(20)]
    capture = captured(write(tmp_path, annotation("iteration 5", 500, 100), *launches, *kernels))

    derive(capture)

    assert rows(capture, "step", "step", "ts_ns", "origin") == [
        (None, 10_000 + 100_000 * number, "inferred") for number in range(10)
    ]
    assert rows(capture, "operator", "name") == [("iteration 5",)]


@pytest.mark.parametrize(
    "ranges",
    [
        [("step 1", 0, 90), ("step 2", 10, 50), ("step 3", 95, 5)],
        [("step 1", 0, 10), ("step 1", 20, 10), ("step 1", 40, 10)],
        [("step 3", 0, 10), ("step 2", 20, 10), ("step 1", 40, 10)],
        [("stepper motor 3", 0, 10), ("micro step", 20, 10), ("my step 5", 40, 10)],
        [("iteration 5", 0, 10)],
        [("step 1", 0, 10), ("step 2", 20, 10)],
        [("step1", 0, 10), ("step2", 20, 10), ("step3", 40, 10)],
        [("step 1", 0, 10), ("iter 2", 20, 10), ("step 3", 40, 10)],
        [("step 1", 0, 10), ("step 2", 20, 10), ("step 4", 40, 10)],
    ],
    ids=[
        "inside each other",
        "twice the same",
        "backwards",
        "other words",
        "one",
        "two",
        "phases",
        "two names",
        "uneven",
    ],
)
def test_other_ranges_with_numbers_are_no_steps(tmp_path: Path, ranges: list[tuple[str, int, int]]) -> None:
    capture = captured(write(tmp_path, *(annotation(*range_) for range_ in ranges), launch(1, 5)))

    assert rows(capture, "step", "step") == []
    assert [name for (name,) in rows(capture, "operator", "name")] == [name for name, _, _ in ranges]


def test_the_profilers_marks_come_before_the_trainings_own(tmp_path: Path) -> None:
    path = write(tmp_path, annotation("ProfilerStep#7", 0, 100), annotation("step 3", 5, 90), launch(1, 10))

    capture = captured(path)

    assert rows(capture, "step", "step") == [(7,)]
    assert rows(capture, "operator", "name") == [("step 3",)]


def test_a_kernel_is_tied_to_its_launch_by_correlation(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        operator("aten::mm", 0, 20),
        launch(11, 2),
        launch(12, 10),
        kernel("late", 50, 5, correlation=12),
        kernel("early", 40, 5, correlation=11),
        kernel("alone", 60, 5, correlation=99),
    )

    capture = captured(path)
    derive(capture)

    assert rows(capture, "kernel", "name", "host_call_id", "operator_id") == [
        ("late", 1, 0),
        ("early", 0, 0),
        ("alone", None, None),
    ]


def test_without_correlation_the_launch_flow_ties_a_kernel(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        operator("cudaLaunchKernel", 3, 4, cat="cuda_runtime"),
        kernel("gemm", 20, 5),
        {"ph": "s", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": PID, "tid": 1, "ts": 3},
        {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 5, "pid": 0, "tid": 7, "ts": 20, "bp": "e"},
        {"ph": "f", "cat": "ac2g", "name": "ac2g", "id": 6, "pid": PID, "tid": 1, "ts": 3, "bp": "e"},
    )

    assert rows(captured(path), "kernel", "host_call_id") == [(0,)]


def test_external_ids_name_operators_only_where_they_are_no_correlations(tmp_path: Path) -> None:
    host = operator("aten::mm", 0, 20, **{"External id": 4})
    apart = write(tmp_path, host, kernel("k", 30, 5, **{"External id": 4, "correlation": 900}), name="apart.json")
    same = write(tmp_path, host, kernel("k", 30, 5, **{"External id": 4, "correlation": 4}), name="same.json")

    assert rows(captured(apart), "kernel", "operator_id") == [(0,)]
    assert rows(captured(same), "kernel", "operator_id") == [(None,)]


def test_copies_state_direction_and_bytes(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        kernel("Memcpy HtoD (Pageable -> Device)", 0, 5, cat="gpu_memcpy", bytes=4096),
        kernel("Memcpy DtoH (Device -> Pinned)", 10, 5, cat="gpu_memcpy", bytes=8),
        kernel("Memcpy PtoP (Device -> Device)", 20, 5, cat="gpu_memcpy"),
        kernel("Memset (Device)", 30, 5, cat="gpu_memset", bytes=512),
        kernel("gemm", 40, 5, bytes=77),
    )

    assert rows(captured(path), "kernel", "kind", "copy_direction", "size_bytes", "op_type") == [
        ("copy", "h2d", 4096, "Memcpy"),
        ("copy", "d2h", 8, "Memcpy"),
        ("copy", "d2d", None, "Memcpy"),
        ("other", None, 512, "Memset"),
        ("compute", None, None, None),
    ]


def test_inputs_are_parsed_once_for_each_signature(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        operator("aten::mm", 0, 5, **{"Input Dims": [[64, 32], [32, 8]], "Input type": ["float", "c10::Half"]}),
        operator(
            "aten::linear",
            10,
            5,
            **{"Input Dims": [[4, 2], [], [], []], "Input type": ["double", "", "float", "Scalar"]},
        ),
        operator("aten::cat", 20, 5, **{"Input Dims": [[[2, 2], [3]], []], "Input type": ["TensorList", "Scalar"]}),
        operator("aten::empty", 30, 5, **{"Input Dims": [[], []], "Input type": ["ScalarList", ""]}),
        operator("aten::none", 40, 5),
        operator("aten::broken", 50, 5, **{"Input Dims": "no list", "Input type": ["float"]}),
    )

    capture = captured(path)

    assert rows(capture, "operator", "input_shapes", "input_dtypes", "input_bytes") == [
        ("64,32;32,8", "float;c10::Half", 64 * 32 * 4 + 32 * 8 * 2),
        ("4,2;;", "double;;float", 4 * 2 * 8 + 4),
        ("2,2;3", "TensorList;TensorList", None),
        ("", "", 0),
        (None, None, None),
        (None, None, None),
    ]
    assert ledger(capture)["unreadable_shapes"] == 1
    assert state(capture, "operator", "input_shapes") == "collected"


def test_recorded_call_stacks_keep_their_frames(tmp_path: Path) -> None:
    stack = {"Call stack": "a.py(3): inner;b.py(9): outer", "Module Hierarchy": "Net.fc"}
    path = write(
        tmp_path, operator("aten::mm", 0, 5, **stack), operator("aten::add", 9, 5), operator("x", 20, 5, **stack)
    )

    capture = captured(path)

    assert rows(capture, "operator", "stack_id", "module") == [(0, "Net.fc"), (None, None), (0, "Net.fc")]
    assert rows(capture, "stack", "stack_id", "frames") == [(0, "a.py(3): inner\nb.py(9): outer")]


def test_python_frames_around_an_operator_are_its_stack(tmp_path: Path) -> None:
    frame = "python_function"
    path = write(
        tmp_path,
        operator("main.py(1): main", 0, 100, cat=frame),
        operator("nn.Module: Net_0", 10, 50, cat=frame),
        operator("nn.Module: Linear_1", 20, 20, cat=frame),
        operator("aten::addmm", 25, 5),
        operator("aten::sum", 70, 5),
        operator("aten::mul", 25, 5, tid=2),
    )

    capture = captured(path)

    frames = dict(rows(capture, "stack", "stack_id", "frames"))
    found = [(frames.get(stack), module) for stack, module in rows(capture, "operator", "stack_id", "module")]
    assert found == [
        ("nn.Module: Linear_1\nnn.Module: Net_0\nmain.py(1): main", "Net_0.Linear_1"),
        ("main.py(1): main", None),
        (None, None),
    ]
    assert rows(capture, "span", "domain") == [("python",)] * 3


def test_memory_belongs_to_the_operator_that_asked_for_it(tmp_path: Path) -> None:
    def memory(ts: float, tid: int = 1) -> dict[str, object]:
        args = {"Device Type": 0, "Device Id": -1, "Addr": 77, "Bytes": 64}
        return {"ph": "i", "s": "t", "name": "[memory]", "pid": PID, "tid": tid, "ts": ts, "args": args}

    path = write(
        tmp_path,
        operator("aten::linear", 0, 50),
        operator("aten::addmm", 10, 20),
        operator("aten::empty", 12, 4),
        operator("aten::empty", 60, 5),
        memory(13),  # aten::empty hands it out, aten::addmm asked
        memory(25),
        memory(40),
        memory(62),  # called by the program itself
        memory(70),
        memory(25, tid=2),
    )

    capture = captured(path)

    names = dict(rows(capture, "operator", "operator_id", "name"))
    found = [(ts, names.get(operator_id)) for ts, operator_id in rows(capture, "memory_event", "ts_ns", "operator_id")]
    assert sorted(found, key=str) == sorted(
        [
            (13_000, "aten::addmm"),
            (25_000, "aten::addmm"),
            (25_000, None),
            (40_000, "aten::linear"),
            (62_000, "aten::empty"),
            (70_000, None),
        ],
        key=str,
    )


def test_allocator_events_in_order_of_time(tmp_path: Path) -> None:
    def memory(ts: float, size: int | None, device_type: int, device: int) -> dict[str, object]:
        args = {
            "Device Type": device_type,
            "Device Id": device,
            "Addr": 77,
            "Total Allocated": 900,
            "Total Reserved": 4096,
        }
        if size is not None:
            args["Bytes"] = size
        return {"ph": "i", "s": "t", "name": "[memory]", "pid": PID, "tid": 1, "ts": ts, "args": args}

    path = write(
        tmp_path, memory(30, -512, 1, 2), memory(10, 512, 1, 2), memory(20, 64, 0, -1), memory(40, None, 0, -1)
    )

    capture = captured(path)

    assert rows(
        capture, "memory_event", "ts_ns", "kind", "size_bytes", "device", "allocated_bytes", "reserved_bytes"
    ) == [
        (10_000, "alloc", 512, "cuda:2", 900, 4096),
        (20_000, "alloc", 64, "cpu", 900, None),
        (30_000, "free", 512, "cuda:2", 900, 4096),
    ]
    assert rows(capture, "memory_event", "address") == [("77",)] * 3
    assert ledger(capture)["memory_event_without_bytes"] == 1
    assert capture.header.device_kind == "cuda"


def test_forward_and_backward_operators_are_tied(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        operator("aten::linear", 0, 10),
        operator("autograd::engine::evaluate_function: AddmmBackward0", 40, 10, tid=2),
        {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": PID, "tid": 1, "ts": 0},
        {"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": PID, "tid": 2, "ts": 40, "bp": "e"},
        {"ph": "f", "cat": "fwdbwd", "name": "fwdbwd", "id": 2, "pid": PID, "tid": 2, "ts": 40, "bp": "e"},
    )

    assert rows(captured(path), "flow", "kind", "src_table", "src_id", "dst_table", "dst_id") == [
        ("fwdbwd", "operator", 0, "operator", 1)
    ]


@pytest.mark.parametrize(
    ("devices", "capacity"),
    [
        ('[{"id": 0, "name": "A", "totalGlobalMem": 85}, {"id": 1, "name": "A", "totalGlobalMem": 40}]', 85),
        ('[{"id": 7, "totalGlobalMem": 85}, {"id": [8], "totalGlobalMem": 85}]', 85),
        ('[{"id": 7, "totalGlobalMem": 85}, {"id": 8, "totalGlobalMem": 40}]', None),
        ('[{"id": 0, "totalGlobalMem": "much"}, 5]', None),
        ("{}", None),
    ],
)
def test_the_memory_of_the_device_is_that_of_its_properties(tmp_path: Path, devices: str, capacity: int | None) -> None:
    path = tmp_path / "trace.json"
    path.write_text(
        f'{{"deviceProperties": {devices}, "traceEvents": ['
        '{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"device":0,"stream":7}}]}'
    )

    assert captured(path).header.config.get("memory_capacity_bytes") == capacity


def test_relative_times_become_absolute_and_exact(tmp_path: Path) -> None:
    text = (
        '{"baseTimeNanoseconds": 1735632360000000000, "deviceProperties": [], "traceEvents": ['
        '{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":4203669603438.301,"dur":0.001},'
        '{"ph":"X","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":1712195495519689.047,"dur":2}]}'
    )
    path = tmp_path / "trace.json"
    path.write_text(text)

    assert rows(captured(path), "operator", "ts_ns", "dur_ns") == [
        (1735632360000000000 + 4203669603438301, 1),
        (1735632360000000000 + 1712195495519689047, 2000),
    ]


def test_begin_and_end_events_are_ranges(tmp_path: Path) -> None:
    def edge(phase: str, name: str, ts: float) -> dict[str, object]:
        return {"ph": phase, "cat": "mine", "name": name, "pid": PID, "tid": 1, "ts": ts}

    path = write(
        tmp_path,
        edge("B", "outer", 0),
        edge("B", "inner", 2),
        edge("E", "inner", 5),
        edge("E", "outer", 9),
        edge("E", "stray", 11),
        operator("aten::mm", 1, 1),
    )

    capture = captured(path)

    assert rows(capture, "span", "name", "ts_ns", "dur_ns", "domain") == [
        ("outer", 0, 9000, "mine"),
        ("inner", 2000, 3000, "mine"),
    ]
    assert ledger(capture)["unmatched_end"] == 1


def test_unknown_categories_follow_the_label_of_their_process(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        kernel("odd device work", 0, 5, cat="new_engine"),
        operator("odd range", 0, 5, cat="new_engine"),
        launch(1, 0),
        {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "GPU 0"}},
        {"ph": "M", "name": "process_labels", "pid": PID, "tid": 0, "ts": 0, "args": {"labels": "CPU"}},
    )

    capture = captured(path)

    assert rows(capture, "kernel", "name", "kind") == [("odd device work", "other")]
    assert rows(capture, "span", "name", "domain") == [("odd range", "new_engine")]


def test_synchronisations_drawn_apart_return_to_their_stream(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        kernel("Stream Sync", 0, 50, stream=1_000_007, cat="cuda_sync"),
        kernel("gemm", 10, 20, stream=7),
    )

    capture = captured(path)

    assert rows(capture, "kernel", "kind", "stream") == [("sync", "7"), ("compute", "7")]
    assert "overlapping_slices" not in ledger(capture)


def test_counters_are_series(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        operator("aten::mm", 0, 5),
        {"ph": "C", "name": "util", "pid": PID, "ts": 1, "args": {"value": 5}},
        {"ph": "C", "name": "mem", "pid": PID, "ts": 2, "args": {"used": 1.5, "free": 2, "text": "x"}},
        {"ph": "C", "name": "util", "pid": PID, "ts": 3, "args": {"value": 7}},
    )

    capture = captured(path)

    assert rows(capture, "counter", "name", "ts_ns", "value") == [
        ("util", 1000, 5.0),
        ("mem.used", 2000, 1.5),
        ("mem.free", 2000, 2.0),
        ("util", 3000, 7.0),
    ]


def test_several_processes_keep_their_threads_apart(tmp_path: Path) -> None:
    other = operator("aten::add", 0, 5)
    other["pid"] = 5
    path = write(tmp_path, operator("aten::mm", 0, 5), other)

    assert rows(captured(path), "operator", "thread") == [(f"{PID}/1",), ("5/1",)]


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([launch(1, 0), kernel("k", 9, 1, correlation=1)], "cuda"),
        ([launch(1, 0, name="hipLaunchKernel"), kernel("k", 9, 1, correlation=1)], "rocm"),
        ([operator("zeCommandListAppendLaunchKernel", 0, 1, cat="xpu_runtime"), kernel("k", 9, 1)], "xpu"),
        ([operator("launch", 0, 1, cat="privateuse1_runtime"), kernel("k", 9, 1)], "npu"),
        ([operator("aten::mm", 0, 1)], "cpu"),
        ([operator("aten::mm", 0, 1), annotation("nccl:all_reduce", 5, 1)], "cuda"),
    ],
)
def test_the_kind_of_device_is_what_ran_or_was_spoken_to(
    tmp_path: Path, events: list[dict[str, object]], kind: str
) -> None:
    assert captured(write(tmp_path, *events)).header.device_kind == kind


def test_launches_without_device_work_say_what_is_missing(tmp_path: Path) -> None:
    capture = captured(write(tmp_path, operator("aten::mm", 0, 9), launch(1, 1), launch(2, 3)))

    (entry,) = (one for one in capture.coverage if one.table_name == "kernel")

    assert entry.state == "missing"
    assert "2 launches" in entry.reason


@pytest.mark.parametrize(
    ("name", "rank"),
    [("rank-34.Jul.pt.trace.json", 34), ("trace_rank_7.json", 7), ("rank3_trace.json", 3), ("frank1.json", None)],
)
def test_the_name_gives_the_rank_where_the_metadata_does_not(tmp_path: Path, name: str, rank: int | None) -> None:
    assert captured(write(tmp_path, operator("aten::mm", 0, 1), name=name)).header.rank == rank


def test_the_metadata_gives_the_rank_before_the_name(tmp_path: Path) -> None:
    path = write(tmp_path, operator("aten::mm", 0, 1), name="rank9.json", distributedInfo={"rank": 2, "world_size": 8})

    assert (captured(path).header.rank, captured(path).header.world_size) == (2, 8)
