"""Allocator events (`[memory]` instants) of a PyTorch trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ascend_sn.formats.chrome.events import Events
from ascend_sn.formats.chrome.texts import text_column
from ascend_sn.formats.kineto.host import Threads
from ascend_sn.formats.kineto.owners import with_owners
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, conform
from ascend_sn.model.tables import MEMORY_EVENT

__all__ = ["CPU_DEVICE", "has_device_memory", "memory_rows"]

CPU_DEVICE: Final = 0

# PyTorch's DeviceType numbers.
_DEVICE_NAMES: Final = {0: "cpu", 1: "cuda", 6: "hip", 12: "xpu", 13: "mps", 18: "hpu", 19: "mtia", 20: "npu"}


def memory_rows(
    memory: Events, base_ns: int, strings: Sequence[str], threads: Threads, operators: Rows, file: str, ledger: Ledger
) -> Rows:
    """Return allocations and frees in order of time, with the operator that asked.

    Events without a byte count are left out and counted. The reserved total is null for host memory, whose
    allocator keeps no pool.
    """
    size = memory.integers["Bytes"]
    usable = size.valid & (np.abs(size.values) >= 0)  # the lowest int64 has no positive twin
    lacking = int(np.count_nonzero(~usable))
    if lacking:
        ledger.add(file, "memory_event_without_bytes", count=lacking, example="left out")
        memory = memory.take(usable)
    memory = memory.take(np.argsort(memory.ts, kind="stable"))
    count = len(memory)
    signed = memory.integers["Bytes"].values
    type_, reserved = memory.integers["Device Type"], memory.integers["Total Reserved"]
    on_host = type_.valid & (type_.values == CPU_DEVICE)
    rows = conform(
        MEMORY_EVENT,
        count,
        ts_ns=memory.ts + base_ns,
        kind=Text((signed < 0).astype(np.int32), ["alloc", "free"]),
        size_bytes=np.abs(signed),
        address=text_column(memory.texts["Addr"], strings),
        device=_devices(type_, memory.integers["Device Id"]),
        allocated_bytes=memory.integers["Total Allocated"],
        reserved_bytes=Nullable(reserved.values, reserved.valid & ~on_host),
    )
    return with_owners(rows, threads.names(memory), operators) if count else rows


def has_device_memory(memory: Events, device_type: int | None = None) -> bool:
    """Whether an event belongs to an accelerator (of one type, where given)."""
    type_ = memory.integers["Device Type"]
    wanted = type_.values != CPU_DEVICE if device_type is None else type_.values == device_type
    return bool((type_.valid & wanted).any())


def _devices(type_: Nullable, id_: Nullable) -> Text:
    keys: Int64 = (type_.values << 16) | ((id_.values + 1) & 0xFFFF)
    found, row = np.unique(keys, return_inverse=True)
    named = [_device_name(key >> 16, (key & 0xFFFF) - 1) for key in found.tolist()]
    return Text(np.where(type_.valid, row, -1).astype(np.int32), named)


def _device_name(type_: int, id_: int) -> str:
    name = _DEVICE_NAMES.get(type_, f"device type {type_}")
    return name if type_ == CPU_DEVICE or id_ < 0 else f"{name}:{id_}"
