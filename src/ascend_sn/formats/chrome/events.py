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

__all__ = ["Events", "Gathering", "concatenate", "lookup", "thread_keys"]

_INTEGER, _NUMBER = 2, 3


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
        columns: dict[str, Any] = {name: getattr(self, name)[index] for name in _COLUMNS}
        return Events(
            **columns,
            texts={key: codes[index] for key, codes in self.texts.items()},
            integers={key: Nullable(c.values[index], c.valid[index]) for key, c in self.integers.items()},
            reals={key: values[index] for key, values in self.reals.items()},
        )

    def bare(self) -> Events:
        """Return the same events without arguments."""
        return replace(self, texts={}, integers={}, reals={})

    def lasting(self, dur: Int64) -> Events:
        """Return the same events with other lengths."""
        return replace(self, dur=dur)


_COLUMNS = ("ts", "dur", "kind", "phase", "name", "category", "pid", "tid", "id")


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
        self.parts.append(
            Events(
                ts=block.ts_ns[rows],
                dur=block.dur_ns[rows],
                kind=kind[rows],
                phase=block.ph[rows],
                name=block.name[rows],
                category=block.cat[rows],
                pid=block.pid[rows],
                tid=block.tid[rows],
                id=block.id[rows],
                texts={key: _text(block, key, rows) for key in self.texts},
                integers={key: _integer(block, key, rows) for key in self.integers},
                reals={key: _real(block, key, rows) for key in self.reals},
            )
        )

    def gathered(self) -> Events:
        """Return all events taken, in file order."""
        return concatenate(self.parts or [self._nothing()])

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
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
    return Events(
        **columns,
        texts={key: np.concatenate([part.texts[key] for part in parts]) for key in first.texts},
        integers={key: _joined([part.integers[key] for part in parts]) for key in first.integers},
        reals={key: np.concatenate([part.reals[key] for part in parts]) for key in first.reals},
    )


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


def _text(block: TraceColumns, key: str, rows: Int64) -> Codes:
    return block.args[key].code[rows]


def _integer(block: TraceColumns, key: str, rows: Int64) -> Nullable:
    column = block.args[key]
    return Nullable(column.value[rows], column.kind[rows] == _INTEGER)


def _real(block: TraceColumns, key: str, rows: Int64) -> npt.NDArray[np.float64]:
    column = block.args[key]
    kind = column.kind[rows]
    return np.where((kind == _INTEGER) | (kind == _NUMBER), column.number[rows], np.nan)


def _joined(parts: Iterable[Nullable]) -> Nullable:
    columns = list(parts)
    return Nullable(
        np.concatenate([column.values for column in columns]),
        np.concatenate([column.valid for column in columns]),
    )
