"""Events of trace_view.json in columns, whatever process they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import compact, places
from ascend_sn._native.trace_scan import ArgColumns, Strings, TraceColumns, scan_blocks, texts_at
from ascend_sn.model.ledger import Ledger, Severity
from ascend_sn.model.rows import Int64, Nullable, Text

__all__ = ["COUNTER_KEYS", "SparseArgument", "TextTable", "TraceEvents", "read_trace_events"]

Codes = npt.NDArray[np.int32]

COUNTER_KEYS: Final = {
    "MHz": ("MHz", 1.0),
    "KB": ("bytes", 1024.0),
    "Read(MB/s)": ("bytes/s", 1048576.0),
    "Write(MB/s)": ("bytes/s", 1048576.0),
    "Tx(MB/s)": ("bytes/s", 1048576.0),
    "Rx(MB/s)": ("bytes/s", 1048576.0),
    "Throughput(MB/s)": ("bytes/s", 1048576.0),
    "Bandwidth(MB/s)": ("bytes/s", 1048576.0),
    # The values are fractions, whatever the sign in the key says.
    "Hit Rate(%)": ("ratio", 1.0),
    "value": ("level", 1.0),
    "Mata Bw Level": ("level", 1.0),
    "L2 Buffer Bw Level": ("level", 1.0),
    "mV": ("mV", 1.0),
    "Percent": ("percent", 1.0),
}
"""Keys of counter events: our unit and the factor to it (KB and MB are powers of two here)."""

_OF_METADATA: Final = ("name", "labels")
_OF_OPERATORS: Final = ("Input Dims", "Input type", "Call stack", "Module Hierarchy")
_OF_QUEUES: Final = ("correlation_id",)
_OF_COUNTERS: Final = ("acc_id", *COUNTER_KEYS)
_OF_TASKS: Final = (
    *("connection_id", "level", "Task Type", "task type", "data_type", "alg_type", "count", "transport type"),
    *("link type", "src rank", "dst rank", "size(Byte)", "Physic Stream Id", "Stream Id", "stream id"),
    *("Task Id", "task id", "data size(Byte)", "memcpy direction"),
)
_ARGUMENT_KEYS: Final = (*_OF_METADATA, *_OF_OPERATORS, *_OF_QUEUES, *_OF_COUNTERS, *_OF_TASKS)

_SLICE: Final = ord("X")
_START: Final = ord("s")
_FINISH: Final = ord("f")


class TextTable(Protocol):
    """The distinct texts of a trace by code; `Strings` of the scanner is one."""

    def __len__(self) -> int:
        """How many texts there are."""

    def __getitem__(self, index: int, /) -> str:
        """Return the text of a code."""

    def integers(self, codes: Codes) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """Return the whole numbers that texts spell, and where they do."""


@dataclass(frozen=True)
class SparseArgument:
    """One argument of the events that have it: `event` is ascending, `number` is there for counters only."""

    event: Codes
    code: Codes
    number: npt.NDArray[np.float64]

    def at(self, events: Int64) -> Int64:
        """Return the position of each asked event, -1 where it has no such argument."""
        return places(self.event, events)


@dataclass(frozen=True)
class TraceEvents:
    """All events of one file; text columns are codes into `strings`, -1 where absent.

    Attributes:
        ph: ASCII code of the phase.
        ts: Start in nanoseconds; valid where `has_ts`.
        dur: Length in nanoseconds.
        arguments: Chosen arguments by key.
        truncated: Whether the file ends early.
    """

    strings: TextTable
    ph: npt.NDArray[np.uint8]
    name: Codes
    cat: Codes
    pid: Codes
    tid: Codes
    id: Codes
    ts: Int64
    dur: Int64
    has_ts: npt.NDArray[np.bool_]
    arguments: dict[str, SparseArgument]
    truncated: bool

    def __len__(self) -> int:
        return len(self.ph)

    @cached_property
    def flow_starts(self) -> Int64:
        """Where arrows start."""
        return np.flatnonzero((self.ph == _START) & self.has_ts)

    @cached_property
    def flow_finishes(self) -> Int64:
        """Where arrows end."""
        return np.flatnonzero((self.ph == _FINISH) & self.has_ts)

    @cached_property
    def category(self) -> Text:
        """Category of every event."""
        return self.text(self.cat)

    def text(self, codes: Codes) -> Text:
        """Return a text column with only the strings that it uses."""
        limit = len(self.strings)
        if len(codes) * 8 < limit:
            used, positions = np.unique(codes, return_inverse=True)
            missing = int(np.searchsorted(used, 0))
            compacted = np.where(positions < missing, -1, positions - missing).astype(np.int32)
            return Text(compacted, texts_at(self.strings, used[missing:]))
        # Against few strings a table is quicker than sorting.
        used, compacted = compact(codes, limit)
        return Text(compacted, texts_at(self.strings, used))

    def argument_codes(self, key: str, events: Int64) -> Codes:
        """Return codes of an argument's text for some events, -1 where absent."""
        argument = self.arguments[key]
        at = argument.at(events)
        if not len(argument.code):
            return np.full(len(events), -1, np.int32)
        return np.where(at >= 0, argument.code[at], np.int32(-1)).astype(np.int32)

    def argument_text(self, key: str, events: Int64) -> Text:
        """Return an argument as text for some events."""
        return self.text(self.argument_codes(key, events))

    def argument_integers(self, key: str, events: Int64) -> Nullable:
        """Return an argument as integers for some events; null where it is absent or another thing."""
        values, valid = self.strings.integers(self.argument_codes(key, events))
        return Nullable(values, valid)

    def has_argument(self, key: str) -> npt.NDArray[np.bool_]:
        """Return the mask of events that have an argument."""
        mask = np.zeros(len(self), np.bool_)
        mask[self.arguments[key].event] = True
        return mask


