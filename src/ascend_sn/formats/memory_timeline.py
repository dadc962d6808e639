"""Read the memory timelines that PyTorch's memory profiler exports: raw events, or curves by category.

Raw: a list of `[time ns, action, signed bytes, category]`. Curves: `[[times], [[0, category 0, ...], ...]]`.
"""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import distinct
from ascend_sn.errors import EmptyInputError, FormatError, JsonTextError
from ascend_sn.formats.heads import is_gzip
from ascend_sn.formats.json_text import json_value
from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.model.capture import Capture, DeviceKind, ProfileHeader
from ascend_sn.model.ledger import CoverageEntry, Ledger
from ascend_sn.model.memory_parts import MEMORY_CATEGORIES
from ascend_sn.model.rows import Int64, Rows, Text, conform
from ascend_sn.model.tables import MEMORY_EVENT, MEMORY_SAMPLE
from ascend_sn.model.units import NS_PER_US

__all__ = ["READER"]

_NAME: Final = "memory-timeline"
_ALL: Final = "all"
_NUMBER: Final = rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_RAW: Final = re.compile(rb"\s*\[\s*\[\s*-?\d+\s*,\s*[0-4]\s*,\s*-?\d+\s*,\s*[0-7]\s*\]")
_CURVES: Final = re.compile(rb"\s*\[\s*\[\s*(?:" + _NUMBER + rb"\s*,\s*)*" + _NUMBER + rb"\s*\]\s*,\s*\[\s*\[\s*0\s*,")
_LONG_CURVES: Final = re.compile(rb"\s*\[\s*\[\s*(?:\d{6,}\s*,\s*){64}")
_EXPANDED_LIMIT: Final = 4 << 30
"""Most bytes that a compressed file may expand to."""

_EXPANDED_ALWAYS: Final = 64 << 20
_EXPANSION_LIMIT: Final = 100
"""Times its own size; what PyTorch writes expands to the twentyfold at most."""

_PIECE: Final = 1 << 20


def read(source: Source) -> list[Capture]:
    """Return the capture of a memory timeline.

    Raises:
        EmptyInputError: The timeline holds no events.
        FormatError: The file is no such timeline, or is cut.
    """
    found = _decoded(source.path)
    ledger, file = Ledger(), source.relative(source.path)
    kind: DeviceKind = "host"
    if _is_curves(found):
        tables = _curve_tables(source.path, found[0], found[1])
    else:
        tables, kind = _raw_tables(source.path, found, file, ledger)
    header = ProfileHeader(
        format=_NAME,
        source=source.name,
        device_kind=kind,
        start_ns=int(tables["memory_sample"].values("ts_ns")[0]),
        phase=source.phase,
    )
    return [Capture(header=header, tables=tables, coverage=_coverage(tables), ledger=ledger)]


def _raw_tables(path: Path, found: list[Any], file: str, ledger: Ledger) -> tuple[dict[str, Rows], DeviceKind]:
    """Return one sample per event and its category, and the allocations and frees among the events.

    Events that existed before the timeline (time -1) get the time of its first event. PyTorch counts actions
    from 1, torch_npu from 0: a 0 anywhere means the latter.
    """
    usable = [event for event in found if _is_event(event)]
    if len(usable) < len(found):
        ledger.add(file, "unreadable_rows", count=len(found) - len(usable), example="left out")
    if not usable:
        if not found:
            raise EmptyInputError(path, "this memory timeline holds no events")
        raise FormatError(path, "no row of this memory timeline could be read")
    ts, action, size, category = np.array(usable, np.int64).T
    from_zero = bool((action == 0).any())
    action = action + from_zero
    placed = ts >= 0
    ts = np.where(placed, ts, ts[placed].min() if bool(placed.any()) else 0)
    order = np.argsort(ts, kind="stable")
    ts, action, size, category = ts[order], action[order], size[order], category[order]
    changes = (action == 1) | (action == 2) | (action == 4)
    events = conform(
        MEMORY_EVENT,
        int(np.count_nonzero(changes)),
        ts_ns=ts[changes],
        kind=Text((action[changes] == 4).astype(np.int32), ["alloc", "free"]),
        size_bytes=np.abs(size[changes]),
    )
    kind: DeviceKind = "npu" if from_zero else "host"
    return {"memory_event": events, "memory_sample": _samples(ts, size, category)}, kind


def _samples(ts: Int64, size: Int64, category: Int64) -> Rows:
    """Return the running sum of all after every event, and that of each category after its last event of a moment."""
    running = np.zeros(len(ts), np.int64)
    for number in distinct(category).tolist():
        mine = category == number
        running[mine] = np.cumsum(size[mine])
    count = len(ts)
    at = np.repeat(ts, 2)
    component = _interleaved(category, np.full(count, len(MEMORY_CATEGORIES)))
    levels = _interleaved(running, np.cumsum(size))
    kept = np.ones(2 * count, np.bool_)
    kept[::2] = _is_last_of_moment(ts, category)
    return conform(
        MEMORY_SAMPLE,
        int(kept.sum()),
        ts_ns=at[kept],
        component=Text(component[kept].astype(np.int32), [*MEMORY_CATEGORIES, _ALL]),
        allocated_bytes=levels[kept],
    )


