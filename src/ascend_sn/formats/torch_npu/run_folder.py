"""The readers of torch_npu run folders: text and database exports, and raw data that nobody parsed yet."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ascend_sn.errors import EmptyInputError, FormatError, NotParsedError
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.formats.torch_npu.coverage import coverage_of
from ascend_sn.formats.torch_npu.database_export import read_database_export
from ascend_sn.formats.torch_npu.export import Export
from ascend_sn.formats.torch_npu.layout import (
    RunInfo,
    info_folder,
    output_folder,
    profiler_database,
    read_run_info,
    run_files,
)
from ascend_sn.formats.torch_npu.text_export import read_text_export
from ascend_sn.model.capture import Capture, DeviceKind, ProfileHeader
from ascend_sn.model.ledger import Ledger

__all__ = ["RAW_READER", "READER"]

_TIMED = (
    "step",
    "operator",
    "host_call",
    "kernel",
    "collective",
    "comm_task",
    "memory_event",
    "memory_sample",
    "counter",
    "span",
)


def _claims(candidate: Candidate) -> bool:
    return candidate.is_folder and output_folder(candidate.path) is not None


def _read(source: Source) -> list[Capture]:
    folder = source.path
    output = output_folder(folder)
    if output is None:
        raise FormatError(folder, "no exported profiler data in it")
    ledger = Ledger()
    info = read_run_info(info_folder(folder), lambda path: _named(source, path), ledger)
    export = _export(source, output, info, ledger)
    if not any(len(export.tables[name]) for name in _TIMED if name in export.tables):
        damaged = next((entry for entry in ledger.entries if entry.severity == "damage"), None)
        if damaged is not None:
            raise FormatError(folder, f"nothing usable in it: {damaged.kind} in {damaged.file}", damaged.place)
        raise EmptyInputError(folder, "the exports hold no timed events")
    info = replace(info, metadata={**export.metadata, **info.metadata})
    header = _header(source, info, export)
    coverage = coverage_of(info, export.tables, export.delivery)
    return [Capture(header, export.tables, coverage, ledger)]


def _named(source: Source, path: Path) -> str:
    """Opened at the exports themselves, the JSON files beside them lie outside of the root."""
    return source.relative(path) if path.is_relative_to(source.root) else path.name


def _export(source: Source, output: Path, info: RunInfo, ledger: Ledger) -> Export:
    database = profiler_database(output)
    if database is not None:
        try:
            return read_database_export(source, database, info, ledger)
        except FormatError as error:
            ledger.add(
                source.relative(database),
                "unreadable_database",
                place=error.place,
                example=f"{error.problem}; the text export beside it is read instead",
            )
    return read_text_export(source, output, info, ledger)


def _header(source: Source, info: RunInfo, export: Export) -> ProfileHeader:
    activities = info.config.get("activities")
    npu = not isinstance(activities, list) or any("NPU" in str(item) for item in activities)
    npu = npu or len(export.tables["kernel"]) > 0
    kind: DeviceKind = "npu" if npu else "cpu"
    environment = info.metadata.get("ENV_VARIABLES")
    config: dict[str, Any] = {
        "read_from": export.read_from,
        "common": info.config,
        "experimental": info.experimental,
        "environment": environment if isinstance(environment, dict) else {},
    }
    if isinstance(info.metadata.get("distributed_args"), dict):
        config["distributed_args"] = info.metadata["distributed_args"]
    return ProfileHeader(
        format=f"torch_npu-{export.read_from}",
        source=source.name,
        device_kind=kind,
        host=info.host or export.host,
        pid=info.pid if info.pid is not None else export.pid,
        start_ns=info.start_ns if info.start_ns is not None else export.start_ns,
        rank=info.rank if info.rank is not None else export.rank,
        phase=source.phase,
        device_id=export.device_id,
        device_name=export.device_name,
        world_size=_world_size(info),
        versions={**info.versions, **export.versions},
        config=config,
    )


def _world_size(info: RunInfo) -> int | None:
    arguments = info.metadata.get("distributed_args")
    if isinstance(arguments, dict) and isinstance(arguments.get("world_size"), int):
        return int(arguments["world_size"])
    for group in info.groups.values():
        ranks = group.get("global_ranks")
        if group.get("group_name") == "default_group" and isinstance(ranks, list):
            return len(ranks)
    return None


def _is_raw(candidate: Candidate) -> bool:
    if not candidate.is_folder or output_folder(candidate.path) is not None:
        return False
    names = candidate.names
    return "FRAMEWORK" in names and any(name.startswith("PROF_") for name in names)


def _raw_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("profiler_info*.json") if path.is_file())


def _refuse_raw(source: Source) -> list[Capture]:
    raise NotParsedError(
        source.path,
        "the data was collected but not yet parsed; on the machine with torch_npu run: python -c "
        f"'from torch_npu.profiler.profiler import analyse; analyse(\"{source.path}\")'",
    )


READER = Reader("torch_npu", _claims, run_files, _read)
RAW_READER = Reader("torch_npu-raw", _is_raw, _raw_files, _refuse_raw)
