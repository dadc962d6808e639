"""`train.trace` as columns: an Arrow IPC stream, of which every whole batch is used.

The frames are walked here and not by an Arrow library, because the file may be cut or damaged anywhere: a
batch that does not hold together is counted with its place, and the search goes on behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn.errors import FormatError
from ascend_sn.formats.train_trace.flatbuffer import BadBufferError, FlatTable, root_table
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64
from ascend_sn.model.times import possible_times
from ascend_sn.model.trace_schema import COLUMNS, TRACE_VERSION, VERSION_KEY

__all__ = ["Events", "read_events"]

_CONTINUATION: Final = 0xFFFFFFFF
_ALIGNMENT: Final = 8
_PREFIX: Final = 8  # continuation mark and length of the message
_MAX_MESSAGE: Final = 1 << 20

_BELIEVED: Final = 8
"""A batch is believed when at most so many rows, or one row in so many, have an impossible time."""

# Numbers of the Arrow format files Message.fbs and Schema.fbs.
_SCHEMA: Final = 1
_RECORD_BATCH: Final = 3
_INTEGER_TYPE: Final = 2

_TYPES: Final = {name: np.dtype(type_name) for name, type_name in COLUMNS}


@dataclass(frozen=True)
class Events:
    """Rows of a trace in file order, and the metadata of its schema."""

    metadata: dict[str, str]
    kind: npt.NDArray[np.uint8]
    thread: Int64
    name_id: Int64
    ts_ns: Int64
    dur_ns: Int64
    value: Int64
    ref: Int64

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, index: npt.NDArray[Any]) -> Events:
        """Return the rows at `index` (positions or a mask)."""
        return Events(self.metadata, *(getattr(self, name)[index] for name in _TYPES))


@dataclass(frozen=True)
class _Message:
    """One frame of the stream: what it holds, and where its body and its end lie."""

    kind: int
    header: FlatTable
    body: int
    end: int


def read_events(path: Path, file: str, ledger: Ledger) -> Events:
    """Read every whole batch.

    Args:
        path: The file.
        file: Its name in the ledger.
        ledger: Gets what could not be read.

    Raises:
        FormatError: The schema cannot be read, or belongs to a newer version; nothing is usable then.
    """
    data = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.zeros(0, np.uint8)
    first = _message_at(data, 0)
    if first is None or first.kind != _SCHEMA:
        raise FormatError(path, "the start of the Arrow stream is damaged", "byte 0")
    try:
        fields, metadata = _schema(first.header)
    except BadBufferError as error:
        raise FormatError(path, f"the schema of the Arrow stream is damaged: {error}", "byte 0") from error
    _check_version(path, metadata)
    missing = [name for name in _TYPES if name not in fields]
    if missing:
        raise FormatError(path, f"columns are missing in the Arrow stream: {', '.join(missing)}", "byte 0")
    batches = list(_batches(data, first.end, fields, file, ledger))
    columns = (
        np.concatenate([batch[name] for batch in batches] or [np.zeros(0, dtype)]) for name, dtype in _TYPES.items()
    )
    kind, *others = columns
    return Events(metadata, kind, *(column.astype(np.int64) for column in others))


def _batches(
    data: npt.NDArray[np.uint8], place: int, fields: dict[str, int], file: str, ledger: Ledger
) -> Iterator[dict[str, npt.NDArray[Any]]]:
    while place < len(data):
        if _is_end_mark(data, place):
            place += _PREFIX
            continue
        message = _message_at(data, place)
        batch = _batch(data, message, fields) if message is not None else None
        if message is not None and (batch is not None or message.kind == _SCHEMA):
            if batch is not None and not _is_sound(batch):
                rows = len(batch["ts_ns"])
                told = f"{rows} rows left out: too many of their times are impossible for the rest to be believed"
                ledger.add(file, "damaged_batch", place=f"byte {place}", count=rows, example=told)
            elif batch is not None:
                yield batch
            place = message.end
            continue
        following = _next_batch(data, place + _ALIGNMENT, fields)
        lost = (len(data) if following is None else following) - place
        ledger.add(
            file,
            "truncated" if following is None else "damaged_batch",
            place=f"byte {place}",
            example=f"{lost} bytes skipped; every whole batch is used",
        )
        if following is None:
            return
        place = following


def _next_batch(data: npt.NDArray[np.uint8], place: int, fields: dict[str, int]) -> int | None:
    """Return where the next batch that holds together begins; frames lie at multiples of eight bytes."""
    start = -(-place // _ALIGNMENT) * _ALIGNMENT
    usable = (len(data) - start) // _ALIGNMENT * _ALIGNMENT
    if usable <= 0:
        return None
    words = data[start : start + usable].view("<u4").reshape(-1, 2)
    likely = np.flatnonzero((words[:, 0] == _CONTINUATION) & (words[:, 1] > 0) & (words[:, 1] <= _MAX_MESSAGE))
    for at in likely.tolist():
        candidate = start + at * _ALIGNMENT
        message = _message_at(data, candidate)
        if message is not None and _batch(data, message, fields) is not None:
            return candidate
    return None


def _message_at(data: npt.NDArray[np.uint8], place: int) -> _Message | None:
    prefix = data[place : place + _PREFIX]
    if len(prefix) < _PREFIX:
        return None
    mark, length = (int(word) for word in prefix.view("<u4"))
    body = place + _PREFIX + length
    if mark != _CONTINUATION or not 0 < length <= _MAX_MESSAGE or body > len(data):
        return None
    try:
        message = root_table(data[place + _PREFIX : body].tobytes())
        header = message.table(2)
        body_length = message.integer(3, 64)
        kind = message.integer(1, 8)
    except BadBufferError:
        return None
    if header is None or body_length < 0 or body + body_length > len(data):
        return None
    return _Message(kind, header, body, body + body_length)


def _is_end_mark(data: npt.NDArray[np.uint8], place: int) -> bool:
    prefix = data[place : place + _PREFIX]
    return prefix.tobytes() == b"\xff\xff\xff\xff\0\0\0\0"


def _schema(header: FlatTable) -> tuple[dict[str, int], dict[str, str]]:
    """Return the position of each of our columns that has its type, and the metadata."""
    fields: dict[str, int] = {}
    for position, field in enumerate(header.tables(1)):
        name, type_ = field.text(0), field.table(3)
        if name in _TYPES and field.integer(2, 8) == _INTEGER_TYPE and type_ is not None:
            wanted = _TYPES[name]
            width, is_signed = type_.integer(0, 32), bool(type_.integer(1, 8))
            if (width, is_signed) == (wanted.itemsize * 8, wanted.kind == "i"):
                fields[name] = position
    metadata = {entry.text(0) or "": entry.text(1) or "" for entry in header.tables(2)}
    return fields, metadata


def _batch(
    data: npt.NDArray[np.uint8], message: _Message, fields: dict[str, int]
) -> dict[str, npt.NDArray[Any]] | None:
    """Return the columns of a record batch as views of the file; None when it does not hold together."""
    if message.kind != _RECORD_BATCH:
        return None
    try:
        length = message.header.integer(0, 64)
        nodes, buffers = message.header.pairs(1), message.header.pairs(2)
    except BadBufferError:
        return None
    if len(buffers) < 2 * len(nodes) or max(fields.values()) >= len(nodes):
        return None
    columns = {}
    for name, position in fields.items():
        dtype, (offset, size) = _TYPES[name], buffers[2 * position + 1]
        start, needed = message.body + offset, length * dtype.itemsize
        if nodes[position] != (length, 0) or length < 0 or offset < 0 or size < needed:
            return None
        if start + needed > message.end:
            return None
        columns[name] = data[start : start + needed].view(dtype.newbyteorder("<"))
    return columns


def _is_sound(batch: dict[str, npt.NDArray[Any]]) -> bool:
    """Whether hardly any row has an impossible time.

    Columns lie one behind the other: where bytes are lost or shifted, nothing that follows means what it says, and
    some of the nonsense looks possible.
    """
    impossible = ~possible_times(batch["ts_ns"], batch["dur_ns"])
    return int(np.count_nonzero(impossible)) <= max(_BELIEVED, len(impossible) // _BELIEVED)


def _check_version(path: Path, metadata: dict[str, str]) -> None:
    text = metadata.get(VERSION_KEY, "")
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        raise FormatError(path, f"{VERSION_KEY} is {text!r}, not a number", "byte 0")
    if int(text) > TRACE_VERSION:
        raise FormatError(
            path,
            f"format version {text} is newer than this ascend-sn reads ({TRACE_VERSION}); upgrade ascend-sn",
        )
