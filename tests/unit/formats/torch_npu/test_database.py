from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.derive import derive
from ascend_sn.errors import FormatError
from ascend_sn.model.capture import Capture
from tests.unit.formats.torch_npu.databases import NONE, Strings, database_path, write_database
from tests.unit.formats.torch_npu.runs import kernel_csv, open_run, write_csv, write_info, write_json

T = 1_760_000_000_000_000_000
TID = (41000 << 32) | 41001


def rows(capture: Capture, table: str) -> list[dict[str, Any]]:
    return capture.rows(table).to_dicts()


def kernels(s: Strings) -> dict[str, Any]:
    """One operator launches one kernel through one CANN call."""
    return {
        "TASK": [
            dict(startNs=T + 50, endNs=T + 90, deviceId=1, connectionId=7, globalTaskId=0)
            | dict(taskType=s("KERNEL_AICORE"), streamId=2, taskId=5)
        ],
        "COMPUTE_TASK_INFO": [
            dict(name=s("mm_1"), globalTaskId=0, blockDim=20, taskType=s("AI_CORE"), opType=s("MatMulV2"))
            | dict(inputShapes=s('"4,8;8,2"'), inputDataTypes=s("FLOAT16;FLOAT16"), outputShapes=s("N/A"))
        ],
        "CANN_API": [dict(startNs=T + 10, endNs=T + 20, type=10000, globalTid=TID, connectionId=7, name=s("launch"))],
        "PYTORCH_API": [
            dict(startNs=str(T), endNs=str(T + 30), globalTid=TID, connectionId=0, name=s("aten::mm"), type=50001)
            | dict(inputShapes=s("4,8;\r\n8,2"), inputDtypes=s("c10::Half;\nc10::Half"), callchainId=3)
        ],
        "CONNECTION_IDS": [dict(id=0, connectionId=7)],
        "PYTORCH_CALLCHAINS": [
            dict(id=3, stack=s("outer"), stackDepth=1),
            dict(id=3, stack=s("inner"), stackDepth=0),
        ],
    }


def write(folder: Path, s: Strings, tables: dict[str, Any]) -> Path:
    write_info(folder, record_shapes=True, with_stack=True)
    return write_database(database_path(folder), s, **tables)


def test_an_operator_its_call_and_its_kernel(tmp_path: Path) -> None:
    s = Strings()
    write(tmp_path, s, kernels(s))

    capture = open_run(tmp_path)

    (kernel,) = rows(capture, "kernel")
    assert (kernel["name"], kernel["op_type"], kernel["kind"], kernel["core_type"]) == (
        "mm_1",
        "MatMulV2",
        "compute",
        "AI_CORE",
    )
    assert (kernel["ts_ns"], kernel["dur_ns"], kernel["stream"], kernel["device_id"]) == (T + 50, 40, "2", 1)
    assert (kernel["input_shapes"], kernel["output_shapes"], kernel["block_count"]) == ("4,8;8,2", None, 20)
    assert (kernel["host_call_id"], kernel["operator_id"]) == (0, 0)
    (operator,) = rows(capture, "operator")
    assert (operator["thread"], operator["input_shapes"], operator["input_dtypes"]) == (
        "41001",
        "4,8;8,2",
        "c10::Half;c10::Half",
    )
    assert rows(capture, "stack")[operator["stack_id"]]["frames"] == "inner\nouter"
    (call,) = rows(capture, "host_call")
    assert (call["level"], call["name"], call["connection"]) == ("node", "launch", "7")
    assert (capture.header.format, capture.header.pid, capture.header.device_id) == ("torch_npu-db", 41000, 1)
    assert not capture.ledger.entries


