"""A small cluster analysis of two ranks, as text and as a database; figures by hand."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from ascend_sn.formats.cluster_output.reader import READER
from ascend_sn.formats.reader import Candidate, Source
from ascend_sn.model.capture import Capture

__all__ = ["GROUP", "NAME", "OP", "open_ranks", "write_cluster_database", "write_text"]

NAME = "cluster_analysis_output"
GROUP = "513616803227540210"
OP = "hcom_allReduce__210_3_1"
START_US = 1_760_000_000_000_000

_HEADER = (
    "Step,Type,Index,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,"
    "Communication(Not Overlapped and Exclude Receive),Preparing,DP Index,PP Index,TP Index"
)
_ROWS = (
    "2,rank,0,100.5,20,5,25,30,150.5,0,20,3,0,1,0",
    "2,rank,4,110,10,5,15,30,150,0,10,3,0,1,1",
    '2,stage,"(0, 4)",110,20,5,25,30,150.5,0,20,3,NA,NA,NA',
)
TIMES = {0: (0, 10.0, 4.0, 5.0, 4.5), 4: (5_000, 5.0, 4.0, 0.5, 0.0)}
"""Start after START_US in microseconds; elapse, transit, wait, synchronisation in milliseconds."""


def open_ranks(path: Path) -> dict[int | None, Capture]:
    """Read a path that the reader claims; captures by rank."""
    assert READER.claims(Candidate(path))
    return {capture.header.rank: capture for capture in READER.read(Source(READER, path, path))}


def write_text(folder: Path) -> Path:
    """Write the CSV file and the three JSON files."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cluster_step_trace_time.csv").write_text("\n".join([_HEADER, *_ROWS]) + "\n")
    of_ranks = {str(rank): _info(*times) for rank, times in TIMES.items()}
    communication = {"(0, 4)": {"step2": {f"{OP}@{GROUP}": of_ranks, "Total Op Info": of_ranks}}}
    _write(folder / "cluster_communication.json", communication)
    pairs = {"0-4": _link(1.0, 2.0), "4-0": _link(3.0, 2.5)}
    operations = {f"allreduce-total@{GROUP}": pairs, f"allreduce-top1@{GROUP}": pairs}
    _write(folder / "cluster_communication_matrix.json", {"(0, 4)": {"step2": operations}})
    named = {"type": "collective", "rank_set": "(0, 4)", "group_name": GROUP, "group_id": "x", "pg_name": "tp"}
    _write(
        folder / "communication_group.json",
        {"collective": [[4, 0], [0], [0, 4]], "p2p": [], "comm_group_parallel_info": [named]},
    )
    return folder


def write_cluster_database(path: Path) -> Path:
    """Write the same figures as a database."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tables: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
        "ClusterStepTraceTime": (
            'step, type, "index", computing, communication_not_overlapped, overlapped, communication, free, stage,'
            "bubble, communication_not_overlapped_and_exclude_receive, preparing, dp_index, pp_index, tp_index",
            [
                ("2", "rank", "0", 100.5, 20.0, 5.0, 25.0, 30.0, 150.5, 0.0, 20.0, 3.0, 0, 1, 0),
                ("2", "rank", "4", 110.0, 10.0, 5.0, 15.0, 30.0, 150.0, 0.0, 10.0, 3.0, 0, 1, 1),
                ("2", "stage", "(0, 4)", 110.0, 20.0, 5.0, 25.0, 30.0, 150.5, 0.0, 20.0, 3.0, None, None, None),
            ],
        ),
        "ClusterCommunicationTime": (
            "step, rank_id, hccl_op_name, group_name, start_timestamp, elapsed_time, transit_time, wait_time,"
            "synchronization_time, idle_time",
            [("step2", rank, OP, GROUP, float(START_US + at), *parts, 0.0) for rank, (at, *parts) in TIMES.items()],
        ),
        "ClusterCommunicationBandwidth": (
            "step, rank_id, hccl_op_name, group_name, band_type, transit_size, transit_time, package_size",
            [("step2", rank, OP, GROUP, "HCCS", 2.0, 4.0, size) for rank in TIMES for size in (0.5, 1.0)],
        ),
        "ClusterCommunicationMatrix": (
            "step, hccl_op_name, group_name, src_rank, dst_rank, transport_type, transit_size, transit_time, op_name",
            [
                ("step2", f"allreduce-{stat}", GROUP, src, dst, "HCCS", size, time, OP if stat == "top1" else None)
                for stat in ("top1", "total")
                for src, dst, size, time in ((0, 4, 1.0, 2.0), (4, 0, 3.0, 2.5))
            ],
        ),
        "CommunicationGroupMapping": (
            "type, rank_set, group_name, group_id, pg_name",
            [("collective", "(0,4)", GROUP, "x", "tp"), ("collective", "(0)", "77", "y", "")],
        ),
        "HostInfo": ("hostUid, hostName", [("u", "node-a")]),
        "RankDeviceMap": (
            "rankId, deviceId, hostUid, profilePath",
            [(0, 2, "u", ""), (4, 6, "u", ""), (9, 1, "u", "")],
        ),
        "ClusterBaseInfo": ("key, value", [("distributed_args", json.dumps({"world_size": 8}))]),
    }
    with closing(sqlite3.connect(path)) as connection:
        for name, (columns, rows) in tables.items():
            connection.execute(f"create table {name} ({columns})")
            connection.executemany(f"insert into {name} values ({', '.join('?' * len(rows[0]))})", rows)
        connection.commit()
    return path


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def _info(at_us: int, elapse: float, transit: float, wait: float, sync: float) -> dict[str, Any]:
    times = {
        "Start Timestamp(us)": float(START_US + at_us),
        "Elapse Time(ms)": elapse,
        "Transit Time(ms)": transit,
        "Wait Time(ms)": wait,
        "Synchronization Time(ms)": sync,
    }
    block = {"Transit Size(MB)": 2.0, "Transit Time(ms)": 4.0}
    return {"Communication Time Info": times, "Communication Bandwidth Info": {"HCCS": block, "SDMA": block}}


def _link(size: float, time: float) -> dict[str, Any]:
    return {"Transport Type": "HCCS", "Transit Size(MB)": size, "Transit Time(ms)": time, "Op Name": OP}
