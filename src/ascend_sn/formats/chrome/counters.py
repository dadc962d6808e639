"""Counter events: each key of their arguments is a series."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from ascend_sn._native.trace_scan import scan_blocks
from ascend_sn.errors import JsonTextError
from ascend_sn.formats.chrome.texts import Codes, distinct_pairs
from ascend_sn.formats.json_text import json_value
from ascend_sn.model.rows import Int64, Rows, Text, conform
from ascend_sn.model.tables import COUNTER

__all__ = ["counter_rows"]

_C: Final = ord("C")


def counter_rows(path: Path, base_ns: int) -> Rows:
    """Read the counters of a file in a pass of its own; a value that is no number is left out.

    A counter with several series gives `name.series`, one whose id tells instances apart `name[id]`.
    """
    names: list[Codes] = []
    arguments: list[Codes] = []
    ids: list[Codes] = []
    moments: list[Int64] = []
    strings: Sequence[str] = ()
    for block in scan_blocks(path, (), keep_other_args=True):
        rows = np.flatnonzero((block.ph == _C) & block.has_ts.astype(np.bool_))
        names.append(block.name[rows])
        arguments.append(block.other_args[rows])
        ids.append(block.id[rows])
        moments.append(block.ts_ns[rows])
        strings = block.strings
    if not names:
        return conform(COUNTER, 0)
    ts_ns = np.concatenate(moments) + base_ns
    return _rows(np.concatenate(names), np.concatenate(ids), np.concatenate(arguments), ts_ns, strings)


def _rows(names: Codes, ids: Codes, arguments: Codes, ts_ns: Int64, strings: Sequence[str]) -> Rows:
    name_of, id_of, counter = distinct_pairs(names, ids)
    counter_of, arguments_of, row = distinct_pairs(counter, arguments)
    series: dict[str, int] = {}
    found: list[list[tuple[int, float]]] = []
    for number, text in zip(counter_of.tolist(), arguments_of.tolist(), strict=True):
        label = strings[name_of[number]] if name_of[number] >= 0 else "counter"
        if id_of[number] >= 0:
            label = f"{label}[{strings[id_of[number]]}]"
        values = _numbers(strings[text]) if text >= 0 else {}
        found.append(
            [
                (series.setdefault(label if len(values) == 1 else f"{label}.{key}", len(series)), value)
                for key, value in values.items()
            ]
        )
    lengths = np.array([len(one) for one in found], np.int64)[row]
    flat = [pair for one in found for pair in one]
    first = np.cumsum([0] + [len(one) for one in found])[:-1][row]
    at = np.repeat(first - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(int(lengths.sum()))
    names_at = np.array([pair[0] for pair in flat], np.int32)[at]
    values_at = np.array([pair[1] for pair in flat], np.float64)[at]
    return conform(
        COUNTER, len(at), name=Text(names_at, list(series)), ts_ns=np.repeat(ts_ns, lengths), value=values_at
    )


def _numbers(text: str) -> dict[str, float]:
    try:
        found: Any = json_value(text)
    except JsonTextError:
        return {}
    numbers = {}
    for key, value in found.items() if isinstance(found, dict) else ():
        if isinstance(value, int | float) and not isinstance(value, bool):
            numbers[str(key)] = float(value)
    return numbers
