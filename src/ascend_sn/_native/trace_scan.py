"""Chrome-trace JSON to columns: block by block, on several threads, exact to the nanosecond.

Both forms are read, the list and the object with its key `traceEvents` in any place, plain or gzip. Damage
never ends the reading: what is whole is used, the rest is counted with its offset.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from ascend_sn._native import _core
from ascend_sn._native.byte_source import ByteSource, Damage, open_bytes

__all__ = [
    "ABSENT",
    "BOOLEAN",
    "INTEGER",
    "NESTED",
    "NULL",
    "NUMBER",
    "TEXT",
    "ArgColumn",
    "Strings",
    "TraceColumns",
    "scan",
    "scan_blocks",
]

# Kinds of an argument's value.
ABSENT, TEXT, INTEGER, NUMBER, BOOLEAN, NULL, NESTED = range(7)

_PIECE_SIZE: Final = 1 << 20  # one thread's portion: its texts then stay in the second-level cache
_BLOCK_SIZE: Final = 1 << 23
_LARGEST_ELEMENT: Final = 1 << 26
# A sound escape (1), half of a surrogate pair (2), or a backslash that escapes nothing.
_ESCAPE: Final = re.compile(
    r'(\\(?:["\\/bfnrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4}))'
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})|\\"
)
_FRONT: Final = 1 << 20
_PADDING: Final = 64
_MOST_THREADS: Final = 8

_CODES: Final = ("name", "cat", "pid", "tid", "id", "scope", "other_args")
_LETTERS: Final = ("ph", "s", "bp", "has_ts", "has_dur")


class Strings(Sequence[str]):
    """The distinct texts of a file in order of first appearance, decoded when asked for.

    Bytes that are no UTF-8 read as U+FFFD.
    """

    def __init__(self) -> None:
        self._texts = _core.strings_new()

    def __len__(self) -> int:
        return _core.strings_count(self._texts)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[code] for code in range(*index.indices(len(self)))]
        return _core.strings_text(self._texts, index if index >= 0 else index + len(self))

    def integers(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the whole numbers that texts spell, and where they do (digits, at most a minus before)."""
        values, valid = np.empty(len(codes), np.int64), np.empty(len(codes), np.uint8)
        _core.strings_integers(self._texts, np.ascontiguousarray(codes, np.int32), values, valid)
        return values, valid.view(np.bool_)


class ArgColumn(NamedTuple):
    """One argument key of all events.

    Attributes:
        kind: ABSENT, TEXT, INTEGER, NUMBER, BOOLEAN, NULL or NESTED.
        code: Text of the value as written (texts without quotes and escapes), -1 for absent and null.
        value: The whole number of INTEGER, 1 or 0 of BOOLEAN, else 0. Whole numbers beyond 64 bits are NUMBER.
        number: float64 of INTEGER, NUMBER and BOOLEAN, else NaN.
    """

    kind: NDArray[np.uint8]
    code: NDArray[np.int32]
    value: NDArray[np.int64]
    number: NDArray[np.float64]


class _Arguments(Mapping[str, ArgColumn]):
    """Argument columns, each put together when it is first asked for."""

    def __init__(self, keys: Sequence[str], blocks: Sequence[tuple[object, int]]) -> None:
        self._index = {key: number for number, key in enumerate(keys)}
        self._blocks = blocks
        self._made: dict[str, ArgColumn] = {}

    def __getitem__(self, key: str) -> ArgColumn:
        if key not in self._made:
            self._made[key] = self._column(self._index[key])
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def _column(self, key: int) -> ArgColumn:
        count = sum(rows for _, rows in self._blocks)
        column = ArgColumn(
            np.zeros(count, np.uint8),
            np.full(count, -1, np.int32),
            np.zeros(count, np.int64),
            np.full(count, np.nan),
        )
        first = 0
        for block, rows in self._blocks:
            kind, code, value, number = (values[first : first + rows] for values in column)
            _core.block_argument(block, kind, code, value, number, key)
            first += rows
        return column


