"""A file that `torch.profiler` exported, as rows of the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_sn._native.codes import codes_of, compact
from ascend_sn._native.nesting import enclosing
from ascend_sn._native.trace_scan import INTEGER, Strings, TraceColumns, scan_blocks, texts_at
from ascend_sn.collect.buffer import Columns
from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.names import NameTable
from ascend_sn.collect.operator_filter import OperatorFilter
from ascend_sn.model.trace_schema import (
    CAPTURE,
    FLOW_END,
    FLOW_START,
    FRAME,
    HOST_CALL,
    KERNEL,
    MEMORY,
    MEMORY_TOTAL,
    NOT_GIVEN,
    OPERATOR,
)

__all__ = ["CLOCK_MARK", "WindowRows", "read_window"]

CLOCK_MARK = "ascend_sn.clock"

_COLLECTIVE = (
    "Collective name",
    "dtype",
    "Process Group Name",
    "Process Group Description",
    "Process Group Ranks",
    "In msg nelems",
    "Out msg nelems",
    "Group size",
)
_OF_OPERATOR = ("Input Dims", "Input type", "Call stack", "Module Hierarchy", *_COLLECTIVE)
_OF_KERNEL = ("device", "stream", "grid", "est. achieved occupancy %", *_COLLECTIVE)
_OF_MEMORY = ("Device Type", "Device Id")
_NUMBERS = ("External id", "correlation", "Seq", "bytes", "size", "Addr", "Bytes", "Total Allocated", "Total Reserved")

_TEXTS = tuple(sorted({*_OF_OPERATOR, *_OF_KERNEL, *_OF_MEMORY}))

_HOST_CATEGORIES = ("cpu_op", "operator", "user_annotation")
_CALL_SUFFIXES = ("_runtime", "_driver")
_RANGE_CATEGORIES = ("python_function", "gpu_user_annotation")
_LEFT_OUT = ("Trace", "overhead")
_HOST_COMMUNICATION = ("gloo:", "mpi:", "c10d::", "record_param_comms")
_MEMORY_EVENT = "[memory]"

_DROPPED = 0
_DTYPES = (np.uint8, np.int32, np.int32, np.int64, np.int64, np.int64, np.int64)

Rows = list[npt.NDArray[Any]]


@dataclass
class WindowRows:
    """The rows of one window, and what is known of it.

    Attributes:
        parts: Rows by block; each is one array per column of the trace.
        marks: Middle of each clock mark, in the window's own time.
        metadata: Top-level keys of the file.
        unmatched: Operator types asked for that no operator had.
    """

    parts: list[Rows] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    unmatched: list[str] = field(default_factory=list)

    def columns(self, shift_ns: int, names: NameTable, about: dict[str, object]) -> list[Columns]:
        """Return the batches with absolute times of our clock; the first row says what the window is."""
        import json

        number = names.document(json.dumps(about))
        starts = [int(part[3].min()) for part in self.parts if len(part[3])]
        start = min(starts, default=0) + shift_ns
        first = (CAPTURE, 0, number, max(start, 0), 0, NOT_GIVEN, NOT_GIVEN)
        head: Rows = [np.array([value], dtype) for value, dtype in zip(first, _DTYPES, strict=True)]
        for part in self.parts:
            part[3] += shift_ns
        return [tuple(part) for part in (head, *self.parts) if len(part[0])]


def read_window(path: str, names: NameTable, config: ProfilerConfig) -> WindowRows:
    """Read an exported file; operators that `trace_ops` does not name, and what they launched, are left out.

    Raises:
        OSError: The file cannot be read.
    """
    chosen = None if config.trace_ops is None else OperatorFilter(config.trace_ops)
    window, numbering = WindowRows(), _Numbering(names)
    for block in scan_blocks(path, _TEXTS, number_keys=_NUMBERS):
        window.metadata = block.metadata
        window.parts.append(_rows(block, window, numbering, chosen, config))
    base_ns = int(window.metadata.get("baseTimeNanoseconds", 0))
    for part in window.parts:
        part[3] += base_ns
    window.marks = [mark + base_ns for mark in window.marks]
    if chosen is not None:
        _drop_other_launches(window.parts)
        window.unmatched = chosen.without_match()
    return window


def _rows(
    block: TraceColumns, window: WindowRows, numbering: _Numbering, chosen: OperatorFilter | None,
    config: ProfilerConfig,
) -> Rows:  # fmt: skip
    name, category = _Coded(block.name, block.strings), _Coded(block.cat, block.strings)
    kind = _kinds(block, name, category, chosen, config)
    is_mark = name.where(lambda text: text == CLOCK_MARK)
    window.marks += (block.ts_ns + block.dur_ns // 2)[is_mark & (kind == OPERATOR)].tolist()
    kind[is_mark] = _DROPPED
    name_id = np.full(block.count, NOT_GIVEN, np.int32)
    comm_texts = config.enable_comm and config.comm_level >= 2
    for of_kind, keys in ((OPERATOR, _OF_OPERATOR), (KERNEL, _OF_KERNEL), (MEMORY, _OF_MEMORY)):
        used = keys if comm_texts else tuple(key for key in keys if key not in _COLLECTIVE)
        numbering.name(block, np.flatnonzero(kind == of_kind), used, name_id)
    numbering.name(block, np.flatnonzero((kind == HOST_CALL) | (kind == FRAME)), (), name_id)
    value, ref = _figures(block, kind)
    kept = np.flatnonzero(kind != _DROPPED)
    thread = np.where(block.tid_is_int, block.tid_int, 0).astype(np.int32)
    columns: Rows = [kind, thread, name_id, block.ts_ns, block.dur_ns, value, ref]
    rows = [column[kept] for column in columns]
    return _with_totals(rows, block, kept) if config.enable_memory else rows


class _Coded:
    """A column of text codes: tests are made once for each text in use."""

    def __init__(self, codes: npt.NDArray[np.int32], strings: Strings) -> None:
        used, self._place = compact(codes, len(strings))
        self.texts = texts_at(strings, used)

    def look_up(self, values: list[Any], absent: Any, dtype: Any) -> npt.NDArray[Any]:
        """Return for every row the value of its text."""
        return np.array([*values, absent], dtype)[self._place]  # place -1 is the last one

    def where(self, test: Callable[[str], bool]) -> npt.NDArray[np.bool_]:
        """Return which rows have a text that passes."""
        return self.look_up([test(text) for text in self.texts], False, np.bool_)


def _kinds(
    block: TraceColumns, name: _Coded, category: _Coded, chosen: OperatorFilter | None, config: ProfilerConfig
) -> npt.NDArray[np.uint8]:
    of_category = category.look_up([_kind_of_category(text) for text in category.texts], _DROPPED, np.uint8)
    is_slice = (block.ph == ord("X")) & block.has_ts.view(np.bool_) & block.has_dur.view(np.bool_)
    kind: npt.NDArray[np.uint8] = np.where(is_slice, of_category, np.uint8(_DROPPED))
    is_arrow = category.where(lambda text: text == "fwdbwd")
    kind[is_arrow & (block.ph == ord("s"))] = FLOW_START
    kind[is_arrow & (block.ph == ord("f"))] = FLOW_END
    if config.enable_memory:
        is_memory = name.where(lambda text: text == _MEMORY_EVENT)
        kind[is_memory & (block.ph == ord("i")) & (block.args["Bytes"].kind == INTEGER)] = MEMORY
    if not config.enable_comm:
        kind[name.where(lambda text: text.startswith(_HOST_COMMUNICATION))] = _DROPPED
    if chosen is not None:
        is_operator = (kind == OPERATOR) & category.where(lambda text: text != "user_annotation")
        is_other = name.where(lambda text: not text.startswith(_HOST_COMMUNICATION) and not chosen.takes(text))
        kind[is_operator & is_other] = _DROPPED
    return kind


def _kind_of_category(category: str) -> int:
    if category in _HOST_CATEGORIES:
        return OPERATOR
    if category.endswith(_CALL_SUFFIXES) or category == "runtime":
        return HOST_CALL
    if category in _RANGE_CATEGORIES:
        return FRAME
    return _DROPPED if category in _LEFT_OUT else KERNEL


def _figures(block: TraceColumns, kind: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    value, ref = np.full(block.count, NOT_GIVEN, np.int64), np.full(block.count, NOT_GIVEN, np.int64)
    for of_kind, value_key, ref_key in (
        (OPERATOR, "External id", "Seq"),
        (HOST_CALL, "correlation", "size"),
        (KERNEL, "correlation", "bytes"),
        (MEMORY, "Bytes", "Addr"),
    ):
        if not bool((kind == of_kind).any()):
            continue
        for target, key in ((value, value_key), (ref, ref_key)):
            column = block.args[key]
            at = (kind == of_kind) & (column.kind == INTEGER)
            target[at] = column.value[at]
    at = (kind == FLOW_START) | (kind == FLOW_END)
    value[at] = block.strings.integers(block.id[at])[0]
    return value, ref


def _with_totals(rows: Rows, block: TraceColumns, kept: npt.NDArray[np.int64]) -> Rows:
    """Put a row with the allocator's totals behind every allocation."""
    memory = np.flatnonzero(rows[0] == MEMORY)
    allocated, reserved = block.args["Total Allocated"], block.args["Total Reserved"]
    at = kept[memory]
    totals = [column[memory] for column in rows]
    totals[0] = np.full(len(memory), MEMORY_TOTAL, np.uint8)
    totals[5] = np.where(allocated.kind[at] == INTEGER, allocated.value[at], NOT_GIVEN)
    totals[6] = np.where(reserved.kind[at] == INTEGER, reserved.value[at], NOT_GIVEN)
    return [np.insert(column, memory + 1, total) for column, total in zip(rows, totals, strict=True)]


