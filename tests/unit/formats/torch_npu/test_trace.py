from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.derive import derive
from ascend_sn.errors import FormatError
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.formats.torch_npu.groups import group_hash
from ascend_sn.formats.torch_npu.trace_file import READER
from ascend_sn.model.capture import Capture
from tests.unit.formats.torch_npu.runs import START_US, kernel_csv, open_run, write_info, write_json
from tests.unit.formats.torch_npu.traces import (
    CANN,
    COMM,
    DEVICE,
    PYTHON,
    arrow,
    call,
    counter,
    group_op,
    name,
    op,
    plane,
    slice_,
    task,
    us,
)

T = START_US * 1000
PROCESSES = [*name(PYTHON, "Python"), *name(CANN, "CANN"), *name(DEVICE, "Ascend Hardware", t2="Stream 2")]


def run_of(tmp_path: Path, *events: Any, level: str = "Level1", **common: Any) -> Capture:
    """Write and open a run of these events; lists of events are laid flat."""
    flat = [event for item in events for event in (item if isinstance(item, list) else [item])]
    write_info(tmp_path, level=level, **common)
    write_json(tmp_path, "trace_view.json", flat)
    return open_run(tmp_path)


def rows(capture: Capture, table: str) -> list[dict[str, Any]]:
    return capture.rows(table).to_dicts()


def test_an_operator_reaches_its_kernel_through_the_task_queue(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        op("aten::linear", 0, 400),
        op("aten::mm", 10, 300),
        slice_("Enqueue", PYTHON, 1, 100, 20, "enqueue", correlation_id=77),
        slice_("Dequeue@aclnnMatmul", PYTHON, 9, 500, 90, "dequeue", correlation_id=77),
        call("Node@launch", 520, 30, 7, tid=9, level="node"),
        task("mm_1", 700, 50, 7),
        PROCESSES,
    )
    derive(capture)

    (kernel,) = rows(capture, "kernel")
    calls, operators = rows(capture, "host_call"), rows(capture, "operator")
    assert calls[kernel["host_call_id"]]["name"] == "launch"
    assert operators[kernel["operator_id"]]["name"] == "aten::mm"
    assert [(row["level"], row["name"], row["connection"]) for row in calls] == [
        ("queue", "Enqueue", None),
        ("queue", "Dequeue@aclnnMatmul", None),
        ("node", "launch", "7"),
    ]
    assert [(row["kind"], row["src_id"], row["dst_id"]) for row in rows(capture, "flow")] == [("queue", 0, 1)]
    assert (kernel["ts_ns"], kernel["dur_ns"], kernel["stream"], kernel["device_id"]) == (T + 700, 50, "2", 3)
    assert not capture.ledger.entries


def test_an_async_npu_arrow_says_the_operator(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        op("aten::add", 0, 100),
        op("aten::add_", 0, 40),
        task("add_1", 700, 50, 7),
        task("add_2", 760, 50, 7),
        arrow("async_npu", (T + 700), (PYTHON, 1, 0), (DEVICE, 2, 700)),
        PROCESSES,
        level="Level0",
    )

    # Of two operators that start together the inner one launched.
    assert [row["operator_id"] for row in rows(capture, "kernel")] == [1, None]


def test_ids_that_float64_cannot_tell_apart(tmp_path: Path) -> None:
    ops = [op(f"aten::op{i}", i * 10, 9) for i in range(40)]
    tasks = [task(f"k{i}", 1000 + i * 40, 30, None) for i in range(40)]
    arrows = [arrow("async_npu", T + 1000 + i * 40, (PYTHON, 1, i * 10), (DEVICE, 2, 1000 + i * 40)) for i in range(40)]

    capture = run_of(tmp_path, ops, tasks, *arrows, PROCESSES)

    assert [row["operator_id"] for row in rows(capture, "kernel")] == list(range(40))