@dataclass(frozen=True, eq=False)
class TraceColumns:
    """Events in file order, one array per field; texts are codes into `strings`, -1 where absent.

    Attributes:
        count: Number of events.
        ph: ASCII code of the phase letter, 0 where there is none.
        s, bp: Likewise for the scope letter of instants and the binding point of flows.
        ts_ns, dur_ns: int64, 0 where absent: see `has_ts`, `has_dur`.
        has_ts, has_dur: 1 where the event has a usable time.
        offset: Place of the event in the (expanded) file, bytes.
        name, cat, pid, tid, id, scope: Codes. Numbers are kept as written, so `7` and `"7"` are the same.
        other_args: Code of the arguments that were not asked for, as JSON text, if these were to be kept.
        args: Columns of the argument keys that were asked for.
        strings: Texts of the file; grows while further blocks are read.
        metadata: Top-level members beside the events; complete with the last block.
        damage: (kind, offset of the first, count, example) of the whole file; given with the last block.
        byte_count: Bytes of the (expanded) file read so far.
        has_event_list: Whether the top level is or holds a list of events (so far).
    """

    count: int
    ph: NDArray[np.uint8]
    s: NDArray[np.uint8]
    bp: NDArray[np.uint8]
    ts_ns: NDArray[np.int64]
    dur_ns: NDArray[np.int64]
    has_ts: NDArray[np.uint8]
    has_dur: NDArray[np.uint8]
    offset: NDArray[np.int64]
    name: NDArray[np.int32]
    cat: NDArray[np.int32]
    pid: NDArray[np.int32]
    tid: NDArray[np.int32]
    id: NDArray[np.int32]
    scope: NDArray[np.int32]
    other_args: NDArray[np.int32]
    args: Mapping[str, ArgColumn]
    strings: Strings
    metadata: dict[str, Any]
    damage: list[Damage]
    byte_count: int
    has_event_list: bool

    @cached_property
    def _integers(self) -> dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        return {"pid": self.strings.integers(self.pid), "tid": self.strings.integers(self.tid)}

    @property
    def pid_int(self) -> NDArray[np.int64]:
        """Process ids that are whole numbers, 0 elsewhere."""
        return self._integers["pid"][0]

    @property
    def pid_is_int(self) -> NDArray[np.bool_]:
        """Where the process id is a whole number."""
        return self._integers["pid"][1]

    @property
    def tid_int(self) -> NDArray[np.int64]:
        """Thread ids that are whole numbers, 0 elsewhere."""
        return self._integers["tid"][0]

    @property
    def tid_is_int(self) -> NDArray[np.bool_]:
        """Where the thread id is a whole number."""
        return self._integers["tid"][1]


def scan(
    source: bytes | str | os.PathLike[str],
    arg_keys: Sequence[str] = (),
    *,
    keep_other_args: bool = False,
    threads: int = 0,
) -> TraceColumns:
    """Read a whole trace.

    Args:
        source: A path, or the content itself; gzip is recognised by content.
        arg_keys: Keys of `args` that become columns.
        keep_other_args: Keep the other arguments of each event as JSON text.
        threads: Number of threads; 0 takes one per usable CPU, at most 8.

    Raises:
        OSError: The file cannot be read. Damaged content does not raise.
    """
    reading = _Reading(arg_keys, keep_other_args=keep_other_args, threads=threads)
    with closing(open_bytes(source)) as opened:
        blocks = list(reading.blocks(opened))
    return reading.columns(blocks, last=True)


def scan_blocks(
    source: bytes | str | os.PathLike[str],
    arg_keys: Sequence[str] = (),
    *,
    keep_other_args: bool = False,
    threads: int = 0,
    block_bytes: int = _BLOCK_SIZE,
) -> Iterator[TraceColumns]:
    """Read a trace in blocks of about `block_bytes`, so that memory stays bounded however large the file.

    All blocks share `strings` and `metadata`, and codes mean the same in each. At least one block comes, the
    last one holds the damage. The other arguments and errors are those of `scan`.
    """
    reading = _Reading(arg_keys, keep_other_args=keep_other_args, threads=threads, block_bytes=block_bytes)
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
        self, arg_keys: Sequence[str], *, keep_other_args: bool, threads: int, block_bytes: int = _BLOCK_SIZE
    ) -> None:
        self._keys = list(dict.fromkeys(arg_keys))
        threads = threads or min(len(os.sched_getaffinity(0)), _MOST_THREADS)
        self._strings = Strings()
        self._scanner = _core.scanner_new(
            self._strings._texts,
            tuple(key.encode() for key in self._keys),
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
        front = min(_FRONT, size)  # room for what the window before left over
        buffers = [bytearray(front + size + _PADDING) for _ in range(2)]
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
            args=_Arguments(self._keys, blocks),
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
