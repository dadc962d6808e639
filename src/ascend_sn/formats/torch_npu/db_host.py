"""Host side of the profiler database: operators, CANN calls, the task queue, steps, stacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from ascend_sn.formats.sqlite_columns import Database, sqlite_integers
from ascend_sn.formats.torch_npu.db_rows import checked_times, threads
from ascend_sn.formats.torch_npu.host_rows import (
    LEVELS,
    is_step,
    item_list,
    queue_flows,
    step_number_of,
    step_rows,
)
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import FLOW, HOST_CALL, OPERATOR, SPAN, STACK

__all__ = ["DatabaseHost", "read_host"]

_OPERATOR, _QUEUE, _PYTHON, _MSTX = 50001, 50002, 50003, 50004
_MARKERS: Final = (0, 3)
_API_TYPES: Final = {
    5000: "runtime",
    5500: "hccl",
    10000: "node",
    15000: "model",
    20000: "acl",
    _OPERATOR: "op",
    _QUEUE: "queue",
    _PYTHON: "trace",
    _MSTX: "mstx",
    25000: "op",
    30000: "op",
}


@dataclass(frozen=True)
class DatabaseHost:
    """Host tables, and what links device tasks to them.

    Attributes:
        tables: operator, host_call, step, span, stack, flow.
        call_of_connection: host_call_id by connection id.
        operator_of_connection: operator_id by connection id.
        pid: Process id, if any row names it.
    """

    tables: dict[str, Rows]
    call_of_connection: dict[int, int]
    operator_of_connection: dict[int, int]
    pid: int | None


@dataclass(frozen=True)
class _Api:
    """Rows of PYTORCH_API, times checked."""

    ts: Int64
    dur: Int64
    tid: Nullable
    connection: list[Any]
    name: Text
    sequence: list[Any]
    dtypes: Text
    shapes: Text
    chain: list[Any]
    type: Int64


def read_host(database: Database) -> DatabaseHost:
    """Read PYTORCH_API, CANN_API, CONNECTION_IDS, PYTORCH_CALLCHAINS, STEP_TIME, GC_RECORD, MSTX_EVENTS."""
    api = _pytorch_api(database)
    step_names = api.name.where(is_step)
    operators = np.flatnonzero((api.type == _OPERATOR) & ~step_names)
    queues = np.flatnonzero(api.type == _QUEUE)
    connections = _connections(database)
    stack_rows, stack_of_chain = _stacks(database, {api.chain[i] for i in operators.tolist()})
    calls, call_of_connection = _host_calls(database, api, queues)
    spans = _spans(database, api)
    operator_of_connection, forward_backward = _operator_links(api, operators, connections, call_of_connection)
    tables = {
        "operator": _operators(api, operators, stack_of_chain),
        "host_call": calls,
        "step": _steps(database, api, np.flatnonzero(step_names)),
        "span": spans,
        "stack": stack_rows,
        "flow": concatenate(FLOW, [_queue_flows(api, queues, connections), forward_backward]),
    }
    pids = api.tid.values[api.tid.valid] >> 32
    return DatabaseHost(tables, call_of_connection, operator_of_connection, int(pids[0]) if len(pids) else None)


def _pytorch_api(database: Database) -> _Api:
    rows = database.read(
        "PYTORCH_API",
        "startNs",
        "endNs",
        "globalTid",
        "connectionId",
        "name",
        "sequenceNumber",
        "inputDtypes",
        "inputShapes",
        "callchainId",
        "type",
    )
    start, end = sqlite_integers(rows["startNs"]), sqlite_integers(rows["endNs"])
    usable = checked_times(database, "PYTORCH_API", start, end)
    index = np.flatnonzero(usable).tolist()
    kept = {name: [column[i] for i in index] for name, column in rows.items()}
    types = sqlite_integers(kept["type"])
    # Very old databases have operators only, and no type.
    type_ = np.where(types.valid, types.values, _OPERATOR)
    type_[(type_ == 25000) | (type_ == 30000)] = _OPERATOR
    return _Api(
        ts=start.values[usable],
        dur=end.values[usable] - start.values[usable],
        tid=sqlite_integers(kept["globalTid"]),
        connection=kept["connectionId"],
        name=database.texts(kept["name"]),
        sequence=kept["sequenceNumber"],
        dtypes=database.texts(kept["inputDtypes"]).mapped(item_list),
        shapes=database.texts(kept["inputShapes"]).mapped(item_list),
        chain=kept["callchainId"],
        type=type_,
    )


def _operators(api: _Api, index: Int64, stack_of_chain: dict[Any, int]) -> Rows:
    return conform(
        OPERATOR,
        len(index),
        operator_id=np.arange(len(index), dtype=np.int64),
        thread=threads(api.tid).take(index),
        name=api.name.take(index),
        ts_ns=api.ts[index],
        dur_ns=api.dur[index],
        input_shapes=api.shapes.take(index),
        input_dtypes=api.dtypes.take(index),
        stack_id=[stack_of_chain.get(api.chain[i]) for i in index.tolist()],
    )


def _connections(database: Database) -> dict[int, list[int]]:
    rows = database.read("CONNECTION_IDS", "id", "connectionId")
    connections: dict[int, list[int]] = {}
    for key, connection in zip(rows["id"], rows["connectionId"], strict=True):
        if isinstance(key, int) and isinstance(connection, int):
            connections.setdefault(key, []).append(connection)
    return connections


def _stacks(database: Database, wanted: set[Any]) -> tuple[Rows, dict[Any, int]]:
    rows = database.read("PYTORCH_CALLCHAINS", "id", "stack", "stackDepth")
    frames = database.texts(rows["stack"])
    chains: dict[Any, list[tuple[int, int]]] = {}
    for key, depth, code in zip(rows["id"], rows["stackDepth"], frames.codes.tolist(), strict=True):
        if key in wanted and code >= 0:
            chains.setdefault(key, []).append((depth if isinstance(depth, int) else 0, code))
    numbers: dict[str, int] = {}
    stack_of_chain = {
        key: numbers.setdefault("\n".join(frames.values[code] for _, code in sorted(parts)), len(numbers))
        for key, parts in chains.items()
    }
    stacks = conform(STACK, stack_id=np.arange(len(numbers), dtype=np.int64), frames=list(numbers))
    return stacks, stack_of_chain


def _host_calls(database: Database, api: _Api, queues: Int64) -> tuple[Rows, dict[int, int]]:
    rows = database.read("CANN_API", "startNs", "endNs", "type", "globalTid", "connectionId", "name")
    start, end = sqlite_integers(rows["startNs"]), sqlite_integers(rows["endNs"])
    usable = checked_times(database, "CANN_API", start, end)
    index = np.flatnonzero(usable).tolist()
    enumeration = (
        database.read("ENUM_API_TYPE", "id", "name") if database.has("ENUM_API_TYPE") else {"id": [], "name": []}
    )
    types = {**_API_TYPES, **dict(zip(enumeration["id"], enumeration["name"], strict=True))}
    levels = [types.get(rows["type"][i]) for i in index]
    connections = [rows["connectionId"][i] for i in index]
    queue_calls = conform(
        HOST_CALL,
        len(queues),
        thread=threads(api.tid).take(queues),
        level="queue",
        name=api.name.take(queues),
        ts_ns=api.ts[queues],
        dur_ns=api.dur[queues],
    )
    cann_calls = conform(
        HOST_CALL,
        len(index),
        thread=threads(sqlite_integers([rows["globalTid"][i] for i in index])),
        level=[LEVELS.get(str(level), str(level)) if level is not None else None for level in levels],
        name=database.texts([rows["name"][i] for i in index]),
        ts_ns=start.values[usable],
        dur_ns=end.values[usable] - start.values[usable],
        connection=[str(connection) if isinstance(connection, int) else None for connection in connections],
    )
    calls = concatenate(HOST_CALL, [queue_calls, cann_calls, _garbage_collections(database)])
    call_of_connection = {
        connection: len(queues) + i for i, connection in enumerate(connections) if isinstance(connection, int)
    }
    return calls.replace(host_call_id=np.arange(len(calls), dtype=np.int64)), call_of_connection


def _garbage_collections(database: Database) -> Rows:
    rows = database.read("GC_RECORD", "startNs", "endNs", "globalTid")
    start, end = sqlite_integers(rows["startNs"]), sqlite_integers(rows["endNs"])
    usable = checked_times(database, "GC_RECORD", start, end)
    return conform(
        HOST_CALL,
        int(usable.sum()),
        thread=threads(sqlite_integers(rows["globalTid"])).take(usable),
        level="gc",
        name="GC",
        ts_ns=start.values[usable],
        dur_ns=(end.values - start.values)[usable],
    )


def _spans(database: Database, api: _Api) -> Rows:
    marks = _marks(database)
    parts = [(np.flatnonzero(api.type == _PYTHON), "python")]
    if not len(marks):
        # The same marks stand in both tables.
        parts.append((np.flatnonzero(api.type == _MSTX), "mstx"))
    rows = [
        conform(
            SPAN,
            len(index),
            name=api.name.take(index),
            domain=domain,
            thread=threads(api.tid).take(index),
            ts_ns=api.ts[index],
            dur_ns=api.dur[index],
        )
        for index, domain in parts
    ]
    spans = concatenate(SPAN, [*rows, marks])
    return spans.replace(span_id=np.arange(len(spans), dtype=np.int64))


def _marks(database: Database) -> Rows:
    rows = database.read("MSTX_EVENTS", "startNs", "endNs", "eventType", "message", "globalTid")
    start, end, kind = (sqlite_integers(rows[name]) for name in ("startNs", "endNs", "eventType"))
    # A marker is a moment; its end means nothing.
    moment = kind.valid & np.isin(kind.values, _MARKERS)
    end = Nullable(np.where(moment, start.values, end.values), end.valid | (moment & start.valid))
    usable = checked_times(database, "MSTX_EVENTS", start, end)
    return conform(
        SPAN,
        int(usable.sum()),
        name=database.texts(rows["message"]).take(usable),
        domain="mstx",
        thread=threads(sqlite_integers(rows["globalTid"])).take(usable),
        ts_ns=start.values[usable],
        dur_ns=(end.values - start.values)[usable],
    )


def _steps(database: Database, api: _Api, marks: Int64) -> Rows:
    rows = database.read("STEP_TIME", "id", "startNs", "endNs")
    start, end = sqlite_integers(rows["startNs"]), sqlite_integers(rows["endNs"])
    usable = checked_times(database, "STEP_TIME", start, end)
    if usable.any():
        number = sqlite_integers(rows["id"])
        return step_rows(
            Nullable(number.values[usable], number.valid[usable]),
            start.values[usable],
            (end.values - start.values)[usable],
        )
    names = api.name.take(marks).decode()
    numbers = [step_number_of(name or "") for name in names]
    valid = np.array([number is not None for number in numbers], np.bool_)
    return step_rows(
        Nullable(np.array([number or 0 for number in numbers], np.int64), valid), api.ts[marks], api.dur[marks]
    )


def _operator_links(
    api: _Api, operators: Int64, connections: dict[int, list[int]], call_of_connection: dict[int, int]
) -> tuple[dict[int, int], Rows]:
    """Connection ids of launches, and ids that two operators share: forward and backward."""
    of_connection: dict[int, int] = {}
    shared: dict[int, list[int]] = {}
    for operator_id, i in enumerate(operators.tolist()):
        key = api.connection[i]
        if not isinstance(key, int):
            continue
        for connection in connections.get(key, ()):
            if connection in call_of_connection:
                of_connection[connection] = operator_id
            else:
                shared.setdefault(connection, []).append(operator_id)
    order = api.ts[operators]
    pairs = [
        tuple(sorted(ids, key=lambda operator_id: int(order[operator_id]))) for ids in shared.values() if len(ids) == 2
    ]
    flows = conform(
        FLOW,
        len(pairs),
        src_table="operator",
        src_id=[pair[0] for pair in pairs],
        dst_table="operator",
        dst_id=[pair[1] for pair in pairs],
        kind="fwdbwd",
    )
    return of_connection, flows


def _queue_flows(api: _Api, queues: Int64, connections: dict[int, list[int]]) -> Rows:
    keys = [connections.get(key, [None])[0] if isinstance(key := api.connection[i], int) else None for i in queues]
    return queue_flows(api.name.take(queues), sqlite_integers(keys))