def test_without_connection_ids_the_operator_is_found_by_time(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    del tables["CONNECTION_IDS"]
    write(tmp_path, s, tables)

    capture = open_run(tmp_path)
    derive(capture)

    assert [row["operator_id"] for row in rows(capture, "kernel")] == [0]


def test_queue_rows_and_forward_backward_share_the_id_table_but_not_the_meaning(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["PYTORCH_API"] += [
        dict(
            startNs=str(T + 40), endNs=str(T + 45), globalTid=TID + 1, connectionId=1, name=s("MmBackward0"), type=50001
        ),
        dict(startNs=str(T + 2), endNs=str(T + 3), globalTid=TID, connectionId=2, name=s("Enqueue"), type=50002),
        dict(startNs=str(T + 4), endNs=str(T + 6), globalTid=TID + 2, connectionId=2, name=s("Dequeue@x"), type=50002),
    ]
    # 900 is the forward-backward id of both operators, 7 the queue's correlation: a launch's number by chance.
    tables["CONNECTION_IDS"] += [
        dict(id=0, connectionId=900),
        dict(id=1, connectionId=900),
        dict(id=2, connectionId=7),
    ]
    write(tmp_path, s, tables)

    capture = open_run(tmp_path)

    assert [row["operator_id"] for row in rows(capture, "kernel")] == [0]
    calls = rows(capture, "host_call")
    flows = {(row["kind"], row["src_table"], row["src_id"], row["dst_id"]) for row in rows(capture, "flow")}
    assert flows == {("queue", "host_call", 0, 1), ("fwdbwd", "operator", 0, 1)}
    assert [(row["level"], row["name"]) for row in calls] == [
        ("queue", "Enqueue"),
        ("queue", "Dequeue@x"),
        ("node", "launch"),
    ]


def test_steps_are_the_host_windows(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["STEP_TIME"] = [dict(id=8, startNs=T + 100, endNs=T + 160), dict(id=7, startNs=T, endNs=T + 100)]
    tables["PYTORCH_API"].append(
        dict(startNs=str(T), endNs=str(T + 100), globalTid=TID, name=s("ProfilerStep#7"), type=50001)
    )
    write(tmp_path, s, tables)

    capture = open_run(tmp_path)

    assert [(row["step_id"], row["step"], row["dur_ns"]) for row in rows(capture, "step")] == [(0, 7, 100), (1, 8, 60)]
    assert [row["name"] for row in rows(capture, "operator")] == ["aten::mm"]


def test_steps_without_their_table_come_from_the_marks(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["PYTORCH_API"].append(
        dict(startNs=str(T), endNs=str(T + 100), globalTid=TID, name=s("ProfilerStep#7"), type=50001)
    )
    write(tmp_path, s, tables)

    assert [(row["step"], row["ts_ns"], row["origin"]) for row in rows(open_run(tmp_path), "step")] == [(7, T, "mark")]


def test_marks_frames_and_collections(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["PYTORCH_API"] += [
        dict(startNs=str(T), endNs=str(T + 9), globalTid=TID, name=s("a.py(1): f"), type=50003),
        dict(startNs=str(T + 5), endNs=str(T + 5), globalTid=TID, name=s("saved"), type=50004),
    ]
    tables["MSTX_EVENTS"] = [
        dict(startNs=T + 5, endNs=0, eventType=0, message=s("saved"), globalTid=TID),
        dict(startNs=T + 6, endNs=T + 8, eventType=2, message=s("range"), globalTid=TID),
    ]
    tables["GC_RECORD"] = [dict(startNs=T + 1, endNs=T + 4, globalTid=TID)]
    write(tmp_path, s, tables)

    capture = open_run(tmp_path)

    assert [(row["name"], row["domain"], row["dur_ns"]) for row in rows(capture, "span")] == [
        ("a.py(1): f", "python", 9),
        ("saved", "mstx", 0),
        ("range", "mstx", 2),
    ]
    assert [(row["level"], row["dur_ns"]) for row in rows(capture, "host_call")] == [("node", 10), ("gc", 3)]
    assert not capture.ledger.entries


def test_level0_leaves_types_null_but_knows_the_core(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["COMPUTE_TASK_INFO"][0] |= dict(opType=s("N/A"), taskType=s("N/A"), inputShapes=s("N/A"), blockDim=NONE)
    write_info(tmp_path, level="Level0")
    write_database(database_path(tmp_path), s, **tables)

    capture = open_run(tmp_path)

    (kernel,) = rows(capture, "kernel")
    assert (kernel["op_type"], kernel["core_type"], kernel["input_shapes"]) == (None, "AI_CORE", None)
    assert kernel["block_count"] is None
    (entry,) = (e for e in capture.coverage if (e.table_name, e.column_name) == ("kernel", "op_type"))
    assert (entry.state, "Level1" in entry.turn_on) == ("missing", True)


def collective(s: Strings) -> dict[str, Any]:
    """An all-reduce of two plane tasks, its whole task on a core, and a copy beside it."""
    task = {"deviceId": 0, "streamId": 4}
    return {
        "TASK": [
            dict(startNs=T, endNs=T + 100, connectionId=9, globalTaskId=0, taskType=s("AI_CORE"), **task),
            dict(startNs=T + 1, endNs=T + 40, connectionId=9, globalTaskId=1, taskType=s("Notify Wait"), **task),
            dict(startNs=T + 40, endNs=T + 90, connectionId=9, globalTaskId=2, taskType=s("SDMA"), **task),
            dict(startNs=T + 200, endNs=T + 230, connectionId=11, globalTaskId=3, taskType=s("MEMCPY_ASYNC"))
            | {"deviceId": 0, "streamId": 2},
            dict(startNs=T + 240, endNs=T + 241, connectionId=NONE, globalTaskId=4, taskType=s("EVENT_RECORD"), **task),
        ],
        "COMMUNICATION_OP": [
            dict(opName=s("hcom_allReduce__210_5_1"), startNs=T, endNs=T + 100, connectionId=9)
            | dict(groupName=s("ab"), opId=3, dataType=3, count=50)
        ],
        "COMMUNICATION_TASK_INFO": [
            dict(globalTaskId=1, taskType=s("Notify_Wait"), planeId=1, srcRank=0, dstRank=1)
            | dict(transportType=2, size=0, linkType=65535, opId=3),
            dict(globalTaskId=2, taskType=s("Memcpy"), planeId=1, srcRank=0, dstRank=1)
            | dict(transportType=0, size=4096, linkType=1, opId=3),
        ],
        "MEMCPY_INFO": [dict(globalTaskId=3, size=512, memcpyOperation=1)],
        "ENUM_HCCL_DATA_TYPE": [dict(id=3, name="FP16")],
        "ENUM_HCCL_TRANSPORT_TYPE": [dict(id=0, name="SDMA"), dict(id=2, name="LOCAL")],
        "ENUM_HCCL_LINK_TYPE": [dict(id=1, name="HCCS"), dict(id=65535, name="INVALID_TYPE")],
    }


def test_a_collective_and_what_it_is_made_of(tmp_path: Path) -> None:
    s = Strings()
    write(tmp_path, s, collective(s))

    capture = open_run(tmp_path)

    (whole,) = rows(capture, "collective")
    assert (whole["op"], whole["sequence"], whole["size_bytes"], whole["dtype"]) == ("allreduce", 5, 100, "FP16")
    # 97 * 29 + 98 and 97 * 131 + 98, one behind the other.
    assert whole["group_id"] == str((2911 << 32) + 12805)
    assert (whole["wait_ns"], whole["sync_ns"], whole["transit_ns"], whole["idle_ns"]) == (39, 39, 50, 11)
    assert [(row["name"], row["kind"], row["stream"]) for row in rows(capture, "kernel")] == [
        ("MEMCPY_ASYNC", "copy", "2"),
        ("EVENT_RECORD", "sync", "4"),
        ("hcom_allReduce__210_5_1", "communication", "4"),
    ]
    assert whole["kernel_id"] == 2
    assert rows(capture, "kernel")[2]["device_id"] == 0
    copy = rows(capture, "kernel")[0]
    assert (copy["copy_direction"], copy["size_bytes"]) == ("h2d", 512)
    assert [
        (row["name"], row["stream"], row["transport"], row["size_bytes"]) for row in rows(capture, "comm_task")
    ] == [
        ("Notify_Wait", "Plane 1", "LOCAL", 0),
        ("Memcpy", "Plane 1", "SDMA/HCCS", 4096),
    ]
    assert [(e.kind, e.count, e.severity) for e in capture.ledger.entries] == [("task_part", 1, "info")]
    assert [(row["group_rank"], row["group_size"]) for row in rows(capture, "comm_group_member")] == [(0, 2), (1, 2)]


def test_parallel_groups_in_the_databases_metadata(tmp_path: Path) -> None:
    s = Strings()
    tables = collective(s)
    tables["META_DATA"] = [
        dict(name="parallel_group_info", value='{"ab": {"group_name": "tp", "group_rank": 0, "global_ranks": [4, 6]}}'),
        dict(name="distributed_args", value='{"world_size": 8}'),
        dict(name="SCHEMA_VERSION", value="1.1.0"),
    ]
    write(tmp_path, s, tables)

    capture = open_run(tmp_path)

    members = [(row["kind"], row["member_rank"], row["size_is_exact"]) for row in rows(capture, "comm_group_member")]
    assert members == [("tp", 4, True), ("tp", 6, True)]
    assert capture.header.world_size == 8
    assert capture.header.versions == {"database_schema": "1.1.0"}


def test_hardware_figures_have_the_names_of_the_text_export(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["TASK_PMU_INFO"] = [
        dict(globalTaskId=0, name=s("aic_total_time"), value=2500.0),
        dict(globalTaskId=0, name=s("aic_mac_ratio"), value=0.5),
        dict(globalTaskId=99, name=s("aic_mac_ratio"), value=0.5),
    ]
    write(tmp_path, s, tables)

    found = [(row["kernel_id"], row["metric"], row["value"]) for row in rows(open_run(tmp_path), "kernel_metric")]

    assert found == [(0, "aicore_time", 2500.0), (0, "aic_mac_ratio", 0.5)]


def test_memory_samples_whose_component_has_no_name_are_left_out_and_counted(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["MEMORY_RECORD"] = [
        dict(component=s("PTA"), timestamp=T, totalAllocated=5, totalReserved=9),
        dict(component=12_345, timestamp=T + 1, totalAllocated=6, totalReserved=9),
    ]
    write(tmp_path, s, tables)

    capture = open_run(tmp_path)

    assert [(row["component"], row["allocated_bytes"]) for row in rows(capture, "memory_sample")] == [("PTA", 5)]
    assert [(entry.kind, entry.place, entry.count) for entry in capture.ledger.entries] == [
        ("unreadable_rows", "table MEMORY_RECORD", 1)
    ]


def test_memory_and_counters(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["MEMORY_RECORD"] = [dict(component=s("PTA"), timestamp=T, totalAllocated=5, totalReserved=9)]
    tables["OP_MEMORY"] = [
        dict(name=s("aten::mm"), size=64, allocationTime=T, releaseTime=T + 9, allocationTotalAllocated=64, deviceId=1)
    ]
    tables["LLC"] = [dict(llcId=0, timestampNs=T, hitRate=78.5, throughput=4096, mode=s("read"))]
    write(tmp_path, s, tables)

    capture = open_run(tmp_path)

    assert [(row["component"], row["allocated_bytes"]) for row in rows(capture, "memory_sample")] == [("PTA", 5)]
    assert [
        (row["kind"], row["ts_ns"], row["allocated_bytes"], row["device"]) for row in rows(capture, "memory_event")
    ] == [
        ("alloc", T, 64, "NPU:1"),
        ("free", T + 9, None, "NPU:1"),
    ]
    assert [(row["name"], row["unit"], row["value"]) for row in rows(capture, "counter")] == [
        ("LLC 0 Read/Throughput", "bytes/s", 4096.0),
        ("LLC 0 Read/Hit Rate", "ratio", pytest.approx(0.785)),
    ]


def test_files_beside_the_database_fill_in_what_it_lacks(tmp_path: Path) -> None:
    s = Strings()
    write(tmp_path, s, collective(s))
    write_csv(tmp_path, "step_trace_time.csv", ["Step", "Computing"], [["5", "1.5"]])
    write_csv(tmp_path, "memory_record.csv", ["Component", "Timestamp(us)", "Total Reserved(MB)"], [["PTA", "1", "2"]])
    times = {"Start Timestamp(us)": T / 1000, "Elapse Time(ms)": 0.0001, "Transit Time(ms)": 0.00006}
    times |= {"Wait Time(ms)": 0.00002, "Synchronization Time(ms)": 0}
    entry = {"hcom_allReduce__210_5_1@77": {"Communication Time Info": times}}
    write_json(tmp_path, "communication.json", {"step5": {"collective": entry}})

    capture = open_run(tmp_path)

    assert [(row["name"], row["step"], row["value"]) for row in rows(capture, "metric")] == [
        ("exporter.step_trace.Computing", 5, 1500.0)
    ]
    assert [row["reserved_bytes"] for row in rows(capture, "memory_sample")] == [2 << 20]
    (whole,) = rows(capture, "collective")
    assert (whole["transit_ns"], whole["wait_ns"], whole["idle_ns"]) == (60, 20, 20)


def test_a_write_ahead_log_is_read_from_a_copy_and_left_alone(tmp_path: Path) -> None:
    s = Strings()
    path = write(tmp_path / "run", s, kernels(s))
    live = sqlite3.connect(path)
    with closing(live):
        live.execute("pragma journal_mode = wal")
        live.execute("insert into TASK select startNs + 100, endNs + 100, 1, 7, 1, 0, taskType, 0, 2, 6, 0 from TASK")
        live.commit()
        shutil.copytree(tmp_path / "run", tmp_path / "copied")
    folder = tmp_path / "copied"
    before = {path.name: path.read_bytes() for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()}
    assert before["ascend_pytorch_profiler_0.db-wal"]

    capture = open_run(folder)

    # The second task has no row of its own in COMPUTE_TASK_INFO: it is the share of another core.
    (part,) = (entry for entry in capture.ledger.entries if entry.kind == "task_part")
    assert part.count == 1
    assert [e.severity for e in capture.ledger.entries if e.kind == "write_ahead_log"] == ["info"]
    assert {path.name: path.read_bytes() for path in (folder / "ASCEND_PROFILER_OUTPUT").iterdir()} == before


@pytest.mark.parametrize(
    ("checkpoint", "log_is_empty"),
    [("truncate", True), ("passive", False), (None, None)],
    ids=["an empty log", "a log whose rows are in the database", "no log"],
)
def test_a_write_ahead_log_without_rows_changes_nothing(
    tmp_path: Path, checkpoint: str | None, log_is_empty: bool | None
) -> None:
    s = Strings()
    path = write(tmp_path / "run", s, kernels(s))
    alone = rows(open_run(tmp_path / "run"), "kernel")
    with closing(sqlite3.connect(path)) as live:
        live.execute("pragma journal_mode = wal")
        live.execute("create table viewer_state (name text)")
        live.commit()
        if checkpoint is not None:
            live.execute(f"pragma wal_checkpoint({checkpoint})")
            shutil.copytree(tmp_path / "run", tmp_path / "copied")
    if checkpoint is None:  # whoever closes last removes the log; the database stays one that has a log
        shutil.copytree(tmp_path / "run", tmp_path / "copied")
    output = tmp_path / "copied" / "ASCEND_PROFILER_OUTPUT"
    before = {path.name: path.read_bytes() for path in output.iterdir()}
    log = before.get("ascend_pytorch_profiler_0.db-wal")
    assert (None if log is None else log == b"") == log_is_empty

    capture = open_run(tmp_path / "copied")

    assert rows(capture, "kernel") == alone
    assert len(alone) == 1
    assert [e.kind for e in capture.ledger.entries] == ([] if log_is_empty in (True, None) else ["write_ahead_log"])
    assert {path.name: path.read_bytes() for path in output.iterdir()} == before


def test_a_database_is_read_from_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    s = Strings()
    path = write(tmp_path, s, kernels(s))
    before = sorted(child.name for child in path.parent.iterdir())

    open_run(tmp_path)

    assert sorted(child.name for child in path.parent.iterdir()) == before


def test_rows_with_impossible_times_are_counted(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["TASK"] += [
        dict(startNs=T + 9, endNs=T + 5, connectionId=NONE, globalTaskId=8, taskType=s("EVENT_WAIT")),
        dict(startNs="soon", endNs=T + 5, connectionId=NONE, globalTaskId=9, taskType=s("EVENT_WAIT")),
    ]
    write(tmp_path, s, tables)

    capture = open_run(tmp_path)

    assert len(rows(capture, "kernel")) == 1
    assert [(e.kind, e.place, e.count) for e in capture.ledger.entries] == [
        ("unreadable_cell", "table TASK, row 2", 1),
        ("impossible_time", "table TASK, row 1", 1),
    ]


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    s = Strings()
    path = write(tmp_path, s, kernels(s))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("update STRING_IDS set value = cast(x'6dff' as text) where value = 'mm_1'")
        connection.commit()

    capture = open_run(tmp_path)

    assert [row["name"] for row in rows(capture, "kernel")] == ["m\ufffd"]
    assert [(e.kind, e.count) for e in capture.ledger.entries] == [("invalid_utf8", 1)]


def test_an_unreadable_database_gives_way_to_the_text_export(tmp_path: Path) -> None:
    write_info(tmp_path)
    database_path(tmp_path).write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 40)
    kernel_csv(tmp_path, [{"Name": "mm", "Start Time(us)": "1", "Duration(us)": "2"}])

    capture = open_run(tmp_path)

    assert capture.header.format == "torch_npu-text"
    assert [row["name"] for row in rows(capture, "kernel")] == ["mm"]
    assert [entry.kind for entry in capture.ledger.entries] == ["unreadable_database"]


@pytest.mark.parametrize("size", [0, 15, 16, 100, 4096, 9000])
def test_a_cut_database_alone_is_a_format_error(tmp_path: Path, size: int) -> None:
    s = Strings()
    path = write(tmp_path, s, kernels(s))
    path.write_bytes(path.read_bytes()[:size])

    with pytest.raises(FormatError, match="unreadable database in ASCEND_PROFILER_OUTPUT"):
        open_run(tmp_path)


def test_a_damaged_page_costs_its_table_and_no_other(tmp_path: Path) -> None:
    s = Strings()
    tables = kernels(s)
    tables["TASK_PMU_INFO"] = [dict(globalTaskId=0, name=s("aic_mac_ratio"), value=i / 2.0) for i in range(20_000)]
    path = write(tmp_path, s, tables)
    data = bytearray(path.read_bytes())
    middle = len(data) * 2 // 3 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(bytes(data))

    capture = open_run(tmp_path)

    assert len(rows(capture, "kernel")) == 1
    assert [entry.kind for entry in capture.ledger.entries] == ["damaged_table"]
    (entry,) = (e for e in capture.coverage if (e.table_name, e.column_name) == ("kernel_metric", None))
    assert entry.state == "damaged"
