"""Slices of one trace put together: long traces come as several files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_sn.formats.reader import Source
from ascend_sn.formats.torch_npu.trace_events import SparseArgument, TraceEvents, read_trace_events
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64
from ascend_sn.model.units import decimal_text_to_int

__all__ = ["read_trace_slices"]

Codes = npt.NDArray[np.int32]


class _Texts:
    """Texts of all slices in one numbering."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._list: list[str] = []

    def __len__(self) -> int:
        return len(self._list)

    def __getitem__(self, index: int, /) -> str:
        return self._list[index]

    def integers(self, codes: Codes) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """Return the whole numbers that texts spell, and where they do."""
        distinct, at = np.unique(codes, return_inverse=True)
        numbers = [_whole(self._list[code]) if code >= 0 else None for code in distinct.tolist()]
        values = np.array([number or 0 for number in numbers], np.int64)[at]
        return values, np.array([number is not None for number in numbers], np.bool_)[at]

    def table(self, texts: Sequence[str]) -> Codes:
        """Take the texts of a slice in; return our code for each of its codes, and -1 for -1."""
        table = np.full(len(texts) + 1, -1, np.int32)
        for code, text in enumerate(texts):
            if text not in self._numbers:
                self._numbers[text] = len(self._list)
                self._list.append(text)
            table[code] = self._numbers[text]
        return table


def read_trace_slices(source: Source, paths: Sequence[Path], ledger: Ledger) -> TraceEvents | None:
    """Read the files of one trace; None when there is no event in any."""
    read = [read_trace_events(path, source.relative(path), ledger) for path in paths]
    slices = [events for events in read if events is not None]
    if len(slices) < 2:
        return slices[0] if slices else None
    texts = _Texts()
    tables = [texts.table([events.strings[code] for code in range(len(events.strings))]) for events in slices]
    recoded: dict[str, Any] = {
        name: np.concatenate([table[getattr(events, name)] for events, table in zip(slices, tables, strict=True)])
        for name in ("name", "cat", "pid", "tid", "id")
    }
    plain: dict[str, Any] = {
        name: np.concatenate([getattr(events, name) for events in slices]) for name in ("ph", "ts", "dur", "has_ts")
    }
    return TraceEvents(
        strings=texts,
        arguments={key: _argument(key, slices, tables) for key in slices[0].arguments},
        truncated=any(events.truncated for events in slices),
        **recoded,
        **plain,
    )


def _argument(key: str, slices: Sequence[TraceEvents], tables: Sequence[Codes]) -> SparseArgument:
    first = np.cumsum([0, *(len(events) for events in slices)])
    parts = [events.arguments[key] for events in slices]
    numbered = all(len(part.number) == len(part.event) for part in parts)
    return SparseArgument(
        np.concatenate([part.event + start for part, start in zip(parts, first, strict=False)]).astype(np.int32),
        np.concatenate([table[part.code] for part, table in zip(parts, tables, strict=True)]),
        np.concatenate([part.number for part in parts]) if numbered else np.zeros(0, np.float64),
    )


def _whole(text: str) -> int | None:
    digits = text.removeprefix("-")
    return decimal_text_to_int(text, 0) if digits.isascii() and digits.isdigit() else None