def read_trace_events(path: Path, file: str, ledger: Ledger) -> TraceEvents | None:
    """Scan the file; what could not be read goes to the ledger. None when there is no event in it."""
    growing = {name: bytearray() for name in _DTYPES}
    arguments = {key: (bytearray(), bytearray(), bytearray()) for key in _ARGUMENT_KEYS}
    damage: list[tuple[str, int, int, str]] = []
    strings = Strings()
    count = without_time = 0
    try:
        for columns in scan_blocks(path, _ARGUMENT_KEYS):
            for name, values in _columns(columns).items():
                growing[name] += values.data.cast("B")
            for key in columns.args.told_keys():
                _append(arguments[key], key, columns.args, count)
            without_time += int(np.count_nonzero((columns.ph == _SLICE) & (columns.has_ts == 0)))
            count += columns.count
            strings = columns.strings
            damage += columns.damage
    except OSError as error:
        ledger.add(file, "unreadable_file", example=error.strerror or str(error))
        return None
    truncated = _report(damage, count, file, ledger)
    if not count:
        ledger.add(file, "no_events", example="no event could be read")
        return None
    if without_time:
        ledger.add(file, "missing_start", count=without_time, example="slices without a usable time were left out")
    merged: dict[str, Any] = {name: np.frombuffer(growing[name], dtype) for name, dtype in _DTYPES.items()}
    sparse = {
        key: SparseArgument(
            np.frombuffer(event, np.int32), np.frombuffer(code, np.int32), np.frombuffer(number, np.float64)
        )
        for key, (event, code, number) in arguments.items()
    }
    return TraceEvents(strings=strings, arguments=sparse, truncated=truncated, **merged)


# Columns grow in place: pieces to be joined at the end would be held twice.
_DTYPES: Final = {
    "ph": np.uint8,
    "has_ts": np.bool_,
    **dict.fromkeys(("name", "cat", "pid", "tid", "id"), np.int32),
    **dict.fromkeys(("ts", "dur"), np.int64),
}


def _columns(columns: TraceColumns) -> dict[str, npt.NDArray[Any]]:
    return {
        "ph": columns.ph,
        "has_ts": columns.has_ts,
        "name": columns.name,
        "cat": columns.cat,
        "pid": columns.pid,
        "tid": columns.tid,
        "id": columns.id,
        "ts": columns.ts_ns,
        "dur": columns.dur_ns,
    }


def _append(growing: tuple[bytearray, bytearray, bytearray], key: str, arguments: ArgColumns, first: int) -> None:
    row, codes, numbers = arguments.told(key)
    if not len(row):
        return
    event, code, number = growing
    row += first
    event += row.data.cast("B")
    code += codes.data.cast("B")
    if key in COUNTER_KEYS:
        number += numbers.data.cast("B")


# Damage kinds after which every event is still there.
_HARMLESS: Final = frozenset(
    {
        *("unclosed_array", "trailing_comma", "extra_comma", "missing_comma"),
        *("control_character", "not_a_number", "gzip_trailing_data"),
    }
)
# Lengths have more decimals than the nanoseconds that the exporter claims.
_EXPECTED: Final = frozenset({"rounded_time"})
_CUT: Final = frozenset({"truncated", "gzip_truncated"})


def _report(damage: list[tuple[str, int, int, str]], count: int, file: str, ledger: Ledger) -> bool:
    """Write damage to the ledger; return whether the file ends early."""
    for kind, offset, times, example in damage:
        if kind in _EXPECTED:
            continue
        told = f"the file ends early; {count} complete events were read" if kind in _CUT else example
        severity: Severity = "info" if kind in _HARMLESS else "damage"
        ledger.add(file, kind, place=f"byte {offset}", count=times, example=told, severity=severity)
    return any(kind in _CUT for kind, *_ in damage)
