"""Small profiler databases, drawn by hand."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

__all__ = ["NONE", "Strings", "database_path", "write_database"]

NONE = 4294967295

_SCHEMA = {
    "TASK": "startNs,endNs,deviceId,connectionId,globalTaskId,globalPid,taskType,contextId,streamId,taskId,modelId",
    "COMPUTE_TASK_INFO": "name,globalTaskId,blockDim,mixBlockDim,taskType,opType,inputFormats,inputDataTypes,"
    "inputShapes,outputFormats,outputDataTypes,outputShapes,attrInfo",
    "COMMUNICATION_OP": "opName,startNs,endNs,connectionId,groupName,opId,relay,retry,dataType,algType,count,opType",
    "COMMUNICATION_TASK_INFO": "name,globalTaskId,taskType,planeId,groupName,notifyId,rdmaType,srcRank,dstRank,"
    "transportType,size,dataType,linkType,opId",
    "CANN_API": "startNs,endNs,type,globalTid,connectionId,name",
    "PYTORCH_API": "startNs,endNs,globalTid,connectionId,name,sequenceNumber,fwdThreadId,inputDtypes,inputShapes,"
    "callchainId,type",
    "CONNECTION_IDS": "id,connectionId",
    "PYTORCH_CALLCHAINS": "id,stack,stackDepth",
    "STEP_TIME": "id,startNs,endNs",
    "MEMCPY_INFO": "globalTaskId,size,memcpyOperation",
    "TASK_PMU_INFO": "globalTaskId,name,value",
    "META_DATA": "name,value",
    "MEMORY_RECORD": "component,timestamp,totalAllocated,totalReserved,totalActive,streamPtr,deviceId",
    "OP_MEMORY": "name,size,allocationTime,releaseTime,activeReleaseTime,duration,activeDuration,"
    "allocationTotalAllocated,allocationTotalReserved,allocationTotalActive,releaseTotalAllocated,"
    "releaseTotalReserved,releaseTotalActive,streamPtr,deviceId",
    "LLC": "deviceId,llcId,timestampNs,hitRate,throughput,mode",
    "MSTX_EVENTS": "startNs,endNs,eventType,rangeId,category,message,globalTid,endGlobalTid,domainId,connectionId",
    "GC_RECORD": "startNs,endNs,globalTid",
    "ENUM_API_TYPE": "id,name",
    "ENUM_HCCL_DATA_TYPE": "id,name",
    "ENUM_HCCL_LINK_TYPE": "id,name",
    "ENUM_HCCL_TRANSPORT_TYPE": "id,name",
    "RANK_DEVICE_MAP": "rankId,deviceId",
    "SESSION_TIME_INFO": "startTimeNs,endTimeNs",
    "NPU_INFO": "id,name",
    "HOST_INFO": "hostUid,hostName",
    "StepTraceTime": "step,computing,communication_not_overlapped,overlapped,communication,free,stage,bubble,"
    "communication_not_overlapped_and_exclude_receive,preparing",
}


class Strings:
    """Gives ids of STRING_IDS; the same text gets another id each time, as real databases have it."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str]] = []

    def __call__(self, text: str) -> int:
        self.rows.append((len(self.rows), text))
        return len(self.rows) - 1


def database_path(folder: Path, name: str = "ascend_pytorch_profiler_0.db") -> Path:
    """Return where a run folder keeps its database; the folder is made."""
    path = folder / "ASCEND_PROFILER_OUTPUT" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_database(path: Path, strings: Strings, **tables: Sequence[Mapping[str, Any]]) -> Path:
    """Write tables; columns that a row does not give are null."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table STRING_IDS (id integer primary key, value text)")
        connection.executemany("insert into STRING_IDS values (?, ?)", strings.rows)
        for name, rows in tables.items():
            columns = _SCHEMA[name].split(",")
            connection.execute(f"create table {name} ({', '.join(columns)})")
            marks = ", ".join("?" for _ in columns)
            values = [tuple(row.get(column) for column in columns) for row in rows]
            assert all(set(row) <= set(columns) for row in rows), name
            connection.executemany(f"insert into {name} values ({marks})", values)
        connection.commit()
    return path
