"""Well-formed files with values that cannot be: no traceback, no overflow, no memory bomb."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings, strategies as st

from ascend_sn.derive import derive
from ascend_sn.errors import EmptyInputError, FormatError
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import coverage_rows
from tests.unit.formats.torch_npu.databases import Strings, database_path, write_database
from tests.unit.formats.torch_npu.runs import KERNEL_HEADER, open_run, write_csv, write_info, write_json
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
)

ODD: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([0, -1, 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, -(2**63), 2**64, 10**30]),
    st.sampled_from(["", "N/A", "x", "NaN", "1e400", "9" * 40, "-5", "0.0005", "\ufffd", "\0", "null", "4294967295"]),
    st.sampled_from([1.5, -2.5, 1e308, None, True, [], {}, [1, [2]], {"a": 1}]),
)
QUIET = settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


def fresh(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    shutil.rmtree(folder, ignore_errors=True)
    write_info(folder)
    return folder


def read_to_the_end(folder: Path) -> None:
    """Read, derive, and take every value out once, as the store does."""
    with suppress(FormatError, EmptyInputError):
        capture: Capture = open_run(folder)
        derive(capture)
        capture.header.rows()
        coverage_rows(capture.coverage)
        for table in capture.tables.values():
            table.to_dicts()
            lengths = {len(column) for column in table.columns.values()}
            assert lengths <= {len(table)}


TRACE = [
    op("ProfilerStep#1", 0, 900),
    op("aten::mm", 0, 100, args={"Input Dims": "1;\r\n2", "Call stack": "a;\r\nb"}),
    slice_("Enqueue", PYTHON, 1, 5, 5, "enqueue", correlation_id=3),
    slice_("Dequeue@x", PYTHON, 2, 15, 25, "dequeue", correlation_id=3),
    call("Node@launch", 16, 5, 7, tid=2, level="node"),
    task("mm_1", 50, 9, 7),
    task("MEMCPY_ASYNC", 80, 9, 7, kind="SDMA_SQE", args={"data size(Byte)": 4, "memcpy direction": "host to device"}),
    group_op("hcom_allReduce__123_4_1", 100, 100, 8),
    task("Notify Wait", 100, 30, 8, stream=4, kind="Notify Wait"),
    plane("Memcpy", 100, 30, 1, size=4096, dst=5),
    counter(1, "AI Core Freq", 0, MHz=1800),
    counter(1, "read_ost", 0, value=3, acc_id=1),
    *arrow("async_npu", 50, (PYTHON, 1, 0), (DEVICE, 2, 50)),
    *arrow("fwdbwd", 9, (PYTHON, 1, 0), (PYTHON, 1, 0)),
    *arrow("HostToDevice", "40004068119343529983", (CANN, 2, 16), (DEVICE, 2, 50)),
    *name(PYTHON, "Python"),
    *name(CANN, "CANN"),
    *name(DEVICE, "Ascend Hardware", t2="Stream 2"),
    *name(COMM, "HCCL", t0="Group 0 Communication", t2="Plane 1"),
]


@QUIET
@given(st.data())
def test_events_of_the_trace(tmp_path: Path, data: st.DataObject) -> None:
    events = json.loads(json.dumps(TRACE))
    for _ in range(data.draw(st.integers(1, 4))):
        event = data.draw(st.sampled_from(events))
        arguments = event.get("args")
        place = arguments if isinstance(arguments, dict) and arguments and data.draw(st.booleans()) else event
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ODD)
    folder = fresh(tmp_path)
    write_json(folder, "trace_view.json", events)

    read_to_the_end(folder)


@QUIET
@given(st.data())
def test_cells_of_the_csv_files(tmp_path: Path, data: st.DataObject) -> None:
    folder = fresh(tmp_path)
    kernel = dict.fromkeys(KERNEL_HEADER, "1") | {"Name": "mm", "Type": "MatMul", "Accelerator Core": "AI_CORE"}
    memory = ["Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Allocation Total Allocated(MB)"]
    tables: dict[str, tuple[list[str], list[str]]] = {
        "kernel_details.csv": (list(kernel), list(kernel.values())),
        "operator_memory.csv": (memory, ["aten::mm", "1", "1", "2", "3"]),
        "memory_record.csv": (["Component", "Timestamp(us)", "Total Reserved(MB)"], ["PTA", "1", "2"]),
        "npu_module_mem.csv": (["Component", "Timestamp(us)", "Total Reserved(MB)"], ["GE", "1", "2"]),
        "step_trace_time.csv": (["Device_id", "Step", "Computing", "Free"], ["0", "1", "2", "3"]),
    }
    for file, (header, cells) in tables.items():
        rows = [list(cells) for _ in range(3)]
        for _ in range(data.draw(st.integers(0, 3))):
            row = data.draw(st.sampled_from(rows))
            row[data.draw(st.integers(0, len(header) - 1))] = str(data.draw(ODD))
        write_csv(folder, file, header, rows)

    read_to_the_end(folder)


@QUIET
@given(st.data())
def test_values_of_the_json_files(tmp_path: Path, data: st.DataObject) -> None:
    times: dict[str, Any] = {
        "Start Timestamp(us)": 1.5,
        "Elapse Time(ms)": 1,
        "Transit Time(ms)": 0,
        "Wait Time(ms)": 1,
    }
    times |= {"Wait Time(ms)": 1, "Synchronization Time(ms)": 0}
    band: dict[str, Any] = {"Transit Size(MB)": 3, "Transit Time(ms)": 2}
    link: dict[str, Any] = {"Transport Type": "HCCS", "Transit Size(MB)": 2, "Transit Time(ms)": 1}
    info: dict[str, Any] = {"rank_id": 0, "start_info": {"start_monotonic": 1}, "end_info": {"collectionTimeEnd": 9}}
    info["end_info"]["MonotonicTimeEnd"] = 5
    group: dict[str, Any] = {"group_name": "tp", "group_rank": 0, "global_ranks": [0, 1]}
    metadata: dict[str, Any] = {"parallel_group_info": {"ab": group}, "distributed_args": {"world_size": 2}}
    for place in (times, band, link, info, info["start_info"], info["end_info"], group, metadata):
        if data.draw(st.booleans()):
            place[data.draw(st.sampled_from(sorted(place)))] = data.draw(ODD)
    folder = fresh(tmp_path)
    pair = data.draw(st.sampled_from(["0-1", "0-4294967295", "x-y", "-", f"0-{10**30}"]))
    entry = {"Communication Time Info": times, "Communication Bandwidth Info": {"HCCS": band}}
    write_json(folder, "communication.json", {"step1": {"collective": {"hcom_allReduce__1_0_1@7": entry}}})
    write_json(folder, "communication_matrix.json", {"step1": {"collective": {"allreduce-total@7": {pair: link}}}})
    (folder / "profiler_info.json").unlink()
    (folder / "profiler_info_0.json").write_text(json.dumps(info))
    (folder / "profiler_metadata.json").write_text(json.dumps(metadata))

    read_to_the_end(folder)


@QUIET
@given(st.data())
def test_values_of_the_database(tmp_path: Path, data: st.DataObject) -> None:
    s = Strings()
    ids = {word: s(word) for word in ("mm", "AI_CORE", "MatMul", "Memcpy", "PTA", "ProfilerStep#1", "hcom_a__1_0_1")}
    common = {"startNs": 10, "endNs": 20}
    tables: dict[str, list[dict[str, Any]]] = {
        "TASK": [
            {**common, "deviceId": 0, "connectionId": 7, "globalTaskId": 0, "taskType": ids["AI_CORE"], "streamId": 2},
            {**common, "deviceId": 0, "connectionId": 8, "globalTaskId": 1, "taskType": ids["Memcpy"], "streamId": 4},
        ],
        "COMPUTE_TASK_INFO": [
            {"name": ids["mm"], "globalTaskId": 0, "blockDim": 2, "taskType": ids["AI_CORE"], "opType": ids["MatMul"]}
        ],
        "COMMUNICATION_OP": [
            {**common, "opName": ids["hcom_a__1_0_1"], "connectionId": 8, "groupName": ids["mm"], "opId": 3, "count": 5}
            | {"dataType": 3}
        ],
        "COMMUNICATION_TASK_INFO": [
            {"globalTaskId": 1, "taskType": ids["Memcpy"], "planeId": 0, "srcRank": 0, "dstRank": 1, "size": 8}
            | {"opId": 3, "transportType": 0, "linkType": 1}
        ],
        "CANN_API": [{**common, "type": 10000, "globalTid": 5 << 32, "connectionId": 7, "name": ids["mm"]}],
        "PYTORCH_API": [
            {"startNs": "10", "endNs": "90", "globalTid": 5 << 32, "connectionId": 0, "name": ids["mm"], "type": 50001}
        ],
        "CONNECTION_IDS": [{"id": 0, "connectionId": 7}],
        "STEP_TIME": [{"id": 1, **common}],
        "TASK_PMU_INFO": [{"globalTaskId": 0, "name": ids["mm"], "value": 1.5}],
        "MEMORY_RECORD": [{"component": ids["PTA"], "timestamp": 5, "totalAllocated": 6, "totalReserved": 7}],
        "OP_MEMORY": [{"name": ids["mm"], "size": 5, "allocationTime": 5, "releaseTime": 6, "deviceId": 0}],
        "RANK_DEVICE_MAP": [{"rankId": 0, "deviceId": 0}],
        "SESSION_TIME_INFO": [{"startTimeNs": 5}],
        "META_DATA": [{"name": "parallel_group_info", "value": "{}"}],
    }
    storable = ODD.filter(lambda value: not isinstance(value, list | dict)).map(
        lambda value: value if not isinstance(value, int) or -(2**63) <= value < 2**63 else 2**63 - 1
    )
    for _ in range(data.draw(st.integers(1, 4))):
        row = data.draw(st.sampled_from(tables[data.draw(st.sampled_from(sorted(tables)))]))
        row[data.draw(st.sampled_from(sorted(row)))] = data.draw(storable)
    folder = fresh(tmp_path)
    write_database(database_path(folder), s, **tables)

    read_to_the_end(folder)
