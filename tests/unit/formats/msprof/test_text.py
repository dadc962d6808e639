from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ascend_sn.formats.discover import discover
from ascend_sn.model.capture import Capture
from tests.unit.formats.msprof.profs import (
    NAME,
    STAMP,
    START_US,
    comm_info,
    op_summary,
    open_prof,
    write_csv,
    write_json,
)
from tests.unit.formats.torch_npu.traces import CANN, COMM, DEVICE, call, group_op, name, plane, task

ALL_REDUCE = "hcom_allReduce__210_3_1"


def kernel(op: str, at: int, dur: str = "10", **cells: str) -> dict[str, str]:
    return {
        **{"Device_id": "0", "Op Name": op, "OP Type": op, "Task Type": "AI_CORE", "Stream ID": "2", "Task ID": "5"},
        **{"Task Start Time(us)": f"{START_US + at}.000\t", "Task Duration(us)": dur},
        **cells,
    }


def state(capture: Capture, table: str, column: str | None = None) -> str:
    (found,) = [entry.state for entry in capture.coverage if (entry.table_name, entry.column_name) == (table, column)]
    return found


def kinds(capture: Capture) -> list[tuple[str | None, str | None]]:
    rows = capture.rows("kernel").to_dicts()
    return [(row["name"], row["kind"]) for row in rows]


def test_op_summary_alone_gives_kernels_collectives_and_metrics(tmp_path: Path) -> None:
    cells = {"aicore_time(us)": "8", "aic_mac_ratio": "0.5", "Block Num": "24", "Input Shapes": '"2,3;3"'}
    comm = kernel(ALL_REDUCE, 20, "30", **{"Task Type": "HCCL", "OP Type": "N/A"})
    op_summary(tmp_path / NAME, [kernel("MatMul", 0, **cells), comm])

    (capture,) = open_prof(tmp_path / NAME)

    first, second = capture.rows("kernel").to_dicts()
    assert (first["ts_ns"], first["dur_ns"], first["stream"]) == (START_US * 1000, 10_000, "2")
    assert (first["block_count"], first["input_shapes"], first["core_type"]) == (24, "2,3;3", "AI_CORE")
    assert (second["kind"], second["op_type"], second["core_type"]) == (
        "communication",
        "hcom_allReduce_",
        "COMMUNICATION",
    )
    metrics = {(row["metric"], row["value"]) for row in capture.rows("kernel_metric").to_dicts()}
    assert metrics == {("aicore_time", 8_000.0), ("aic_mac_ratio", 0.5)}
    (collective,) = capture.rows("collective").to_dicts()
    assert (collective["kernel_id"], collective["op"], collective["sequence"]) == (1, "allreduce", 3)
    assert (collective["transit_ns"], collective["method"]) == (None, None)
    header = capture.header
    assert (header.format, header.rank, header.device_id, header.device_kind) == ("msprof-text", None, 0, "npu")


def test_what_is_absent_is_told_with_the_option_of_msprof(tmp_path: Path) -> None:
    op_summary(tmp_path / NAME, [kernel("MatMul", 0)])

    (capture,) = open_prof(tmp_path / NAME)

    told = {entry.table_name: entry for entry in capture.coverage if entry.column_name is None}
    assert told["memory_event"].state == "missing"
    assert told["memory_event"].turn_on == "msprof --task-memory=on"
    assert told["operator"].state == "unsupported"
    assert told["kernel"].state == "collected"
    assert told["collective"].state == "empty"
    assert "step" not in told