def test_old_traces_link_by_the_host_to_device_arrow(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        call("AscendCL@outer", 0, 100, 5),
        call("Node@launch", 10, 50, 6, level="node"),
        task("a", 200, 10, None),
        task("b", 220, 10, None),
        # The arrow starts inside the call; its id passes 64 bits; one start has two ends.
        arrow("HostToDevice", "40004068119343529983", (CANN, 1, 30), (DEVICE, 2, 200), (DEVICE, 2, 220)),
        PROCESSES,
    )

    assert [row["host_call_id"] for row in rows(capture, "kernel")] == [1, 1]


def test_starts_of_a_process_that_was_pruned_are_harmless(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        task("a", 200, 10, None),
        arrow("HostToDevice", "263", (CANN, 1, 30), (DEVICE, 2, 200)),
        name(DEVICE, "Ascend Hardware"),
        level="Level0",
    )

    assert [row["host_call_id"] for row in rows(capture, "kernel")] == [None]
    assert not capture.ledger.entries


def test_marks_become_steps_and_other_ranges_stay_operators(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        op("ProfilerStep#11", 1000, 900),
        op("ProfilerStep#10", 0, 1000),
        op("Optimizer.step#AdamW.step", 500, 100),
        op("my range", 10, 20),
        PROCESSES,
    )

    assert [(row["step_id"], row["step"], row["ts_ns"], row["dur_ns"]) for row in rows(capture, "step")] == [
        (0, 10, T, 1000),
        (1, 11, T + 1000, 900),
    ]
    assert [row["name"] for row in rows(capture, "operator")] == ["Optimizer.step#AdamW.step", "my range"]


def test_shapes_types_and_stacks(tmp_path: Path) -> None:
    args = {"Input Dims": "32,1024;\r\n;\r\n1024", "Input type": "c10::Half;\r\nNone;\r\nfloat"}
    stack = {"Call stack": "a.py(1): f;\r\nb.py(2): g"}
    capture = run_of(
        tmp_path,
        op("aten::mm", 0, 5, args=args | stack),
        op("aten::mm", 9, 5, args=stack),
        op("aten::mm", 18, 5),
        PROCESSES,
    )

    first, second, third = rows(capture, "operator")
    assert (first["input_shapes"], first["input_dtypes"]) == ("32,1024;;1024", "c10::Half;None;float")
    assert (second["input_shapes"], third["stack_id"]) == (None, None)
    assert first["stack_id"] == second["stack_id"] == 0
    assert [row["frames"] for row in rows(capture, "stack")] == ["a.py(1): f\nb.py(2): g"]


def test_forward_and_backward(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        op("aten::mm", 0, 5),
        op("MmBackward0", 100, 9, tid=2),
        arrow("fwdbwd", 1350, (PYTHON, 1, 0), (PYTHON, 2, 100)),
        # The same number in another category is another arrow.
        arrow("async_task_queue", 1350, (PYTHON, 1, 0), (PYTHON, 2, 100)),
        PROCESSES,
    )

    assert [(row["kind"], row["src_table"], row["src_id"], row["dst_id"]) for row in rows(capture, "flow")] == [
        ("fwdbwd", "operator", 0, 1)
    ]


def test_python_frames_ranges_and_collections(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        slice_("a.py(1): f", PYTHON, 1, 0, 9, "python_function", **{"Python id": 1}),
        slice_("checkpoint", PYTHON, 1, 20, 9, "msproftx"),
        slice_("GC", 99, 1, 40, 5),
        name(99, "Python GC"),
        PROCESSES,
        with_stack=True,
    )

    assert [(row["name"], row["domain"]) for row in rows(capture, "span")] == [
        ("a.py(1): f", "python"),
        ("checkpoint", "mstx"),
    ]
    assert [(row["name"], row["level"]) for row in rows(capture, "host_call")] == [("GC", "gc")]


