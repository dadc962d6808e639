"""The database output of a cluster analysis: `cluster_analysis.db`."""

from __future__ import annotations

from typing import Any

from ascend_sn.errors import JsonTextError
from ascend_sn.formats.cluster_output.figures import ClusterFigures, ranks_in
from ascend_sn.formats.json_text import json_value
from ascend_sn.formats.sqlite_columns import Database
from ascend_sn.formats.torch_npu.communication_parts import parts_by_rank
from ascend_sn.formats.torch_npu.groups import group_kind
from ascend_sn.formats.torch_npu.limits import rank_of, whole
from ascend_sn.formats.torch_npu.links import links_from_database
from ascend_sn.formats.torch_npu.step_trace import STEP_TRACE_COLUMNS, STEP_TRACE_METRIC, step_trace_value

__all__ = ["read_cluster_database"]

_GROUP_TABLES = ("CommunicationGroupMapping", "CommunicationGroup")


def read_cluster_database(database: Database, into: ClusterFigures) -> None:
    """Take in what the database holds; tables of other analyses of the same tool are left alone."""
    _step_trace(database, into)
    for rank, parts in parts_by_rank(database).items():
        into.of(rank).parts += parts
    for entry in links_from_database(database, "ClusterCommunicationMatrix"):
        into.of(entry.src).links.append(entry)
    _groups(database, into)
    _hosts(database, into)
    base = database.read("ClusterBaseInfo", "key", "value")
    for key, value in zip(base["key"], base["value"], strict=True):
        into.base[str(key)] = _decoded(value)
    for table, name in (
        ("metric", "ClusterStepTraceTime"),
        ("collective", "ClusterCommunicationTime"),
        ("link", "ClusterCommunicationMatrix"),
    ):
        if name in database.damaged:
            into.damaged[table] = f"table {name} could not be read to its end"


def _step_trace(database: Database, into: ClusterFigures) -> None:
    places = {"dp_index": "dp", "pp_index": "pp", "tp_index": "tp"}
    rows = database.read("ClusterStepTraceTime", "step", "type", "index", *STEP_TRACE_COLUMNS, *places)
    bad = 0
    for at, (type_, index) in enumerate(zip(rows["type"], rows["index"], strict=True)):
        if type_ != "rank":
            continue
        rank = rank_of(index)
        if rank is None:
            bad += 1
            continue
        figures = into.of(rank)
        step = whole(rows["step"][at])
        for column, name in STEP_TRACE_COLUMNS.items():
            cell = rows[column][at]
            value = None if cell is None else step_trace_value(str(cell))
            if value is not None:
                figures.step_trace.append((STEP_TRACE_METRIC + name, step, value))
            bad += cell is not None and value is None
        for column, kind in places.items():
            place = rank_of(rows[column][at])
            if place is not None:
                figures.places[kind] = place
    if bad:
        database.ledger.add(database.file, "unreadable_cell", place="table ClusterStepTraceTime", count=bad)


def _groups(database: Database, into: ClusterFigures) -> None:
    table = next((name for name in _GROUP_TABLES if database.has(name)), _GROUP_TABLES[0])
    rows = database.read(table, "rank_set", "group_name", "pg_name")
    for ranks, group, kind in zip(rows["rank_set"], rows["group_name"], rows["pg_name"], strict=True):
        name = str(group) if group not in (None, "") else None
        into.add_group(name, group_kind(kind if isinstance(kind, str) else ""), ranks_in(ranks))


def _hosts(database: Database, into: ClusterFigures) -> None:
    hosts = database.read("HostInfo", "hostUid", "hostName")
    names = dict(zip(map(str, hosts["hostUid"]), hosts["hostName"], strict=True))
    rows = database.read("RankDeviceMap", "rankId", "deviceId", "hostUid")
    for rank_id, device, host in zip(rows["rankId"], rows["deviceId"], rows["hostUid"], strict=True):
        rank = rank_of(rank_id)
        # A rank that only stands in the map has no figures.
        if rank is None or rank not in into.ranks:
            continue
        name = names.get(str(host))
        into.ranks[rank].host = name if isinstance(name, str) else None
        into.ranks[rank].device_id = whole(device, 1 << 31)


def _decoded(value: Any) -> Any:
    try:
        return json_value(value) if isinstance(value, str) else value
    except JsonTextError:
        return value
