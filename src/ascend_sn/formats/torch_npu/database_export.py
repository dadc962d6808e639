"""Read the database export of a run: `ascend_pytorch_profiler_<rank>.db` and `analysis.db`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ascend_sn.errors import FormatError, JsonTextError
from ascend_sn.formats.json_text import json_value
from ascend_sn.formats.metadata import stated_number
from ascend_sn.formats.reader import Source
from ascend_sn.formats.sqlite_columns import Database, open_database
from ascend_sn.formats.torch_npu.collectives import assemble_collectives
from ascend_sn.formats.torch_npu.communication_parts import (
    OpParts,
    parts_from_database,
    parts_from_json,
    parts_from_tasks,
)
from ascend_sn.formats.torch_npu.coverage import Delivery
from ascend_sn.formats.torch_npu.db_device import read_device
from ascend_sn.formats.torch_npu.db_host import read_host
from ascend_sn.formats.torch_npu.db_memory import read_counters, read_memory_events, read_memory_samples
from ascend_sn.formats.torch_npu.export import Export, first_device, highest_places, named_groups, own_places
from ascend_sn.formats.torch_npu.host_rows import launch_count
from ascend_sn.formats.torch_npu.layout import ANALYSIS_DB, RunInfo, check_groups
from ascend_sn.formats.torch_npu.limits import RANK_LIMIT, whole
from ascend_sn.formats.torch_npu.links import LinkEntry, group_members, link_rows, links_from_database, links_from_json
from ascend_sn.formats.torch_npu.step_trace import step_trace_from_csv, step_trace_from_database
from ascend_sn.formats.torch_npu.text_memory import STATIC_MEMORY_FILE, read_text_memory, unread_static_memory
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows, concatenate
from ascend_sn.model.tables import LINK, METRIC, STATIC_MEMORY

__all__ = ["read_database_export"]

_T = TypeVar("_T")

_TABLES_OF = {
    "operator": ("PYTORCH_API",),
    "host_call": ("CANN_API",),
    "kernel": ("TASK", "COMPUTE_TASK_INFO"),
    "kernel_metric": ("TASK_PMU_INFO",),
    "collective": ("COMMUNICATION_OP",),
    "comm_task": ("COMMUNICATION_TASK_INFO",),
    "memory_sample": ("MEMORY_RECORD", "NPU_MEM", "NPU_MODULE_MEM"),
    "memory_event": ("OP_MEMORY",),
    "counter": ("AICORE_FREQ", "HBM", "LLC", "ACC_PMU"),
    "step": ("STEP_TIME",),
}


def read_database_export(
    source: Source,
    path: Path,
    info: RunInfo,
    ledger: Ledger,
    *,
    analysis: Path | None = None,
    narrowed: Callable[[Database], Database] = lambda database: database,
) -> Export:
    """Read the databases of a run; JSON and CSV files beside them fill in what they lack.

    Args:
        source: What was opened.
        path: The profiler database.
        info: What the run says about itself.
        ledger: Takes what could not be read.
        analysis: The database with the recorded parts of collectives; `analysis.db` beside the other by default.
        narrowed: Leaves of the profiler database what is wanted, the rows of one device for instance.

    Raises:
        FormatError: The profiler database is unreadable or holds none of the tables with events.
    """
    file = source.relative(path)
    with open_database(path, file, ledger) as database:
        if not any(database.has(name) for name in ("TASK", "PYTORCH_API", "CANN_API", "COMMUNICATION_OP")):
            raise FormatError(path, "none of the profiler's tables with events is in it", "schema")
        database = narrowed(database)
        host = read_host(database)
        device = read_device(database, host)
        tables = {
            **host.tables,
            "kernel": device.kernels,
            "kernel_metric": device.metrics,
            "comm_task": device.comm_tasks,
            "memory_sample": read_memory_samples(database),
            "memory_event": read_memory_events(database),
            "static_memory": concatenate(STATIC_MEMORY, []),
            "counter": read_counters(database),
        }
        damaged = {
            table: f"table {name} of {file} could not be read to its end"
            for table, names in _TABLES_OF.items()
            for name in names
            if name in database.damaged
        }
        identity = _identity(database)
    damaged |= _fill_memory(source, path.parent, tables, ledger)
    parts, entries, step_trace = _analysis(source, analysis or path.parent / ANALYSIS_DB, ledger)
    info = replace(info, metadata={**identity["metadata"], **info.metadata})
    groups = named_groups(info)
    tasks = parts_from_tasks(len(device.ops.ts), device.comm_tasks, device.plane)
    collectives, per_collective = assemble_collectives(device.ops, parts, tasks, list(groups))
    rank = info.rank if info.rank is not None else identity.get("rank")
    members = {key: ranks for key, (_, ranks) in groups.items()}
    tables |= {
        "collective": collectives,
        "link": concatenate(LINK, [per_collective, link_rows(entries, members)]),
        "comm_group_member": group_members(
            groups,
            highest_places(collectives, device.comm_tasks, entries),
            own_places(collectives, device.comm_tasks, entries),
            rank,
        ),
        "metric": step_trace if step_trace is not None else concatenate(METRIC, []),
    }
    device_id = identity.pop("device_id", None)
    return Export(
        read_from="db",
        tables=tables,
        delivery=Delivery(
            looked_for={table: f"tables {' and '.join(names)} of {file}" for table, names in _TABLES_OF.items()},
            damaged=damaged,
            launches=launch_count(tables["host_call"]),
        ),
        pid=host.pid,
        device_id=device_id if device_id is not None else first_device(device.kernels),
        **identity,
    )


def _identity(database: Database) -> dict[str, Any]:
    """Host, rank, device and start of the capture as the database tells them."""
    identity: dict[str, Any] = {}
    ranks = database.read("RANK_DEVICE_MAP", "rankId", "deviceId")
    if len(ranks["rankId"]) == 1:
        own = {"RANK_DEVICE_MAP.rankId": ranks["rankId"][0]}
        identity["rank"] = stated_number(own, "RANK_DEVICE_MAP.rankId", RANK_LIMIT, database.file, database.ledger)
        identity["device_id"] = whole(ranks["deviceId"][0], 1 << 31)
    identity["start_ns"] = whole(_first(database, "SESSION_TIME_INFO", "startTimeNs", int))
    identity["host"] = _first(database, "HOST_INFO", "hostName", str)
    chips = database.read("NPU_INFO", "id", "name")
    names = {key: name for key, name in zip(chips["id"], chips["name"], strict=True) if isinstance(name, str)}
    identity["device_name"] = names.get(identity.get("device_id"), next(iter(names.values()), None))
    metadata = database.read("META_DATA", "name", "value")
    values = dict(zip(metadata["name"], metadata["value"], strict=True))
    schema = values.get("SCHEMA_VERSION")
    identity["versions"] = {"database_schema": str(schema)} if schema is not None else {}
    identity["metadata"] = {
        key: decoded for key, value in values.items() if (decoded := _json_object(key, value, database)) is not None
    }
    check_groups(identity["metadata"], database.file, database.ledger)
    return identity


def _json_object(key: Any, value: Any, database: Database) -> dict[str, Any] | None:
    """Return the object that a value of META_DATA spells; other values are no concern of ours."""
    if not isinstance(value, str) or not value.startswith("{"):
        return None
    try:
        decoded = json_value(value)
    except JsonTextError as error:
        database.ledger.add(database.file, "unreadable_metadata", place=f"META_DATA {key}", example=str(error))
        return None
    return decoded if isinstance(decoded, dict) else None


def _first(database: Database, table: str, column: str, type_: type) -> Any:
    return next((value for value in database.read(table, column)[column] if isinstance(value, type_)), None)


def _analysis(source: Source, path: Path, ledger: Ledger) -> tuple[list[OpParts], list[LinkEntry], Rows | None]:
    parts: list[OpParts] = []
    entries: list[LinkEntry] = []
    step_trace: Rows | None = None
    output = path.parent
    if path.is_file():
        file = source.relative(path)
        try:
            with open_database(path, file, ledger) as database:
                parts = parts_from_database(database)
                entries = links_from_database(database)
                step_trace = step_trace_from_database(database)
        except FormatError as error:
            ledger.add(file, "unreadable_database", place=error.place, example=error.problem)
    if not parts:
        parts = _beside(source, output / "communication.json", ledger, parts_from_json) or []
    if not entries:
        entries = _beside(source, output / "communication_matrix.json", ledger, links_from_json) or []
    if step_trace is None:
        step_trace = _beside(source, output / "step_trace_time.csv", ledger, step_trace_from_csv)
    return parts, entries, step_trace


def _beside(source: Source, path: Path, ledger: Ledger, read: Callable[[Path, str, Ledger], _T]) -> _T | None:
    return read(path, source.relative(path), ledger) if path.is_file() else None


def _fill_memory(source: Source, output: Path, tables: dict[str, Rows], ledger: Ledger) -> dict[str, str]:
    """Take from the text files what the tables lack; return what of it is damaged, and why."""
    names = [STATIC_MEMORY_FILE]
    if not len(tables["memory_sample"]) and not len(tables["memory_event"]):
        names += ["memory_record.csv", "npu_module_mem.csv", "operator_memory.csv"]
    files = {name: output / name for name in names if (output / name).is_file()}
    found = read_text_memory(source, files, ledger)
    tables.update({name: rows for name, rows in found.items() if not len(tables[name])})
    return unread_static_memory(files, tables)
