"""A capture out of an export: identity, coverage, and what is no capture at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from ascend_sn.errors import EmptyInputError, FormatError
from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.coverage import Delivery, coverage_of
from ascend_sn.formats.torch_npu.export import Export
from ascend_sn.formats.torch_npu.layout import RunInfo
from ascend_sn.formats.torch_npu.limits import rank_of
from ascend_sn.model.capture import Capture, DeviceKind, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry, Ledger, kind_words
from ascend_sn.model.rows import Rows

__all__ = ["CoverageOf", "capture_of"]

CoverageOf = Callable[[RunInfo, Mapping[str, Rows], Delivery], list[CoverageEntry]]
"""Says what was asked for and what came, in the words of the tool that collected it."""

_CONTENT: Final = (
    *("step", "operator", "host_call", "kernel", "collective", "comm_task", "memory_event", "memory_sample"),
    "static_memory",
    *("counter", "span", "metric", "link"),
)


def capture_of(
    source: Source,
    info: RunInfo,
    export: Export,
    ledger: Ledger,
    *,
    tool: str = "torch_npu",
    coverage: CoverageOf = coverage_of,
) -> Capture:
    """Return the capture; `tool` is the one that collected it.

    Raises:
        FormatError: Nothing usable is left, and something was damaged.
        EmptyInputError: The files are whole and hold nothing.
    """
    if not any(len(export.tables[name]) for name in _CONTENT):
        damaged = next((entry for entry in ledger.entries if entry.severity == "damage"), None)
        if damaged is not None:
            problem = f"nothing usable in it: {kind_words(damaged.kind)} in {damaged.file}"
            raise FormatError(source.path, problem, damaged.place)
        raise EmptyInputError(source.path, "no timed events were recorded")
    info = replace(info, metadata={**export.metadata, **info.metadata})
    told = coverage(info, export.tables, export.delivery)
    return Capture(_header(source, info, export, tool), export.tables, told, ledger)


def _header(source: Source, info: RunInfo, export: Export, tool: str) -> ProfileHeader:
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
        format=f"{tool}-{export.read_from}",
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
    if isinstance(arguments, dict) and (size := rank_of(arguments.get("world_size"))) is not None:
        return size
    for group in info.groups.values():
        ranks = group.get("global_ranks")
        if group.get("group_name") == "default_group" and isinstance(ranks, list):
            return len(ranks)
    return None
