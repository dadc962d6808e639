"""The process that opens the pickle of a memory snapshot: no classes, little memory, little time.

Run by path, `python -I snapshot_child.py FILE`, so that it loads nothing but the standard library and
msgspec: numpy alone would use up the address space. Writes the columns to stdout as MessagePack. Ends with 1
and one line on stderr for a file that is no snapshot; any other end means that a limit was hit.
"""

from __future__ import annotations

import gzip
import io
import pickle
import resource
import sys
import zlib
from pathlib import Path
from typing import Any, Final

import msgspec

__all__ = ["Columns", "Device", "main"]

_ADDRESS_SPACE_BYTES: Final = 1 << 30
_ADDRESS_SPACE_PER_BYTE: Final = 8
_CPU_SECONDS: Final = 240
_OUTPUT_LIMIT: Final = 1 << 31
_INT64_LIMIT: Final = 1 << 63
_DAMAGED: Final = (
    *(pickle.UnpicklingError, zlib.error, EOFError, OSError, ValueError, TypeError, LookupError, AttributeError),
)
"""What the unpickler and gzip raise on bytes that are none of theirs."""
_ACTIVE: Final = ("active_allocated", "active_pending_free", "active_awaiting_free")


class Device(msgspec.Struct):
    """Columns of one device: its events in order, and what it held when the snapshot was taken, block by block."""

    action: list[str] = []
    address: list[str | None] = []
    size: list[int] = []
    stream: list[str | None] = []
    stack: list[int] = []
    time_us: list[int] | None = None
    allocated: int = 0
    active: int = 0
    reserved: int = 0
    has_segments: bool = False
    block_address: list[str | None] = []
    block_size: list[int] = []
    block_requested: list[int | None] = []
    block_state: list[str] = []
    block_stream: list[str | None] = []
    block_stack: list[int] = []


class Columns(msgspec.Struct):
    """What a snapshot holds; `unreadable` counts events and segments that were left out."""

    devices: dict[int, Device] = {}
    stacks: list[str] = []
    unreadable: int = 0
    is_npu: bool = False


class NoSnapshotError(Exception):
    """The file is a pickle of something else, or none."""


def main(path: str) -> int:
    """Open the file under limits and write its columns to stdout."""
    size = Path(path).stat().st_size
    limit = _ADDRESS_SPACE_BYTES + _ADDRESS_SPACE_PER_BYTE * size
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        found = _load(Path(path))
        written = msgspec.msgpack.encode(_Collector().collected(found))
    except NoSnapshotError as error:
        print(error, file=sys.stderr)
        return 1
    except (MemoryError, RecursionError, OverflowError):
        return 2
    if len(written) > _OUTPUT_LIMIT:
        return 2
    sys.stdout.buffer.write(written)
    return 0


class _PlainUnpickler(pickle.Unpickler):
    """An unpickler for numbers, texts and containers only."""

    def find_class(self, module_name: str, global_name: str, /) -> Any:
        raise NoSnapshotError(f"it asks for {module_name}.{global_name}, and a snapshot needs no classes")

    def persistent_load(self, pid: Any, /) -> Any:
        raise NoSnapshotError("it refers to objects outside the file")


def _load(path: Path) -> Any:
    data = path.read_bytes()
    try:
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        return _PlainUnpickler(io.BytesIO(data)).load()
    except NoSnapshotError:
        raise
    except _DAMAGED as error:
        raise NoSnapshotError(f"the pickle is damaged ({type(error).__name__})") from error