def _is_last_of_moment(ts: Int64, category: Int64) -> npt.NDArray[np.bool_]:
    """Whether no later event has the same moment and category."""
    order = np.lexsort((category, ts))  # stable: of equal pairs the last event comes last
    is_last = np.ones(len(order), np.bool_)
    is_last[:-1] = (np.diff(ts[order]) != 0) | (np.diff(category[order]) != 0)
    found = np.empty(len(order), np.bool_)
    found[order] = is_last
    return found


def _curve_tables(path: Path, times: list[Any], sizes: list[Any]) -> dict[str, Rows]:
    if not times:
        raise EmptyInputError(path, "this memory timeline holds no events")
    width = len(MEMORY_CATEGORIES) + 1
    try:
        ts = np.array([round(time * NS_PER_US) for time in times], np.int64)
        table = np.array(sizes, np.int64)
    except (TypeError, ValueError, OverflowError) as error:
        raise FormatError(path, "the curves of this memory timeline could not be read") from error
    if table.ndim != 2 or table.shape[1] != width:
        raise FormatError(path, f"the curves of this memory timeline have not {width} columns")
    count = len(ts)
    table = np.concatenate([table[:, 1:], table[:, 1:].sum(axis=1, keepdims=True)], axis=1)
    samples = conform(
        MEMORY_SAMPLE,
        count * width,
        ts_ns=np.repeat(ts, width),
        component=Text(np.tile(np.arange(width, dtype=np.int32), count), [*MEMORY_CATEGORIES, _ALL]),
        allocated_bytes=table.reshape(-1),
    )
    return {"memory_sample": samples}


def _interleaved(first: npt.NDArray[Any], second: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.stack([first, second], axis=1).reshape(-1)


def _is_curves(found: list[Any]) -> bool:
    """Whether these are times and rows of sizes, and not two events."""
    if len(found) != 2 or not all(isinstance(part, list) for part in found):
        return False
    return len(found[0]) == len(found[1]) and all(isinstance(row, list) for row in found[1])


def _is_event(event: Any) -> bool:
    return (
        isinstance(event, list)
        and len(event) == 4
        and all(isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 for value in event)
        and 0 <= event[1] <= 4
        and 0 <= event[3] < len(MEMORY_CATEGORIES)
    )


def _decoded(path: Path) -> list[Any]:
    data = _content(path)
    if not data.strip():
        raise EmptyInputError(path, "file is empty; was the session ended?")
    try:
        found = json_value(data)
    except JsonTextError as error:
        raise FormatError(path, f"not a whole memory timeline: {error}") from error
    if not isinstance(found, list):
        raise FormatError(path, "not a memory timeline: no list")
    return found


def _content(path: Path) -> bytes:
    if not is_gzip(path):
        return path.read_bytes()
    limit = min(_EXPANDED_LIMIT, max(_EXPANDED_ALWAYS, _EXPANSION_LIMIT * path.stat().st_size))
    pieces, size = [], 0
    try:
        with gzip.open(path) as file:
            while size <= limit and (piece := file.read(_PIECE)):  # a reading of all at once would take all the room
                pieces.append(piece)
                size += len(piece)
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(path, f"the compressed file is damaged: {error}") from error
    if size > limit:
        raise FormatError(path, f"expands to more than {limit} bytes")
    return b"".join(pieces)


def _coverage(tables: dict[str, Rows]) -> list[CoverageEntry]:
    reason = "a memory timeline holds memory only"
    entries = [
        CoverageEntry(name, "unsupported", reason) for name in ("step", "operator", "host_call", "kernel", "collective")
    ]
    entries.append(CoverageEntry("memory_sample", "collected"))
    came = "memory_event" in tables
    entries.append(
        CoverageEntry("memory_event", "collected")
        if came
        else CoverageEntry("memory_event", "unsupported", "curves only", "export the raw form (*.raw.json.gz)")
    )
    if came:
        snapshot = "torch.cuda.memory._record_memory_history(), torch.cuda.memory._dump_snapshot()"
        why = "a memory timeline holds no addresses, so nobody knows when a block is freed"
        entries.append(CoverageEntry("memory_event", "unsupported", why, snapshot, "address"))
    return entries


def _claims(candidate: Candidate) -> bool:
    head = candidate.head.removeprefix(codecs.BOM_UTF8)
    return bool(_RAW.match(head) or _CURVES.match(head) or _LONG_CURVES.match(head))


def _members(path: Path) -> list[Path]:
    return [path]


READER = Reader(_NAME, _claims, _members, read)