def test_the_overlap_analysis_is_no_event_of_the_run(tmp_path: Path) -> None:
    capture = run_of(tmp_path, op("aten::mm", 0, 5), slice_("Computing", 7, 0, 0, 5), slice_("Free", 7, 3, 5, 5))

    assert rows(capture, "span") == rows(capture, "kernel") == []


def test_a_collective_with_planes(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        call("Node@launch", 0, 9, 7, level="node"),
        group_op("hcom_allReduce__123_4_1", 100, 100, 7),
        # The same two tasks, as the device and as the planes show them.
        task("Notify Wait", 100, 30, 7, stream=4, kind="Notify Wait"),
        task("SDMA", 140, 50, 7, stream=4, kind="SDMA"),
        plane("Notify_Wait", 100, 30, 1, link="INVALID_TYPE"),
        plane("Memcpy", 140, 50, 1, size=4096, dst=5),
        name(COMM, "Communication", t0="Group 0 Communication", t1="Plane 0", t2="Plane 1"),
        PROCESSES,
    )

    (whole,) = rows(capture, "collective")
    assert (whole["op"], whole["sequence"], whole["group_id"]) == ("allreduce", 4, "*123")
    assert (whole["size_bytes"], whole["dtype"]) == (40, "FP32")
    assert (whole["wait_ns"], whole["sync_ns"], whole["transit_ns"], whole["idle_ns"]) == (30, 30, 50, 20)
    (kernel,) = rows(capture, "kernel")
    assert (kernel["kind"], kernel["core_type"], kernel["stream"]) == ("communication", "COMMUNICATION", "4")
    assert (kernel["op_type"], kernel["host_call_id"], kernel["device_id"]) == ("hcom_allReduce_", 0, 3)
    assert [(row["name"], row["stream"], row["transport"], row["dst_rank"]) for row in rows(capture, "comm_task")] == [
        ("Notify_Wait", "Plane 1", "SDMA", 1),
        ("Memcpy", "Plane 1", "SDMA/HCCS", 5),
    ]
    assert {row["group_size"] for row in rows(capture, "comm_group_member")} == {6}


def test_without_planes_the_tasks_of_the_launch_are_the_parts(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        group_op("hcom_allReduce__123_4_1", 100, 100, 7),
        task("Notify Wait", 100, 30, 7, stream=4, kind="Notify Wait"),
        task("Notify Wait", 300, 30, 8, stream=4, kind="Notify Wait"),
        name(COMM, "HCCL", t0="Group 0 Communication"),
        PROCESSES,
        level="Level0",
    )

    assert [(row["collective_id"], row["name"], row["stream"]) for row in rows(capture, "comm_task")] == [
        (0, "Notify Wait", "4")
    ]
    assert [(row["kind"], row["ts_ns"] - T) for row in rows(capture, "kernel")] == [
        ("communication", 100),
        ("sync", 300),
    ]
    assert rows(capture, "collective")[0]["wait_ns"] is None


def test_planes_without_device_tasks_are_placed_by_time(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        group_op("a__1_0_1", 100, 50, 7),
        group_op("a__1_1_1", 200, 50, 8),
        plane("Memcpy", 230, 20, 1, size=8),
        plane("Memcpy", 160, 20, 1, size=8),
        name(COMM, "HCCL", t0="Group 0 Communication", t2="Plane 1"),
    )

    # The one between the two belongs to neither.
    assert [(row["collective_id"], row["ts_ns"] - T) for row in rows(capture, "comm_task")] == [(1, 230)]


def test_a_thread_that_names_the_group(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path, group_op("a__1_0_1", 100, 50, 7), name(COMM, "Communication", t0="Group group_name_5 Communication")
    )

    assert [row["group_id"] for row in rows(capture, "collective")] == [group_hash("group_name_5")]