def _drop_other_launches(parts: list[Rows]) -> None:
    """Keep those host calls that lie in a kept operator, and the kernels that they launched."""
    kind, thread, _, ts, dur, value, _ = (np.concatenate(column) for column in zip(*parts, strict=True))
    operators, calls = np.flatnonzero(kind == OPERATOR), np.flatnonzero(kind == HOST_CALL)
    wide = thread.astype(np.int64)
    around = enclosing(wide[operators], ts[operators], dur[operators], wide[calls], ts[calls])
    launched = value[calls[around >= 0]]
    for part in parts:
        is_launch = np.isin(part[0], (HOST_CALL, KERNEL))
        kept = ~is_launch | np.isin(part[5], launched)
        part[:] = [column[kept] for column in part]


class _Numbering:
    """Gives rows the number of their text, category and arguments, once per distinct combination of a window."""

    def __init__(self, names: NameTable) -> None:
        self._names = names
        self._known: dict[tuple[str, ...], dict[tuple[int, ...], int]] = {}

    def name(
        self, block: TraceColumns, rows: npt.NDArray[np.int64], keys: tuple[str, ...], name_id: npt.NDArray[np.int32]
    ) -> None:
        """Write the number of each of the rows into `name_id`."""
        if not len(rows):
            return
        told = set(block.args.told_keys())
        keys = tuple(key for key in keys if key in told)
        columns = [block.name[rows], block.cat[rows], *(block.args.codes(key)[rows] for key in keys)]
        number, count = np.zeros(len(rows), np.int32), 1
        for codes in columns:
            number, count = codes_of(number.astype(np.int64) << 32 | (codes + 1))
        first = np.empty(count, np.int64)
        first[number[::-1]] = np.arange(len(rows))[::-1]
        known = self._known.setdefault(keys, {})
        numbers = np.empty(count, np.int32)
        for place, combination in enumerate(zip(*(codes[first].tolist() for codes in columns), strict=True)):
            if combination not in known:
                known[combination] = self._number(block.strings, keys, combination)
            numbers[place] = known[combination]
        name_id[rows] = numbers[number]

    def _number(self, strings: Strings, keys: tuple[str, ...], combination: tuple[int, ...]) -> int:
        name, category, *codes = combination
        arguments = tuple((key, strings[code]) for key, code in zip(keys, codes, strict=True) if code >= 0)
        return self._names.of_framework(strings[name], strings[category] if category >= 0 else "", arguments)
