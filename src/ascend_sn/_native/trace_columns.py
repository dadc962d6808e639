"""What the trace scanner hands out: events as arrays, texts by code, argument columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from ascend_sn._native import _core
from ascend_sn._native.byte_source import Damage

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
    "texts_at",
]

# Kinds of an argument's value.
ABSENT, TEXT, INTEGER, NUMBER, BOOLEAN, NULL, NESTED = range(7)


class Strings(Sequence[str]):
    """The distinct texts of a file in order of first appearance, decoded when asked for.

    Bytes that are no UTF-8 read as U+FFFD. `handle` is what the compiled core knows them by.
    """

    def __init__(self) -> None:
        self.handle = _core.strings_new()

    def __len__(self) -> int:
        return _core.strings_count(self.handle)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[code] for code in range(*index.indices(len(self)))]
        return _core.strings_text(self.handle, index if index >= 0 else index + len(self))

    def integers(self, codes: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the whole numbers that texts spell, and where they do (digits, at most a minus before)."""
        values, valid = np.empty(len(codes), np.int64), np.empty(len(codes), np.uint8)
        _core.strings_integers(self.handle, np.ascontiguousarray(codes, np.int32), values, valid)
        return values, valid.view(np.bool_)


class ByCode(Protocol):
    """Texts by code."""

    def __getitem__(self, index: int, /) -> str:
        """Return the text of a code."""


def texts_at(strings: ByCode, codes: NDArray[np.integer[Any]]) -> list[str]:
    """Return the texts of many codes, none of them negative; several times as quick as one by one."""
    if not isinstance(strings, Strings):
        return [strings[code] for code in codes.tolist()]
    return _core.strings_texts(strings.handle, np.ascontiguousarray(codes, np.int32))


class ArgColumn(NamedTuple):
    """One argument key of all events.

    Attributes:
        kind: ABSENT, TEXT, INTEGER, NUMBER, BOOLEAN, NULL or NESTED.
        code: Text of the value as written (texts without quotes and escapes), -1 for absent and null, and for the
            whole numbers of `number_keys`.
        value: The whole number of INTEGER, 1 or 0 of BOOLEAN, else 0. Whole numbers beyond 64 bits are NUMBER.
        number: float64 of INTEGER, NUMBER and BOOLEAN, else NaN.
    """

    kind: NDArray[np.uint8]
    code: NDArray[np.int32]
    value: NDArray[np.int64]
    number: NDArray[np.float64]


_NOTHING_TOLD = np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0, np.float64)


class ArgColumns(Mapping[str, ArgColumn]):
    """Argument columns, each put together when it is first asked for."""

    def __init__(self, keys: Sequence[str], blocks: Sequence[tuple[object, int]]) -> None:
        self._index = {key: number for number, key in enumerate(keys)}
        self._blocks = blocks
        self._made: dict[str, ArgColumn] = {}
        self._codes: dict[str, NDArray[np.int32]] = {}

    def __getitem__(self, key: str) -> ArgColumn:
        if key not in self._made:
            self._made[key] = self._column(self._index[key])
        return self._made[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    @cached_property
    def _counts(self) -> list[list[int]]:
        return [_core.block_told(block) for block, _ in self._blocks]

    def told_keys(self) -> list[str]:
        """Return the keys for which any row has a text."""
        return list(self._told_keys)

    @cached_property
    def _told_keys(self) -> tuple[str, ...]:
        return tuple(key for key, index in self._index.items() if any(counts[index] for counts in self._counts))

    def told(self, key: str) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
        """Return only the rows that have a text for a key, ascending: their number, `code` and `number`."""
        index = self._index[key]
        parts = []
        first = 0
        for (block, rows), counts in zip(self._blocks, self._counts, strict=True):
            count = counts[index]
            row, code, number = np.empty(count, np.int32), np.empty(count, np.int32), np.empty(count, np.float64)
            written = _core.block_sparse(block, row, code, number, index) if count else 0
            row = row[:written]
            row += first
            parts.append((row, code[:written], number[:written]))
            first += rows
        if len(parts) == 1:
            return parts[0]
        joined = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
        return (joined[0], joined[1], joined[2]) if joined else _NOTHING_TOLD

    def codes(self, key: str) -> NDArray[np.int32]:
        """Return the `code` of a key for all rows; a third of the work of the whole column."""
        if key in self._made:
            return self._made[key].code
        if key not in self._codes:
            row, code, _ = self.told(key)
            self._codes[key] = np.full(sum(rows for _, rows in self._blocks), -1, np.int32)
            self._codes[key][row] = code
        return self._codes[key]

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
    args: ArgColumns
    strings: Strings
    metadata: dict[str, Any]
    damage: list[Damage]
    byte_count: int
    has_event_list: bool

    @cached_property
    def _thread_numbers(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        return self.strings.integers(self.tid)

    @property
    def tid_int(self) -> NDArray[np.int64]:
        """Thread ids that are whole numbers, 0 elsewhere."""
        return self._thread_numbers[0]

    @property
    def tid_is_int(self) -> NDArray[np.bool_]:
        """Where the thread id is a whole number."""
        return self._thread_numbers[1]
