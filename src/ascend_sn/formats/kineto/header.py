"""Who was captured: the header of a PyTorch trace from its metadata, its name and its events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, TypeVar

import numpy as np

from ascend_sn.formats.chrome.texts import Codes, distinct
from ascend_sn.formats.kineto.memory import has_device_memory
from ascend_sn.formats.kineto.sift import Sifted
from ascend_sn.formats.metadata import stated, stated_number
from ascend_sn.formats.reader import Source
from ascend_sn.model.capture import DeviceKind, ProfileHeader
from ascend_sn.model.kinds import HOST_KINDS
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Rows
from ascend_sn.model.trace_schema import CAPACITY_METRIC

__all__ = ["OPTIONS", "base_time_ns", "device_kind", "header", "rank_of_name"]

OPTIONS: Final = ("record_shapes", "profile_memory", "with_stack", "with_modules", "with_flops")

_Stated = TypeVar("_Stated", str, int)

_RANK: Final = re.compile(r"(?:^|[^A-Za-z])rank[-_]?(\d{1,7})(?!\d)", re.IGNORECASE)
_HOST: Final = re.compile(r"(?P<host>.+)_(?P<pid>\d{1,10})\.\d{10,}\.pt\.trace\.json(?:\.gz)?")
_VERSION: Final = re.compile(r"(?:^|_)version$")
_RANK_LIMIT: Final = 1 << 31
_LATEST_BASE_NS: Final = 1 << 61
_NPU_MEMORY, _HIP_MEMORY, _XPU_MEMORY = 20, 6, 12


def header(
    source: Source,
    sifted: Sifted,
    kind: DeviceKind,
    kernels: Rows,
    base_ns: int,
    format_name: str,
    ledger: Ledger,
) -> ProfileHeader:
    """Return the header; the rank is null where neither the metadata nor the file's name states one."""
    metadata = sifted.metadata
    file = source.relative(source.path)
    info = stated(metadata, "distributedInfo", dict, file, ledger) or {}
    rank = stated_number(info, "rank", _RANK_LIMIT, file, ledger)
    stated(metadata, "deviceProperties", list, file, ledger)
    named = _HOST.fullmatch(source.path.name)
    host = metadata.get("host_name")
    device_id = None if kind in HOST_KINDS else _main_device(kernels)
    return ProfileHeader(
        format=format_name,
        source=source.name,
        device_kind=kind,
        host=str(host) if host else (named["host"] if named else None),
        pid=int(named["pid"]) if named else _main_process(sifted),
        start_ns=_start(sifted, base_ns),
        rank=rank if rank is not None else rank_of_name(source.path.name),
        phase=source.phase,
        device_id=device_id,
        device_name=_common(metadata.get("deviceProperties"), "name", str, device_id),
        world_size=stated_number(info, "world_size", _RANK_LIMIT, file, ledger),
        versions=_versions({**metadata, **info}),
        config=_config(metadata, device_id),
    )


def base_time_ns(metadata: dict[str, Any], file: str, ledger: Ledger) -> int:
    """Return what is added to every time: `baseTimeNanoseconds`, 0 in files with absolute times."""
    base = metadata.get("baseTimeNanoseconds", 0)
    if isinstance(base, str) and base.isascii() and base.isdigit():
        base = int(base)
    if isinstance(base, int) and 0 <= base < _LATEST_BASE_NS:
        return base
    ledger.add(file, "unreadable_base_time", place="baseTimeNanoseconds", example=str(base))
    return 0


def rank_of_name(name: str) -> int | None:
    """Return the rank in a file name such as `rank-34.…` or `trace_rank_3.json`."""
    found = _RANK.search(name)
    return int(found[1]) if found else None


def device_kind(sifted: Sifted) -> DeviceKind:
    """Return the kind of device: the one that ran something, else the one that the host's calls speak to."""
    strings = sifted.strings
    device_categories = _words(sifted.device.category, strings)
    call_categories = _words(sifted.calls.category, strings)
    memory = sifted.memory
    if not len(sifted.device) and not len(sifted.calls) and not has_device_memory(memory):
        return "cuda" if _any_name(sifted.host.name, strings, "nccl:") else "cpu"
    spoken = device_categories | call_categories
    if has_device_memory(memory, _NPU_MEMORY) or any("privateuse1" in word or "npu" in word for word in spoken):
        return "npu"
    if has_device_memory(memory, _XPU_MEMORY) or any(word.startswith(("xpu", "mtia", "hpu")) for word in spoken):
        return "xpu"
    if has_device_memory(memory, _HIP_MEMORY) or _any_name(sifted.calls.name, strings, "hip"):
        return "rocm"
    return "cuda"


def _any_name(names: Codes, strings: Sequence[str], start: str) -> bool:
    used, _ = distinct(names)
    return any(strings[code].startswith(start) for code in used.tolist())


def _words(codes: Codes, strings: Sequence[str]) -> set[str]:
    used, _ = distinct(codes)
    return {strings[code].lower() for code in used.tolist()}


def _main_device(kernels: Rows) -> int | None:
    known = kernels.values("device_id")[kernels.valid("device_id")]
    if not len(known):
        return None
    found, counts = np.unique(known, return_counts=True)
    return int(found[int(np.argmax(counts))])


def _main_process(sifted: Sifted) -> int | None:
    pids = np.concatenate([sifted.host.pid, sifted.calls.pid])
    pids = pids[pids >= 0]
    if not len(pids):
        return None
    text = sifted.strings[int(np.argmax(np.bincount(pids)))]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None


def _start(sifted: Sifted, base_ns: int) -> int | None:
    groups = (sifted.spans, sifted.host, sifted.calls, sifted.device, sifted.memory, sifted.instants)
    starts = [int(events.ts.min()) for events in groups if len(events)]
    return base_ns + min(starts) if starts else None


def _config(metadata: dict[str, Any], device_id: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {key: bool(metadata[key]) for key in OPTIONS if isinstance(metadata.get(key), int)}
    capacity = _common(metadata.get("deviceProperties"), "totalGlobalMem", int, device_id)
    return {**found, CAPACITY_METRIC: capacity} if capacity is not None and capacity > 0 else found


def _common(properties: Any, key: str, kind: type[_Stated], device_id: int | None) -> _Stated | None:
    """Return a property of the device, or that of all where ids and listed ids differ (AMD)."""
    devices = [entry for entry in properties if isinstance(entry, dict)] if isinstance(properties, list) else []
    stated: list[tuple[Any, _Stated]] = [
        (entry.get("id"), entry[key]) for entry in devices if isinstance(entry.get(key), kind) and entry[key]
    ]
    for number, value in stated:
        if number == device_id:
            return value
    values = {value for _, value in stated}
    return values.pop() if len(values) == 1 else None


def _versions(values: dict[str, Any]) -> dict[str, str]:
    found = {key: str(value) for key, value in values.items() if _VERSION.search(key) and not isinstance(value, dict)}
    if "schemaVersion" in values:
        found["schema"] = str(values["schemaVersion"])
    return found