def test_kinds_of_tasks_without_kernel_details(tmp_path: Path) -> None:
    copy = {"data size(Byte)": 512, "memcpy direction": "host to device"}
    capture = run_of(
        tmp_path,
        task("mm_1", 0, 5, 1),
        task("MatmulAllReduce_1", 10, 5, 2, kind="MIX_AIC"),
        task("MEMCPY_ASYNC", 20, 5, 3, kind="SDMA_SQE", args=copy),
        task("EVENT_WAIT", 30, 5, 4, kind="EVENT_WAIT_SQE"),
        task("PROFILING_ENABLE", 40, 5, 5, kind="PLACE_HOLDER_SQE"),
        PROCESSES,
    )

    found = rows(capture, "kernel")
    assert [row["kind"] for row in found] == ["compute", "fused", "copy", "sync", "other"]
    assert [row["core_type"] for row in found] == ["AI_CORE", "MIX_AIC", None, None, None]
    assert (found[2]["copy_direction"], found[2]["size_bytes"]) == ("h2d", 512)


def test_the_queue_tells_the_direction_of_a_copy(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        slice_("Dequeue@acl_memcpy_device_to_host", PYTHON, 9, 0, 90, "dequeue", correlation_id=1),
        call("AscendCL@aclrtMemcpyAsync", 10, 20, 7, tid=9),
        task("MEMCPY_ASYNC", 100, 5, 7, kind="PCIE_DMA_SQE"),
        PROCESSES,
    )

    assert [row["copy_direction"] for row in rows(capture, "kernel")] == ["d2h"]


def test_kernel_rows_and_tasks_are_matched_one_to_one(tmp_path: Path) -> None:
    common = {"Type": "Add", "Accelerator Core": "AI_VECTOR_CORE", "Duration(us)": "0.005"}
    kernel_csv(
        tmp_path,
        [
            # Two streams start the same kernel at the same time; a third row is one nanosecond off.
            {**common, "Name": "add", "Start Time(us)": us(100), "Stream ID": "3"},
            {**common, "Name": "add", "Start Time(us)": us(100), "Stream ID": "2"},
            {**common, "Name": "add", "Start Time(us)": us(201), "Stream ID": "2"},
            {**common, "Name": "m\ufffd", "Start Time(us)": us(300), "Stream ID": "2", "Task ID": "5"},
        ],
    )
    capture = run_of(
        tmp_path,
        [call("Node@launch", i, 1, i, level="node") for i in range(1, 5)],
        task("add", 100, 5, 1, stream=2),
        task("add", 100, 5, 2, stream=3),
        task("add", 200, 5, 3, stream=2),
        task("mul", 300, 5, 4, stream=2),
        PROCESSES,
    )

    found = rows(capture, "kernel")
    assert len(found) == 4
    assert [row["host_call_id"] for row in found] == [1, 0, 2, 3]


@pytest.mark.parametrize("left", ["", "Add,AI_VECTOR_CORE,add,{start},0.005\nAdd,AI_VE"], ids=["no rows", "a cut row"])
def test_kernels_of_which_kernel_details_lost_the_rows_are_kernels(tmp_path: Path, left: str) -> None:
    header = "Type,Accelerator Core,Name,Start Time(us),Duration(us)\n"
    (tmp_path / "kernel_details.csv").write_text(header + left.format(start=us(100)))
    capture = run_of(
        tmp_path,
        task("add", 100, 5, 1),
        task("mm", 200, 7, 2),
        task("EVENT_WAIT", 300, 5, 3, kind="EVENT_WAIT_SQE"),
        PROCESSES,
    )

    assert [(row["name"], row["kind"], row["dur_ns"]) for row in rows(capture, "kernel")] == [
        ("add", "compute", 5),
        ("mm", "compute", 7),
        ("EVENT_WAIT", "sync", 5),
    ]


