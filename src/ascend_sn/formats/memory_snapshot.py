"""Read the memory snapshots that torch.cuda and torch_npu dump: allocator events and the state at the end.

A pickle can hold anything, so it is opened by a child process with limits (`snapshot_child`), which hands
back plain columns.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np

from ascend_sn.errors import EmptyInputError, FormatError
from ascend_sn.formats import snapshot_child
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.formats.snapshot_child import Columns, Device
from ascend_sn.model.capture import Capture, DeviceKind, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry, Ledger
from ascend_sn.model.rows import Int64, Nullable, Rows, Text, concatenate, conform
from ascend_sn.model.tables import MEMORY_BLOCK, MEMORY_EVENT, MEMORY_SAMPLE, STACK
from ascend_sn.model.units import NS_PER_US

__all__ = ["READER"]

_NAME: Final = "memory-snapshot"
_SECONDS: Final = 300
_PICKLE: Final = b"\x80"
_MARKS: Final = (b"device_traces", b"segments", b"segment_type", b"active_allocated")

# Ours for theirs; what is not here (snapshots, user marks) is no change of memory.
_KINDS: Final = {
    "alloc": "alloc",
    "free_requested": "free_requested",
    "free_completed": "free",
    "free": "free",
    "segment_alloc": "segment_alloc",
    "segment_map": "segment_alloc",
    "segment_free": "segment_free",
    "segment_unmap": "segment_free",
    "oom": "oom",
}


def read(source: Source) -> list[Capture]:
    """Return the capture of a snapshot.

    Raises:
        EmptyInputError: The snapshot holds neither events nor segments.
        FormatError: The file is no snapshot, is damaged, or asks for more than the limits allow.
    """
    columns = _unpickled(source.path)
    ledger, file = Ledger(), source.relative(source.path)
    if columns.unreadable:
        ledger.add(file, "unreadable_rows", count=columns.unreadable, example="left out")
    kind: DeviceKind = "npu" if columns.is_npu else "cuda"
    parts = [_events(device, number, kind) for number, device in columns.devices.items()]
    samples = [_sample(device, number, kind) for number, device in columns.devices.items() if device.has_segments]
    blocks = [_blocks(device, number, kind) for number, device in columns.devices.items()]
    tables = {
        "memory_block": concatenate(MEMORY_BLOCK, blocks) if blocks else conform(MEMORY_BLOCK, 0),
        "memory_event": concatenate(MEMORY_EVENT, parts) if parts else conform(MEMORY_EVENT, 0),
        "memory_sample": concatenate(MEMORY_SAMPLE, samples) if samples else conform(MEMORY_SAMPLE, 0),
        "stack": conform(
            STACK, len(columns.stacks), stack_id=np.arange(len(columns.stacks)), frames=list(columns.stacks)
        ),
    }
    if not any(table.length for name, table in tables.items() if name != "stack"):
        raise EmptyInputError(source.path, "this memory snapshot holds no events and no memory")
    if not _is_timed(columns):
        ledger.add(
            file,
            "no_times",
            example="the snapshot records no times; events are placed by their number, one per nanosecond",
            severity="info",
        )
    header = ProfileHeader(
        format=_NAME,
        source=source.name,
        device_kind=kind,
        device_id=next(iter(columns.devices)) if len(columns.devices) == 1 else None,
        phase=source.phase,
    )
    return [Capture(header=header, tables=tables, coverage=_coverage(tables), ledger=ledger)]


def _events(device: Device, number: int, kind: DeviceKind) -> Rows:
    """Return the events of a device with the totals after each.

    The totals start from what the snapshot's own state leaves when all recorded changes are taken back:
    memory allocated before the recording began. Events tell what was asked for, the state what the allocator gave:
    a block that is still in use counts in the totals with what it was rounded up to.
    """
    actions = Text.of(device.action).mapped(_KINDS.get)
    kept = actions.codes >= 0
    size = np.array(device.size, np.int64)[kept]
    actions = actions.take(kept)
    given = _given(device, actions, np.flatnonzero(kept), size)
    allocated = _totals(actions, given, ("alloc",), ("free_requested",), ("free",), device.allocated)
    active = _totals(actions, given, ("alloc",), ("free",), (), device.active)
    reserved = _totals(actions, size, ("segment_alloc",), ("segment_free",), (), device.reserved)
    known = np.full(len(size), device.has_segments)
    stack = np.array(device.stack, np.int64)[kept]
    return conform(
        MEMORY_EVENT,
        len(size),
        ts_ns=_times(device)[kept],
        kind=actions,
        size_bytes=size,
        address=Text.of(device.address).take(kept),
        device=_device_name(kind, number),
        stream=Text.of(device.stream).take(kept),
        stack_id=Nullable(stack, stack >= 0),
        allocated_bytes=Nullable(allocated, known),
        reserved_bytes=Nullable(reserved, known),
        active_bytes=Nullable(active, known),
    )


def _given(device: Device, actions: Text, places: Int64, size: Int64) -> Int64:
    """Return the bytes of each event, those of blocks that are still in use as they were rounded up."""
    in_use = dict(zip(device.block_address, device.block_size, strict=True))
    in_use.pop(None, None)
    given = size.copy()
    is_alloc, is_request = actions.matches(("alloc",)), actions.matches(("free_requested",))
    for at in reversed(np.flatnonzero(is_alloc | is_request).tolist()):
        address = device.address[int(places[at])]
        if address in in_use:
            given[at] = in_use[address]
            if is_alloc[at]:
                del in_use[address]
    return given


def _totals(
    actions: Text, size: Int64, adds: tuple[str, ...], takes: tuple[str, ...], otherwise: tuple[str, ...], at_end: int
) -> Int64:
    """Return the running total; `otherwise` takes where the recorder knows no separate request to free."""
    takes = takes if bool(actions.matches(takes).any()) else otherwise or takes
    change = np.where(actions.matches(adds), size, 0) - np.where(actions.matches(takes), size, 0)
    running = np.cumsum(change)
    start = at_end - int(running[-1]) if len(running) else at_end
    return running + start


def _sample(device: Device, number: int, kind: DeviceKind) -> Rows:
    times = _times(device)
    return conform(
        MEMORY_SAMPLE,
        1,
        ts_ns=np.array([int(times.max()) if len(times) else 0]),
        component=_device_name(kind, number),
        allocated_bytes=device.allocated,
        reserved_bytes=device.reserved,
        active_bytes=device.active,
    )


def _blocks(device: Device, number: int, kind: DeviceKind) -> Rows:
    requested = np.array([-1 if size is None else size for size in device.block_requested], np.int64)
    stack = np.array(device.block_stack, np.int64)
    return conform(
        MEMORY_BLOCK,
        len(device.block_size),
        device=_device_name(kind, number),
        stream=Text.of(device.block_stream),
        address=Text.of(device.block_address),
        size_bytes=np.array(device.block_size, np.int64),
        requested_bytes=Nullable(requested, requested >= 0),
        state=Text.of(device.block_state),
        stack_id=Nullable(stack, stack >= 0),
    )


def _times(device: Device) -> Int64:
    if device.time_us is not None:
        return np.array(device.time_us, np.int64) * NS_PER_US
    return np.arange(len(device.action), dtype=np.int64)


def _is_timed(columns: Columns) -> bool:
    return all(device.time_us is not None for device in columns.devices.values())


def _device_name(kind: DeviceKind, number: int) -> str:
    return f"{kind}:{number}"


def _unpickled(path: Path) -> Columns:
    """Open the pickle in a child process and return the columns it found."""
    if path.stat().st_size == 0:
        raise EmptyInputError(path, "file is empty; was the session ended?")
    command = [sys.executable, "-I", snapshot_child.__file__, str(path)]
    try:
        child = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise FormatError(path, f"reading this memory snapshot took longer than {_SECONDS} s") from error
    if child.returncode:
        said = child.stderr.decode("utf-8", "replace").strip().splitlines()
        problem = said[-1] if child.returncode == 1 and said else "it needs more memory or time than is allowed"
        raise FormatError(path, f"not a readable memory snapshot: {problem}")
    try:
        return msgspec.msgpack.decode(child.stdout, type=Columns)
    except msgspec.DecodeError as error:
        raise FormatError(path, "not a readable memory snapshot") from error


def _coverage(tables: dict[str, Any]) -> list[CoverageEntry]:
    reason = "a memory snapshot holds memory only"
    entries = [
        CoverageEntry(name, "unsupported", reason) for name in ("step", "operator", "host_call", "kernel", "collective")
    ]
    record = "call torch.cuda.memory._record_memory_history() before the code to be seen"
    stacks = "record with stacks='all'"
    events, samples = tables["memory_event"].length, tables["memory_sample"].length
    entries.append(
        CoverageEntry("memory_event", "collected")
        if events
        else CoverageEntry("memory_event", "not_requested", "no history was recorded", record)
    )
    entries.append(CoverageEntry("memory_sample", "collected" if samples else "missing"))
    entries.append(CoverageEntry("memory_block", "collected" if tables["memory_block"].length else "missing"))
    entries.append(
        CoverageEntry("stack", "collected")
        if tables["stack"].length
        else CoverageEntry("stack", "not_requested", "no call stacks were recorded", stacks)
    )
    return entries


def _claims(candidate: Candidate) -> bool:
    head = candidate.head
    return head.startswith(_PICKLE) and any(mark in head for mark in _MARKS)


def _members(path: Path) -> list[Path]:
    return [path]


READER = Reader(_NAME, _claims, _members, read)