class _Collector:
    """Walks a snapshot once; a container that appears a second time is followed as a stack only."""

    def __init__(self) -> None:
        self._columns = Columns()
        self._walked: set[int] = set()
        self._stack_of: dict[int, int] = {}
        self._stack_numbers: dict[str, int] = {}

    def collected(self, found: Any) -> Columns:
        """Return the columns of an unpickled snapshot: a dict, or in old files the list of segments.

        Raises:
            NoSnapshotError: It is neither.
        """
        segments = found if isinstance(found, list) else found.get("segments") if isinstance(found, dict) else None
        traces = found.get("device_traces") if isinstance(found, dict) else None
        if not isinstance(segments, list) and not isinstance(traces, list):
            raise NoSnapshotError("it holds neither segments nor device_traces")
        for number, events in enumerate(traces if isinstance(traces, list) else ()):
            if isinstance(events, list) and events and self._first_time(events):
                self._events(number, events)
        for segment in segments if isinstance(segments, list) else ():
            if not (isinstance(segment, dict) and self._first_time(segment) and self._segment(segment)):
                self._columns.unreadable += 1
        self._columns.stacks = list(self._stack_numbers)
        return self._columns

    def _events(self, number: int, events: list[Any]) -> None:
        device = self._columns.devices.setdefault(number, Device())
        times: list[int] = []
        for event in events:
            if not isinstance(event, dict) or not self._first_time(event):
                self._columns.unreadable += 1
                continue
            action, size = event.get("action"), _whole(event.get("size"))
            if not isinstance(action, str) or size is None or size < 0:
                self._columns.unreadable += 1
                continue
            device.action.append(action)
            device.size.append(size)
            device.address.append(_text(event.get("addr")))
            device.stream.append(_text(event.get("stream")))
            device.stack.append(self._stack(event.get("frames")))
            time_us = _whole(event.get("time_us"))
            if time_us is not None:
                times.append(time_us)
            self._columns.is_npu |= action == "workspace_snapshot"
        if times and len(times) == len(device.action):
            device.time_us = times

    def _segment(self, segment: dict[Any, Any]) -> bool:
        number, total = _whole(segment.get("device")), _whole(segment.get("total_size"))
        allocated, active = _whole(segment.get("allocated_size")), _whole(segment.get("active_size"))
        if total is None or not 0 <= (number or 0) < 1 << 16:
            return False
        if active is None:
            active = self._blocks(segment.get("blocks"), _ACTIVE)
        if allocated is None:
            allocated = self._blocks(segment.get("blocks"), _ACTIVE[:1])
        device = self._columns.devices.setdefault(number or 0, Device())
        device.has_segments = True
        device.reserved += total
        device.allocated += allocated
        device.active += active
        self._live_blocks(device, segment)
        return True

    def _live_blocks(self, device: Device, segment: dict[Any, Any]) -> None:
        """Take the blocks in use. Old snapshots place them by their order only, and name the request `real_size`."""
        blocks = segment.get("blocks")
        reached = _whole(segment.get("address"))
        for block in blocks if isinstance(blocks, list) else ():
            size = _whole(block.get("size")) if isinstance(block, dict) and self._first_time(block) else None
            if size is None or size < 0:
                self._columns.unreadable += 1
                reached = None
                continue
            own = _whole(block.get("address"))
            address = reached if own is None else own
            reached = None if address is None else address + size
            if block.get("state") not in _ACTIVE:
                continue
            requested = _whole(block.get("requested_size", _real_size(block)))
            device.block_address.append(_text(address))
            device.block_size.append(size)
            device.block_requested.append(requested if requested is not None and 0 <= requested <= size else None)
            device.block_state.append("allocated" if block["state"] == _ACTIVE[0] else "pending_free")
            device.block_stream.append(_text(segment.get("stream")))
            device.block_stack.append(self._stack(block.get("frames")))

    def _blocks(self, blocks: Any, states: tuple[str, ...]) -> int:
        total = 0
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, dict) and block.get("state") in states:
                total += _whole(block.get("size")) or 0
        return total

    def _first_time(self, container: Any) -> bool:
        if id(container) in self._walked:
            return False
        self._walked.add(id(container))
        return True

    def _stack(self, frames: Any) -> int:
        """Return the number of a call stack; the same list of frames is written out once."""
        if not isinstance(frames, list) or not frames:
            return -1
        known = self._stack_of.get(id(frames))
        if known is None:
            text = "\n".join(_frame(frame) for frame in frames)
            known = self._stack_numbers.setdefault(text, len(self._stack_numbers))
            self._stack_of[id(frames)] = known
            self._columns.is_npu |= "torch_npu" in text
        return known


def _real_size(block: dict[Any, Any]) -> Any:
    history = block.get("history")
    latest = history[0] if isinstance(history, list) and history else None
    return latest.get("real_size") if isinstance(latest, dict) else None


def _frame(frame: Any) -> str:
    if not isinstance(frame, dict):
        return "?"
    file, line, name = (frame.get(key) for key in ("filename", "line", "name"))
    return f"{_text(file) or '?'}({_text(line) or '?'}): {_text(name) or '?'}"


def _whole(value: Any) -> int | None:
    usable = isinstance(value, int) and not isinstance(value, bool) and -_INT64_LIMIT <= value < _INT64_LIMIT
    return value if usable else None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return str(value) if _whole(value) is not None or (isinstance(value, int) and value.bit_length() < 128) else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
