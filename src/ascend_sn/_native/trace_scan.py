"""Chrome-trace JSON to columns: block by block, on several threads, exact to the nanosecond.

Both forms are read, the list and the object with its key `traceEvents` in any place, plain or gzip. Damage
never ends the reading: what is whole is used, the rest is counted with its offset.
"""

from __future__ import annotations

import json
import mmap
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import numpy as np

from ascend_sn._native import _core
from ascend_sn._native.byte_source import ByteSource, Damage, open_bytes
from ascend_sn._native.trace_columns import (
    ABSENT,
    BOOLEAN,
    INTEGER,
    NESTED,
    NULL,
    NUMBER,
    TEXT,
    ArgColumn,
    ArgColumns,
    Strings,
    TraceColumns,
    texts_at,
)

__all__ = [
    "ABSENT",
    "BOOLEAN",
    "INTEGER",
    "NESTED",
    "NULL",
    "NUMBER",
    "TEXT",
    "ArgColumn",
    "ArgColumns",
    "Strings",
    "TraceColumns",
    "scan",
    "scan_blocks",
    "texts_at",
]


_PIECE_SIZE: Final = 1 << 20  # one thread's portion: its texts then stay in the second-level cache
_BLOCK_SIZE: Final = 1 << 23
_LARGEST_ELEMENT: Final = 1 << 26
# A sound escape (1), half of a surrogate pair (2), or a backslash that escapes nothing.
_ESCAPE: Final = re.compile(
    r'(\\(?:["\\/bfnrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))'
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\"
)
_FRONT: Final = 1 << 20
_PAGE: Final = mmap.PAGESIZE
_PADDING: Final = 64
_MOST_THREADS: Final = 8

_CODES: Final = ("name", "cat", "pid", "tid", "id", "scope", "other_args")
_LETTERS: Final = ("ph", "s", "bp", "has_ts", "has_dur")


def scan(
    source: bytes | str | os.PathLike[str],
    arg_keys: Sequence[str] = (),
    *,
    number_keys: Sequence[str] = (),
    keep_other_args: bool = False,
    threads: int = 0,
) -> TraceColumns:
    """Read a whole trace.

    Args:
        source: A path, or the content itself; gzip is recognised by content.
        arg_keys: Keys of `args` that become columns.
        number_keys: Further keys, of which whole numbers get no text: their `code` is -1. Ids, which are many and
            all different, cost a third of the scan otherwise.
        keep_other_args: Keep the other arguments of each event as JSON text.
        threads: Number of threads; 0 takes one per usable CPU, at most 8.

    Raises:
        OSError: The file cannot be read. Damaged content does not raise.
    """
    reading = _Reading(arg_keys, number_keys, keep_other_args=keep_other_args, threads=threads)
    with closing(open_bytes(source)) as opened:
        blocks = list(reading.blocks(opened))
    return reading.columns(blocks, last=True)


def scan_blocks(
    source: bytes | str | os.PathLike[str],
    arg_keys: Sequence[str] = (),
    *,
    number_keys: Sequence[str] = (),
    keep_other_args: bool = False,
    threads: int = 0,
    block_bytes: int = _BLOCK_SIZE,
) -> Iterator[TraceColumns]:
    """Read a trace in blocks of about `block_bytes`, so that memory stays bounded however large the file.

    All blocks share `strings` and `metadata`, and codes mean the same in each. At least one block comes, the
    last one holds the damage. The other arguments and errors are those of `scan`.
    """
    reading = _Reading(arg_keys, number_keys, keep_other_args=keep_other_args, threads=threads, block_bytes=block_bytes)
    with closing(open_bytes(source)) as opened:
        held: tuple[object, int] | None = None
        for block in reading.blocks(opened):
            if held is not None and held[1]:
                yield reading.columns([held], last=False)
            held = block
        yield reading.columns([] if held is None else [held], last=True)