def test_slices_of_the_newest_export_are_read_and_older_exports_left(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    op_summary(folder, [kernel("Old", 0)], "op_summary_20251009081300.csv")
    op_summary(folder, [kernel("B", 20, **{"aicore_time(us)": "2"})], f"op_summary_slice_1_{STAMP}.csv")
    op_summary(folder, [kernel("A", 0, **{"aicore_time(us)": "1"})], f"op_summary_slice_0_{STAMP}.csv")

    (capture,) = open_prof(folder)

    assert kinds(capture) == [("A", "compute"), ("B", "compute")]
    metrics = [(row["kernel_id"], row["value"]) for row in capture.rows("kernel_metric").to_dicts()]
    assert metrics == [(0, 1_000.0), (1, 2_000.0)]
    assert capture.rows("kernel").values("kernel_id").tolist() == [0, 1]
    assert [(entry.kind, entry.count, entry.severity) for entry in capture.ledger.entries] == [
        ("older_export", 1, "info")
    ]


def test_an_empty_file_counts_as_missing(tmp_path: Path) -> None:
    op_summary(tmp_path / NAME, [kernel("MatMul", 0)])
    write_csv(tmp_path / NAME, "memory_record", ["Component"], []).write_bytes(b"")

    (capture,) = open_prof(tmp_path / NAME)

    assert state(capture, "memory_sample") == "missing"
    assert [(entry.kind, entry.severity) for entry in capture.ledger.entries] == [("empty_file", "info")]


def test_the_trace_gives_calls_launches_plane_tasks_and_copies(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    events = [
        *name(CANN, "CANN"),
        *name(DEVICE, "Ascend Hardware"),
        *name(COMM, "HCCL", t0="Group 0 Communication", t1="Plane 0"),
        call("Node@launch", 1_000, 2_000, 7, level="node"),
        call("AscendCL@aclrtMemcpyAsync", 4_000, 1_000, 8),
        call("Hccl@hcom_allReduce_", 6_000, 1_000, 9, level="hccl"),
        task("MatMul", 10_000, 10_000, 7),
        task("MEMCPY_ASYNC", 30_000, 5_000, 8, kind="MEMCPY_ASYNC"),
        group_op(ALL_REDUCE, 40_000, 30_000, 9),
        plane("Notify_Wait", 40_000, 5_000, 0),
        plane("Memcpy", 50_000, 4_000, 0, size=1_000),
    ]
    write_json(folder, f"mindstudio_profiler_output/msprof_{STAMP}.json", events)
    comm = kernel(ALL_REDUCE, 40, "30", **{"Task Type": "COMMUNICATION", "Device_id": "3"})
    op_summary(folder, [kernel("MatMul", 10, **{"Device_id": "3"}), comm])

    (capture,) = open_prof(folder)

    rows = capture.rows("kernel").to_dicts()
    assert [(row["name"], row["kind"], row["host_call_id"], row["device_id"]) for row in rows] == [
        ("MatMul", "compute", 0, 3),
        (ALL_REDUCE, "communication", 2, 3),
        ("MEMCPY_ASYNC", "copy", 1, 3),
    ]
    assert [row["name"] for row in capture.rows("host_call").to_dicts()] == [
        "launch",
        "aclrtMemcpyAsync",
        "hcom_allReduce_",
    ]
    assert len(capture.rows("comm_task")) == 2
    (collective,) = capture.rows("collective").to_dicts()
    assert (collective["wait_ns"], collective["transit_ns"], collective["idle_ns"]) == (5_000, 4_000, 21_000)
    assert state(capture, "host_call") == "collected"


def test_slices_of_a_trace_are_linked_across_files(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    host = [*name(CANN, "CANN"), call("Node@launch", 1_000, 2_000, 7, level="node")]
    device = [
        *name(DEVICE, "Ascend Hardware"),
        task("Add", 9_000, 1_000, 99),
        task("MatMul", 10_000, 10_000, 7),
        {"ph": "C", "name": "AI Core Freq", "pid": DEVICE, "tid": 0, "ts": f"{START_US}.001", "args": {"MHz": 1800}},
    ]
    write_json(folder, f"mindstudio_profiler_output/msprof_slice_0_{STAMP}.json", host)
    write_json(folder, f"mindstudio_profiler_output/msprof_slice_1_{STAMP}.json", device)

    (capture,) = open_prof(folder)

    rows = capture.rows("kernel").to_dicts()
    assert [(row["name"], row["kind"], row["host_call_id"]) for row in rows] == [
        ("Add", "compute", None),
        ("MatMul", "compute", 0),
    ]
    (sample,) = capture.rows("counter").to_dicts()
    assert (sample["name"], sample["unit"], sample["value"]) == ("AI Core Freq", "MHz", 1800.0)


def test_the_pid_tells_the_device_where_the_labels_do_not(tmp_path: Path) -> None:
    events = [*name(CANN, "CANN"), *name(DEVICE, "Ascend Hardware"), task("MatMul", 0, 10, 7)]
    write_json(tmp_path / NAME, f"mindstudio_profiler_output/msprof_{STAMP}.json", events)

    (capture,) = open_prof(tmp_path / NAME)

    assert capture.header.device_id == 3


def test_task_time_stands_in_for_what_op_summary_does_not_hold(tmp_path: Path) -> None:
    header = [
        *("Device_id", "kernel_name", "kernel_type", "stream_id", "task_id"),
        *("task_time(us)", "task_start(us)", "task_stop(us)"),
    ]
    rows = [
        ["0", "MatMul", "KERNEL_AICORE", "2", "5", "10", f"{START_US}.000\t", ""],
        ["0", "N/A", "MEMCPY_ASYNC", "2", "6", "3", f"{START_US + 20}.000\t", ""],
        ["0", "N/A", "EVENT_WAIT", "2", "7", "1", f"{START_US + 30}.000\t", ""],
    ]
    alone, beside = tmp_path / "a", tmp_path / "b"
    write_csv(alone, "task_time", header, rows)
    write_csv(beside, "task_time", header, rows)
    op_summary(beside, [kernel("MatMul", 0)])

    (only_tasks,) = open_prof(alone)
    (both,) = open_prof(beside)

    expected = [("MatMul", "compute"), ("MEMCPY_ASYNC", "copy"), ("EVENT_WAIT", "sync")]
    assert kinds(only_tasks) == expected
    assert kinds(both) == expected
    assert [row["core_type"] for row in only_tasks.rows("kernel").to_dicts()] == ["AI_CORE", None, None]
    assert state(only_tasks, "kernel", "op_type") == "missing"


def test_memory_is_in_kib(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    op_summary(folder, [kernel("MatMul", 0)])
    at = f"{START_US}.000"
    header = ["Device_id", "Component", "Timestamp(us)", "Total Allocated(KB)", "Total Reserved(KB)", "Device"]
    write_csv(folder, "memory_record", header, [["0", "GE", at, "2", "4", "NPU:0"]])
    header = ["Device_id", "event", "ddr(KB)", "hbm(KB)", "memory(KB)", "timestamp(us)"]
    write_csv(folder, "npu_mem", header, [["0", "APP", "1", "7", "8", at], ["0", "Device", "1", "63", "64", at]])
    header = ["Device_id", "Component", "Timestamp(us)", "Total Reserved(KB)", "Device"]
    write_csv(folder, "npu_module_mem", header, [["0", "HCCL", at, "16", "NPU:0"]])
    header = [
        *("Device_id", "Name", "Size(KB)", "Allocation Time(us)", "Duration(us)"),
        *("Allocation Total Allocated(KB)", "Allocation Total Reserved(KB)"),
    ]
    write_csv(folder, "operator_memory", header, [["0", "MatMul", "3", at, "5", "6", "9"]])

    (capture,) = open_prof(folder)

    samples = capture.rows("memory_sample").to_dicts()
    assert [(row["component"], row["allocated_bytes"], row["reserved_bytes"]) for row in samples] == [
        ("APP", None, 8 << 10),
        ("GE", 2 << 10, 4 << 10),
        ("module:HCCL", None, 16 << 10),
    ]
    (event,) = capture.rows("memory_event").to_dicts()
    assert (event["kind"], event["size_bytes"], event["allocated_bytes"]) == ("alloc", 3 << 10, 6 << 10)
    counters = {row["name"]: row["value"] for row in capture.rows("counter").to_dicts()}
    assert counters["Device/Memory"] == 64 << 10


def test_iterations_of_the_busiest_model_are_the_steps(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    op_summary(folder, [kernel("MatMul", 0)])
    header = [
        *("Device_id", "Iteration ID", "FP Start(us)", "BP End(us)", "Iteration End(us)", "Iteration Time(us)"),
        *("FP to BP Time(us)", "Iteration Refresh(us)", "Data Aug Bound(us)", "Model ID"),
    ]
    rows = [
        ["0", "2", "N/A", "N/A", f"{START_US + 220}.500", "100.5", "80", "N/A", "N/A", "1"],
        ["0", "1", "N/A", "N/A", f"{START_US + 100}.000", "100", "70", "N/A", "N/A", "1"],
        ["0", "1", "N/A", "N/A", f"{START_US + 900}.000", "7", "7", "N/A", "N/A", "2"],
    ]
    write_csv(folder, "step_trace", header, rows)

    (capture,) = open_prof(folder)

    steps = capture.rows("step").to_dicts()
    assert [(row["step_id"], row["step"], row["ts_ns"] - START_US * 1000, row["dur_ns"]) for row in steps] == [
        (0, 1, 0, 100_000),
        (1, 2, 120_000, 100_500),
    ]
    metrics = {(row["name"], row["step"], row["value"]) for row in capture.rows("metric").to_dicts()}
    assert metrics == {
        ("exporter.step_trace.FP to BP Time", 1, 70_000.0),
        ("exporter.step_trace.FP to BP Time", 2, 80_000.0),
    }
    assert state(capture, "step") == "collected"


def test_statistics_stand_in_only_where_the_rows_that_they_sum_are_absent(tmp_path: Path) -> None:
    header = ["Device_id", "OP Type", "Core Type", "Count", "Total Time(us)", "Min Time(us)"]
    calls = ["Device_id", "Level", "API Name", "Time(us)", "Count"]
    for folder in (tmp_path / "a", tmp_path / "b"):
        write_csv(folder, "op_statistic", header, [["0", "MatMul", "AI_CORE", "4", "40.5", "1"]])
        write_csv(folder, "api_statistic", calls, [["host", "acl", "aclnnAdd", "12", "3"]])
    op_summary(tmp_path / "b", [kernel("MatMul", 0)])

    (sums,) = open_prof(tmp_path / "a")
    (rows,) = open_prof(tmp_path / "b")

    found = {row["name"]: row["value"] for row in sums.rows("metric").to_dicts()}
    assert found == {
        "exporter.op_statistic.MatMul.total": 40_500.0,
        "exporter.op_statistic.MatMul.count": 4.0,
        "exporter.api_statistic.acl.aclnnAdd.total": 12_000.0,
        "exporter.api_statistic.acl.aclnnAdd.count": 3.0,
    }
    assert {row["name"] for row in rows.rows("metric").to_dicts()} == {
        "exporter.api_statistic.acl.aclnnAdd.total",
        "exporter.api_statistic.acl.aclnnAdd.count",
    }
    assert state(sums, "kernel") == "missing"


def test_recorded_parts_come_from_the_flat_form(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    op_summary(folder, [kernel(ALL_REDUCE, 0, "10000", **{"Task Type": "HCCL"})])
    info = comm_info(10.0, 4.0, 5.0, 3.0, 2.0)
    write_json(folder, "analyze/communication.json", {ALL_REDUCE: info, "Total HCCL Operators": info})
    link = {"Transport Type": "HCCS", "Transit Size(MB)": 2.0, "Transit Time(ms)": 4.0, "Bandwidth(GB/s)": 0.5}
    write_json(folder, "analyze/communication_matrix.json", {ALL_REDUCE: {"0-1": link}})

    (capture,) = open_prof(folder)

    (collective,) = capture.rows("collective").to_dicts()
    parts = [collective[key] for key in ("kernel_id", "wait_ns", "sync_ns", "transit_ns", "idle_ns", "method")]
    assert parts == [0, 5_000_000, 3_000_000, 4_000_000, 1_000_000, "recorded"]
    links = capture.rows("link").to_dicts()
    assert [(row["src_rank"], row["dst_rank"], row["size_bytes"], row["transport"]) for row in links] == [
        (None, None, 2_000_000, "HCCS"),
        (0, 1, 2_000_000, "HCCS"),
    ]
    assert capture.ledger.entries == []


def test_each_device_of_a_process_is_a_profile_with_its_own_calls(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    other = DEVICE + 1
    events = [
        *name(CANN, "CANN"),
        *name(DEVICE, "Ascend Hardware"),
        *name(other, "Ascend Hardware"),
        call("Node@launch", 1_000, 100, 7, tid=1, level="node"),
        call("Node@launch", 2_000, 100, 8, tid=2, level="node"),
        call("AscendCL@aclrtSynchronizeStream", 3_000, 100, None, tid=2),
        call("AscendCL@aclInit", 4_000, 100, None, tid=3),
        task("MatMul", 10_000, 10_000, 7),
        {**task("Add", 10_000, 5_000, 8), "pid": other},
    ]
    write_json(folder, f"mindstudio_profiler_output/msprof_{STAMP}.json", events)
    on_four = kernel("Add", 10, "5", **{"Device_id": "4", "aicore_time(us)": "4"})
    op_summary(folder, [on_four, kernel("MatMul", 10, **{"Device_id": "3", "aicore_time(us)": "9"})])

    first, second = open_prof(folder)

    assert [capture.header.device_id for capture in (first, second)] == [3, 4]
    assert [kinds(capture) for capture in (first, second)] == [[("MatMul", "compute")], [("Add", "compute")]]
    assert [row["name"] for row in first.rows("host_call").to_dicts()] == ["launch", "aclInit"]
    assert [row["name"] for row in second.rows("host_call").to_dicts()] == ["launch", "aclrtSynchronizeStream"]
    for capture, value in ((first, 9_000.0), (second, 4_000.0)):
        (row,) = capture.rows("kernel").to_dicts()
        assert (row["kernel_id"], row["host_call_id"]) == (0, 0)
        (metric,) = capture.rows("kernel_metric").to_dicts()
        assert (metric["kernel_id"], metric["value"]) == (0, value)
        assert capture.rows("host_call").values("host_call_id").tolist() == [0, 1]


def test_memory_of_another_device_stays_with_it(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    op_summary(folder, [kernel("A", 0), kernel("B", 0, **{"Device_id": "1"})])
    header = ["Device_id", "Component", "Timestamp(us)", "Total Allocated(KB)", "Total Reserved(KB)", "Device"]
    rows = [[device, "GE", f"{START_US}.000", size, size, f"NPU:{device}"] for device, size in (("0", "1"), ("1", "2"))]
    write_csv(folder, "memory_record", header, rows)

    captures = open_prof(folder)

    sizes = [capture.rows("memory_sample").values("allocated_bytes").tolist() for capture in captures]
    assert sizes == [[1 << 10], [2 << 10]]


def test_a_cut_trace_leaves_what_is_whole(tmp_path: Path) -> None:
    folder = tmp_path / NAME
    events = [*name(DEVICE, "Ascend Hardware"), *(task("MatMul", 100 * i, 50, None) for i in range(5))]
    path = write_json(folder, f"mindstudio_profiler_output/msprof_{STAMP}.json", events)
    text = json.dumps(events)
    path.write_text(text[: text.rindex("{", 0, len(text) - 200)])

    (capture,) = open_prof(folder)

    assert 0 < len(capture.rows("kernel")) < 5
    assert state(capture, "kernel") == "damaged"
    assert "truncated" in [entry.kind for entry in capture.ledger.entries]


@pytest.mark.parametrize("times", [("1", "-5"), ("x", "1"), ("1", "N/A")])
def test_rows_that_cannot_be_are_counted_and_left_out(tmp_path: Path, times: tuple[str, str]) -> None:
    bad = kernel("Bad", 0) | {"Task Start Time(us)": times[0], "Task Duration(us)": times[1]}
    op_summary(tmp_path / NAME, [kernel("Good", 0), bad])

    (capture,) = open_prof(tmp_path / NAME)

    assert kinds(capture) == [("Good", "compute")]
    assert [(entry.count, entry.place) for entry in capture.ledger.entries] == [(1, "line 3")]


def test_times_keep_their_nanoseconds(tmp_path: Path) -> None:
    op_summary(tmp_path / NAME, [kernel("A", 0) | {"Task Start Time(us)": "1736408883704643.213\t"}])

    (capture,) = open_prof(tmp_path / NAME)

    assert capture.rows("kernel").values("ts_ns").tolist() == [np.int64(1736408883704643213)]


def test_a_tree_of_folders_is_one_profile_per_process(tmp_path: Path) -> None:
    for number in range(2):
        op_summary(tmp_path / f"PROF_00000{number}_20251009081320123_ABC", [kernel("A", 0)])

    assert [source.reader.name for source in discover(tmp_path).sources] == ["msprof", "msprof"]
