"""`train.trace` on disk: an Arrow IPC stream of whole batches, and `names.trace` before it."""

from __future__ import annotations

import os
from io import BytesIO

from ascend_sn.model.trace_schema import COLUMNS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from ascend_sn.collect.buffer import Columns
    from ascend_sn.collect.run_folder import RunFolder

__all__ = ["TraceWriter"]

_CODES: dict[str, tuple[Literal["B", "i", "q"], int]] = {"uint8": ("B", 1), "int32": ("i", 4), "int64": ("q", 8)}
_END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class TraceWriter:
    """Appends batches to the two files of a run folder; one thread at a time.

    Each batch and each block of names is one write at a known offset, so that a killed process leaves whole
    batches, and a write that failed (full disk) leaves no debris before the next one.
    """

    def __init__(self, folder: RunFolder, metadata: Mapping[str, str]) -> None:
        """Write the stream's schema with its metadata; raises OSError."""
        # Here: it is loaded when recording starts, not when the Profiler is imported.
        import nanoarrow
        from nanoarrow.ipc import StreamWriter

        self._nanoarrow: Any = nanoarrow
        self._folder = folder
        self._types = [getattr(nanoarrow, type_name)(nullable=False) for _, type_name in COLUMNS]
        columns = {name: column for (name, _), column in zip(COLUMNS, self._types, strict=True)}
        schema = nanoarrow.c_schema(nanoarrow.struct(columns, nullable=False))
        self._schema = schema.modify(metadata=dict(metadata))
        self._bytes = BytesIO()
        self._stream: Any = StreamWriter.from_writable(self._bytes)
        self._trace_end = 0
        self._names_end = 0
        self._stream.write_stream(nanoarrow.c_array_stream([], self._schema))
        self._trace_end = _write_at(folder.trace, self._take_bytes(), self._trace_end)

    @property
    def size_bytes(self) -> int:
        """Bytes of both files."""
        return self._trace_end + self._names_end

    @property
    def trace_bytes(self) -> int:
        """Bytes of `train.trace`, which grows with what is recorded; names are written once."""
        return self._trace_end

    def write_names(self, lines: bytes) -> None:
        """Append whole lines to `names.trace`; raises OSError and then leaves the file as it was."""
        if lines:
            self._names_end = _write_at(self._folder.names, lines, self._names_end)

    def warm_up(self, row_count: int) -> None:
        """Take the memory now that a batch of so many rows needs, so that a later one takes no more; writes nothing."""
        # Ones, as memory that holds zeros only need not be there.
        self._encoded(
            tuple(
                memoryview(b"\1" * (row_count * width)).cast(code)
                for code, width in (_CODES[kind] for _, kind in COLUMNS)
            )
        )

    def write_batch(self, columns: Columns) -> None:
        """Append one batch to `train.trace`; raises OSError and then leaves the file as it was."""
        self._trace_end = _write_at(self._folder.trace, self._encoded(columns), self._trace_end)

    def finish(self) -> None:
        """Put the end-of-stream mark behind the last batch and close the files; a batch written later opens them."""
        try:
            _write_at(self._folder.trace, _END_OF_STREAM, self._trace_end)
        finally:
            self._folder.close()

    def sync(self) -> None:
        """Wait until both files are on the disk."""
        os.fsync(self._folder.names)
        os.fsync(self._folder.trace)

    def release(self) -> None:
        """Let go of the stream; the files stay open for who owns them."""
        self._stream.release()

    def close(self) -> None:
        """Close the files."""
        self.release()
        self._folder.close()

    def _encoded(self, columns: Columns) -> bytes:
        nanoarrow, length = self._nanoarrow, len(columns[0])
        children = [
            nanoarrow.c_array_from_buffers(column_type, length, [None, column])
            for column_type, column in zip(self._types, columns, strict=True)
        ]
        batch = nanoarrow.c_array_from_buffers(self._schema, length, [None], children=children)
        self._stream.write_array(batch)
        return self._take_bytes()

    def _take_bytes(self) -> bytes:
        data = self._bytes.getvalue()
        self._bytes.seek(0)
        self._bytes.truncate()
        return data


def _write_at(descriptor: int, data: bytes, offset: int) -> int:
    """Write everything at an offset and return the new end; on failure cut the file back to the offset."""
    rest, place = memoryview(data), offset
    try:
        while rest:
            written = os.pwrite(descriptor, rest, place)
            rest, place = rest[written:], place + written
    except OSError:
        os.ftruncate(descriptor, offset)
        raise
    return place