class _Reading:
    """One pass over one source."""

    def __init__(
        self,
        arg_keys: Sequence[str],
        number_keys: Sequence[str],
        *,
        keep_other_args: bool,
        threads: int,
        block_bytes: int = _BLOCK_SIZE,
    ) -> None:
        self._keys = list(dict.fromkeys((*arg_keys, *number_keys)))
        threads = threads or min(len(os.sched_getaffinity(0)), _MOST_THREADS)
        self._strings = Strings()
        self._scanner = _core.scanner_new(
            self._strings.handle,
            tuple(key.encode() for key in self._keys),
            len(dict.fromkeys(arg_keys)),
            int(keep_other_args),
            _LARGEST_ELEMENT,
            min(_PIECE_SIZE, block_bytes),
            threads,
        )
        self._block_bytes = block_bytes
        self._metadata: dict[str, Any] = {}
        self._damage: list[Damage] = []
        self._byte_count = 0

    def blocks(self, source: ByteSource) -> Iterator[tuple[object, int]]:
        """Scan window after window while the next one is being read; yield the rows of each and their number."""
        # Small files get small buffers; the byte more shows that the file ends.
        size = max(1, min(self._block_bytes, source.likely_size + 1))
        front = -(-min(_FRONT, size) // _PAGE) * _PAGE  # room for what the window before left over
        buffers: list[bytearray | mmap.mmap] = [_pages(front + size + _PADDING) for _ in range(2)]
        carry, offset, last = b"", 0, False
        with ThreadPoolExecutor(1) as pool:
            filled = _filling(pool, source, memoryview(buffers[0])[front : front + size])
            while not last:
                buffer, count = buffers[0], filled.result()
                last = count < size
                buffers.reverse()
                if not last:
                    filled = _filling(pool, source, memoryview(buffers[0])[front : front + size])
                begin, end = front - len(carry), front + count
                if begin < 0:
                    buffer = bytearray(len(carry)) + buffer[front:]
                    begin, end = 0, len(carry) + count
                buffer[begin : begin + len(carry)] = carry
                block, stop = _core.scanner_feed(self._scanner, buffer, begin, end, offset, last)
                offset += stop - begin
                carry = bytes(memoryview(buffer)[stop:end])
                self._byte_count += count
                yield block, _core.block_count(block)
        self._damage.extend(source.damage)

    def columns(self, blocks: Sequence[tuple[object, int]], *, last: bool) -> TraceColumns:
        """Hand out rows as arrays."""
        self._take_metadata()
        count = sum(rows for _, rows in blocks)
        wide: dict[str, Any] = {name: np.empty(count, np.int64) for name in ("ts_ns", "dur_ns", "offset")}
        codes: dict[str, Any] = {name: np.empty(count, np.int32) for name in _CODES}
        letters: dict[str, Any] = {name: np.empty(count, np.uint8) for name in _LETTERS}
        first = 0
        for block, rows in blocks:
            arrays = [*wide.values(), *codes.values(), *letters.values()]
            _core.block_events(block, *(values[first : first + rows] for values in arrays))
            first += rows
        return TraceColumns(
            count=count,
            args=ArgColumns(self._keys, blocks),
            strings=self._strings,
            metadata=self._metadata,
            damage=[*self._scanner_damage(), *self._damage] if last else [],
            byte_count=self._byte_count,
            has_event_list=_core.scanner_has_list(self._scanner),
            **wide,
            **codes,
            **letters,
        )

    def _take_metadata(self) -> None:
        for key, value in _core.scanner_members(self._scanner):
            try:
                self._metadata[_parsed(b'"' + key + b'"')] = _parsed(value)
            except ValueError as error:
                name = key.decode("utf-8", "replace")
                self._damage.append(("damaged_metadata", 0, 1, f"{name}: {error}"))

    def _scanner_damage(self) -> list[Damage]:
        return [
            (kind, offset, count, _shown(kind, example))
            for kind, offset, count, example in _core.scanner_damage(self._scanner)
        ]


def _pages(size: int) -> mmap.mmap:
    """Memory that begins with a page.

    Into a bytearray, which begins 16 bytes later, some processors read files at a third of the speed (AMD EPYC: 0.78
    instead of 0.29 CPU seconds for 1 GB).
    """
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def _parsed(text: bytes) -> Any:
    """Parse JSON as forgivingly as the events are read."""
    return json.loads(_ESCAPE.sub(_sound, text.decode("utf-8", "replace")), strict=False)


def _sound(escape: re.Match[str]) -> str:
    return escape[1] or (r"\ufffd" if escape[2] else r"\\")


def _filling(pool: ThreadPoolExecutor, source: ByteSource, window: memoryview) -> Future[int]:
    """Fill a window on the pool's thread; here and now while the interpreter ends, when pools take no work."""
    try:
        return pool.submit(source.fill, window)
    except RuntimeError:
        done: Future[int] = Future()
        done.set_result(source.fill(window))
        return done


def _shown(kind: str, example: bytes) -> str:
    """Cut the bytes at a place of damage to what belongs to it."""
    if kind in {"invalid_utf8", "control_character", "bad_escape"}:
        example = example.partition(b'"')[0]
    elif kind in {"rounded_time", "exponent_time", "not_a_number", "bad_time", "time_out_of_range"}:
        example = example.partition(b",")[0].partition(b"}")[0]
    return example.decode("utf-8", "replace")
