"""Events of a trace file by class, gathered block by block so that only the chosen columns stay in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_sn._native.trace_scan import TraceColumns, texts_at
from ascend_sn.formats.chrome.texts import Codes
from ascend_sn.model.rows import Int64, Nullable

__all__ = ["Events", "Gathering", "concatenate", "lookup", "one_of", "thread_keys"]

_INTEGER, _NUMBER = 2, 3
_ABSENT, _ZERO, _FALSE, _NAN = (
    np.full(1, -1, np.int32),
    np.zeros(1, np.int64),
    np.zeros(1, np.bool_),
    np.full(1, np.nan),
)


@dataclass(frozen=True)
class Events:
    """Events of one class in file order; texts are codes into the file's strings, -1 where absent.

    Attributes:
        ts: Start in ns, as written (relative where the file has a base time).
        dur: Length in ns, 0 where the event has none.
        kind: Class of the event, as the reader numbered it.
        texts: Argument -> code of its text as written.
        integers: Argument -> whole numbers.
        reals: Argument -> float64, NaN where absent.
    """

    ts: Int64
    dur: Int64
    kind: npt.NDArray[np.int8]
    phase: npt.NDArray[np.uint8]
    name: Codes
    category: Codes
    pid: Codes
    tid: Codes
    id: Codes
    texts: dict[str, Codes]
    integers: dict[str, Nullable]
    reals: dict[str, npt.NDArray[np.float64]]

    def __len__(self) -> int:
        return len(self.ts)

    def take(self, index: npt.NDArray[Any]) -> Events:
        """Return the events at `index` (positions or a mask)."""
        at: Int64 = np.flatnonzero(index) if index.dtype == np.bool_ else index
        if index.dtype == np.bool_ and len(at) == len(self):
            return self
        columns: dict[str, Any] = {name: _taken(getattr(self, name), at) for name in _COLUMNS}
        return Events(
            **columns,
            texts={key: _taken(codes, at) for key, codes in self.texts.items()},
            integers={key: Nullable(_taken(c.values, at), _taken(c.valid, at)) for key, c in self.integers.items()},
            reals={key: _taken(values, at) for key, values in self.reals.items()},
        )

    def bare(self) -> Events:
        """Return the same events without arguments."""
        return replace(self, texts={}, integers={}, reals={})

    def lasting(self, dur: Int64) -> Events:
        """Return the same events with other lengths."""
        return replace(self, dur=dur)


_OF_BLOCK = {
    **{"ts": "ts_ns", "dur": "dur_ns", "phase": "ph", "category": "cat"},
    **{name: name for name in ("name", "pid", "tid", "id")},
}
_COLUMNS = (*_OF_BLOCK, "kind")


@dataclass
class Gathering:
    """Collects the events of one class; names the arguments that are kept, by how they are kept."""

    texts: Sequence[str] = ()
    integers: Sequence[str] = ()
    reals: Sequence[str] = ()
    parts: list[Events] = field(default_factory=list)

    def add(self, block: TraceColumns, rows: Int64, kind: npt.NDArray[np.int8]) -> None:
        """Take the events at `rows` of a block, with their classes."""
        if not len(rows):
            return
        told = frozenset(block.args.told_keys())
        columns: dict[str, Any] = {name: _small(getattr(block, theirs)[rows]) for name, theirs in _OF_BLOCK.items()}
        self.parts.append(
            Events(
                **columns,
                kind=_small(kind[rows]),
                texts={key: _text(block, key, rows, told) for key in self.texts},
                integers={key: _integer(block, key, rows, told) for key in self.integers},
                reals={key: _real(block, key, rows, told) for key in self.reals},
            )
        )

    def gathered(self) -> Events:
        """Return all events taken, in file order, and let the parts go."""
        parts, self.parts = self.parts or [self._nothing()], []
        return concatenate(parts)

    def _nothing(self) -> Events:
        codes = np.zeros(0, np.int32)
        whole = np.zeros(0, np.int64)
        return Events(
            ts=whole,
            dur=whole,
            kind=np.zeros(0, np.int8),
            phase=np.zeros(0, np.uint8),
            name=codes,
            category=codes,
            pid=codes,
            tid=codes,
            id=codes,
            texts={key: codes for key in self.texts},
            integers={key: Nullable(whole, np.zeros(0, np.bool_)) for key in self.integers},
            reals={key: np.zeros(0, np.float64) for key in self.reals},
        )


def concatenate(parts: Sequence[Events]) -> Events:
    """Return the events of all parts in order, with the arguments that the first part keeps."""
    if len(parts) == 1:
        return parts[0]
    first, parts = parts[0], [part for part in parts if len(part)] or [parts[0]]
    columns: dict[str, Any] = {name: _stacked([getattr(part, name) for part in parts]) for name in _COLUMNS}
    return Events(
        **columns,
        texts={key: _stacked([part.texts[key] for part in parts]) for key in first.texts},
        integers={key: _joined([part.integers[key] for part in parts]) for key in first.integers},
        reals={key: _stacked([part.reals[key] for part in parts]) for key in first.reals},
    )


def one_of(numbers: Iterable[int]) -> npt.NDArray[np.bool_]:
    """Return a table by which small numbers, letters or classes, are looked up: whether each is one of these."""
    table = np.zeros(256, np.bool_)
    table[list(numbers)] = True
    return table


def thread_keys(pid: Codes, tid: Codes) -> Int64:
    """Return one number per (process, thread) of a file."""
    return (pid.astype(np.int64) << 32) | (tid.astype(np.int64) & 0xFFFFFFFF)


def lookup(codes: Codes, strings: Sequence[str], function: Callable[[str], int], absent: int) -> npt.NDArray[np.int8]:
    """Return `function(text)` per row as int8, called once for every text in use; `absent` where there is none."""
    if not len(codes):
        return np.zeros(0, np.int8)
    limit = int(codes.max()) + 1
    seen = np.zeros(limit + 1, np.bool_)
    seen[codes] = True
    table = np.full(limit + 1, absent, np.int8)
    used = np.flatnonzero(seen[:limit])
    table[used] = [function(text) for text in texts_at(strings, used)]
    return table[codes]


def _text(block: TraceColumns, key: str, rows: Int64, told: frozenset[str]) -> Codes:
    return _small(block.args.codes(key)[rows]) if key in told else _repeated(_ABSENT, len(rows))


def _integer(block: TraceColumns, key: str, rows: Int64, told: frozenset[str]) -> Nullable:
    if key not in told:
        return Nullable(_repeated(_ZERO, len(rows)), _repeated(_FALSE, len(rows)))
    column = block.args[key]
    return Nullable(_small(column.value[rows]), _small(column.kind[rows] == _INTEGER))


def _real(block: TraceColumns, key: str, rows: Int64, told: frozenset[str]) -> npt.NDArray[np.float64]:
    if key not in told:
        return _repeated(_NAN, len(rows))
    column = block.args[key]
    kind = column.kind[rows]
    return _small(np.where((kind == _INTEGER) | (kind == _NUMBER), column.number[rows], np.nan))


def _joined(parts: Iterable[Nullable]) -> Nullable:
    columns = list(parts)
    return Nullable(
        _stacked([column.values for column in columns]),
        _stacked([column.valid for column in columns]),
    )


def _small(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the same values; one value in every row takes the room of one (most arguments are of few events)."""
    first = values[:1]
    if values[-1] != values[0] and first == first:
        return values
    same = values == first if first == first else values != values
    return _repeated(first.copy(), len(values)) if bool(same.all()) else values


def _repeated(value: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """Return an array of one value, without the memory of many; it is only for reading."""
    repeated: npt.NDArray[Any] = np.ndarray((count,), value.dtype, value, 0, (0,))
    repeated.flags.writeable = False
    return repeated


def _taken(values: npt.NDArray[Any], at: Int64) -> npt.NDArray[Any]:
    return _repeated(values[:1], len(at)) if len(values) and values.strides == (0,) else values.take(at)


def _stacked(parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the rows of all parts; one value in every row still takes the room of one."""
    first = parts[0][:1]
    if len(first) and all(part.strides == (0,) and part[0] == first[0] for part in parts):
        return _repeated(first, sum(len(part) for part in parts))
    return np.concatenate(parts)