def test_counters_in_base_units(tmp_path: Path) -> None:
    capture = run_of(
        tmp_path,
        counter(1, "AI Core Freq", 0, MHz=1800),
        counter(2, "APP/HBM", 0, KB=2.0),
        counter(3, "HBM 0/Read", 0, **{"Read(MB/s)": 0.5}),
        counter(4, "LLC 0 Read/Hit Rate", 0, **{"Hit Rate(%)": 0.894}),
        counter(5, "read_bandwidth", 0, value=7, acc_id=2),
        counter(5, "QoS OTHERS", 0, value=1870),
        counter(6, "Surprise", 0, parsec=3),
    )

    assert {(row["name"], row["unit"], row["value"]) for row in rows(capture, "counter")} == {
        ("AI Core Freq", "MHz", 1800.0),
        ("APP/HBM", "bytes", 2048.0),
        ("HBM 0/Read", "bytes/s", 524288.0),
        ("LLC 0 Read/Hit Rate", "ratio", 0.894),
        ("Acc PMU 2/read_bandwidth", "level", 7.0),
        ("QoS OTHERS", "level", 1870.0),
    }
    assert [(e.kind, e.count, e.example, e.severity) for e in capture.ledger.entries] == [
        ("unknown_counter", 1, "Surprise", "info")
    ]


def test_slices_of_impossible_length_or_without_a_time_are_set_aside(tmp_path: Path) -> None:
    bad = op("aten::bad", 10, 5)
    del bad["ts"]
    capture = run_of(tmp_path, op("aten::mm", 0, 5), op("aten::odd", 20, -5), bad, PROCESSES)

    assert [row["name"] for row in rows(capture, "operator")] == ["aten::mm"]
    assert sorted((e.kind, e.count) for e in capture.ledger.entries) == [("impossible_time", 1), ("missing_start", 1)]


def test_a_cut_trace_without_its_metadata_still_sorts_its_events(tmp_path: Path) -> None:
    write_info(tmp_path)
    events = [op("aten::mm", 0, 5), call("Node@launch", 1, 2, 7, level="node"), task("mm_1", 9, 5, 7), *PROCESSES]
    path = write_json(tmp_path, "trace_view.json", events)
    text = path.read_text()
    path.write_text(text[: text.index('{"ph": "M"') + 30])

    capture = open_run(tmp_path)

    assert [len(rows(capture, table)) for table in ("operator", "host_call", "kernel")] == [1, 1, 1]
    assert rows(capture, "kernel")[0]["host_call_id"] == 0
    (entry,) = capture.ledger.entries
    assert (entry.kind, "3 complete events" in entry.example) == ("truncated", True)
    states = {e.table_name: e.state for e in capture.coverage if e.column_name is None}
    assert (states["operator"], states["kernel"]) == ("damaged", "damaged")


def test_a_trace_on_its_own_is_read_whatever_its_name(tmp_path: Path) -> None:
    path = tmp_path / "my_trace.bin"
    events = [op("aten::mm", 0, 5), call("Node@launch", 1, 2, 7, level="node"), task("mm_1", 9, 5, 7), *PROCESSES]
    path.write_text(json.dumps(events))

    assert READER.claims(Candidate(path))
    (capture,) = READER.read(Source(READER, path, path))

    assert [row["kind"] for row in rows(capture, "kernel")] == ["compute"]
    assert (capture.header.format, capture.header.pid, capture.header.device_id) == ("torch_npu-text", PYTHON, 3)
    (entry,) = (e for e in capture.coverage if e.table_name == "memory_event")
    assert entry.state == "missing"


@pytest.mark.parametrize("content", ["", "[]", '[{"ph": "X", "name": "a", "ts": 1, "dur": 2}]', '{"traceEvents": []}'])
def test_other_traces_are_not_claimed(tmp_path: Path, content: str) -> None:
    path = tmp_path / "trace_view.json"
    path.write_text(content)

    assert not READER.claims(Candidate(path))
    assert not READER.claims(Candidate(tmp_path))


def test_a_trace_on_its_own_without_events_is_a_format_error(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text('[{"ph": "X", "name": "aten::mm", "args": {"Fwd thread id": 0')

    with pytest.raises(FormatError, match="truncated"):
        READER.read(Source(READER, path, path))
