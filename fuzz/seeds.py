"""Small sound inputs of every fuzzed format, to be damaged: name of each file and its content."""

from __future__ import annotations

import gzip
import pickle
import random
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["SEEDS", "Files"]

Files = Mapping[str, bytes]

START_US: Final = 1_760_000_000_000_000
OUTPUT: Final = "ASCEND_PROFILER_OUTPUT"


def traces(dice: random.Random) -> Files:
    """Return a trace: of torch_npu, of Kineto, or of an unknown writer."""
    from benchmarks.rank_writer import write_rank
    from benchmarks.trace_writer import write_kineto
    from fuzz.native_core import event_list

    writer = dice.choice((write_rank, write_kineto, None))
    if writer is None:
        return {"trace.json": event_list(dice)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        writer(path, dice.choice((1_000, 13_000)))
        return {"trace.json": path.read_bytes()}


def exports(dice: random.Random) -> Files:
    """Return a run folder of torch_npu with its CSV exports."""
    rows = range(dice.randrange(1, 8))
    kernels = [
        f"1,4294967295,{i},2,op_{i},MatMul,AI_CORE,{START_US + 10 * i}.{i:03d}\t,{5 + i}.5,0,8,"
        f'"""4,8;8,2""",FLOAT;FLOAT,ND;ND,"""4,2""",FLOAT,ND,0.{i},0.5'
        for i in rows
    ]
    memory = [
        f"aten::empty,{i}.5,{START_US + i}.5\t,{START_US + i + 9}\t,,9,,1.0,4.0,1.0,0.5,4.0,0.5,77,NPU:0" for i in rows
    ]
    record = [f"PTA,{START_US + i}.810\t,954.37,1452.0,0.0,897357296,NPU:0" for i in rows]
    return {
        "profiler_info.json": b'{"config": {"experimental_config": {"_profiler_level": "Level1"}}}',
        f"{OUTPUT}/kernel_details.csv": _csv(
            "Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),Wait Time(us),"
            "Block Dim,Input Shapes,Input Data Types,Input Formats,Output Shapes,Output Data Types,Output Formats,"
            "aicore_time(us),aic_mac_ratio",
            kernels,
        ),
        f"{OUTPUT}/operator_memory.csv": _csv(
            "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),"
            "Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),"
            "Allocation Total Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),"
            "Release Total Active(MB),Stream Ptr,Device Type",
            memory,
        ),
        f"{OUTPUT}/memory_record.csv": _csv(
            "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type",
            record,
        ),
        f"{OUTPUT}/step_trace_time.csv": _csv(
            "Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
            "Communication(Not Overlapped and Exclude Receive),Preparing",
            ["1,8873.756,101963.203,4028.675,105991.878,25744.05,136581.0,0,101963.203,17902.5"],
        ),
    }


def databases(dice: random.Random) -> Files:
    """Return a run folder of torch_npu with its database."""
    from tests.unit.formats.torch_npu.databases import Strings, write_database

    strings, count, first = Strings(), dice.randrange(1, 6), START_US * 1_000
    tables: dict[str, list[dict[str, Any]]] = {
        "TASK": [
            {"startNs": first + 100 * i, "endNs": first + 100 * i + 60, "deviceId": 0, "connectionId": i}
            | {"globalTaskId": i, "taskType": strings("KERNEL_AICORE"), "streamId": 2, "taskId": i}
            for i in range(count)
        ],
        "COMPUTE_TASK_INFO": [
            {"name": strings(f"mm_{i}"), "globalTaskId": i, "blockDim": 20, "taskType": strings("AI_CORE")}
            | {"opType": strings("MatMulV2"), "inputShapes": strings('"4,8;8,2"')}
            for i in range(count)
        ],
        "CANN_API": [
            {"startNs": first + 10, "endNs": first + 20, "type": 10000, "globalTid": 7, "connectionId": i}
            | {"name": strings("launch")}
            for i in range(count)
        ],
        "PYTORCH_API": [
            {"startNs": str(first), "endNs": str(first + 30), "globalTid": 7, "connectionId": 0, "type": 50001}
            | {"name": strings("aten::mm"), "callchainId": 3}
        ],
        "CONNECTION_IDS": [{"id": 0, "connectionId": i} for i in range(count)],
        "PYTORCH_CALLCHAINS": [{"id": 3, "stack": strings("outer"), "stackDepth": 0}],
        "STEP_TIME": [{"id": 1, "startNs": first, "endNs": first + 900}],
    }
    tables = {name: [_odd(dice, row) for row in rows] for name, rows in tables.items()}
    with tempfile.TemporaryDirectory() as folder:
        content = write_database(Path(folder) / "made.db", strings, **tables).read_bytes()
    return {
        "profiler_info_0.json": b'{"config": {}, "rank_id": 0}',
        f"{OUTPUT}/ascend_pytorch_profiler_0.db": content,
    }


def snapshots(dice: random.Random) -> Files:
    """Return a memory snapshot, in any protocol of pickle, sometimes compressed."""
    frames = [{"name": "forward", "filename": "net.py", "line": 7}]
    actions = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "oom", "snapshot")
    trace = [
        _odd(dice, {"action": dice.choice(actions), "addr": i % 3, "size": 64 * i, "stream": 0, "frames": frames})
        for i in range(dice.randrange(1, 12))
    ]
    segment = {"device": 0, "total_size": 1024, "allocated_size": 140, "active_size": 140, "blocks": [], "address": 1}
    snapshot = _odd(dice, {"segments": [_odd(dice, segment)], "device_traces": [trace, []]})
    data = pickle.dumps(snapshot, protocol=dice.randrange(6))
    return {"snapshot.pickle": gzip.compress(data) if dice.random() < 0.1 else data}


def _odd(dice: random.Random, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, rarely one of them of a kind or size that no writer gives."""
    if dice.random() < 0.9:
        return values
    odd = dice.choice((None, -1, "", "\ud7ff x", b"\xff", 1e300, float("nan"), (1 << 63) - 1, -(1 << 63), "9" * 40))
    return {**values, dice.choice(list(values)): odd}


def _csv(header: str, rows: list[str]) -> bytes:
    return "\n".join([header, *rows, ""]).encode()


SEEDS: Final[dict[str, Callable[[random.Random], Files]]] = {
    "json": traces,
    "csv": exports,
    "sqlite": databases,
    "pickle": snapshots,
}
