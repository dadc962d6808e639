"""Shapes, data types and bytes of operator inputs, once for every distinct signature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_sn.errors import JsonTextError
from ascend_sn.formats.chrome.texts import Codes, distinct_pairs, expand
from ascend_sn.formats.json_text import json_value
from ascend_sn.formats.kineto.categories import dtype_bytes
from ascend_sn.model.rows import Nullable, Text

__all__ = ["Inputs", "element_count", "inputs", "parsed_list"]


@dataclass(frozen=True)
class Inputs:
    """Input columns of operators; `unreadable` counts the signatures that could not be parsed."""

    shapes: Text
    dtypes: Text
    bytes: Nullable
    unreadable: int


def inputs(dims: Codes, types: Codes, strings: Sequence[str]) -> Inputs:
    """Parse `Input Dims` and `Input type`: nested lists of sizes, one entry (or list of them) for each argument.

    Arguments after the last tensor are left out; one that is no tensor keeps its place with an empty shape.
    The bytes are null where the type of a tensor is not known (the members of a tensor list).
    """
    dims_of, types_of, row = distinct_pairs(dims, types)
    shapes: list[str | None] = []
    dtypes: list[str | None] = []
    sizes: list[int | None] = []
    unreadable = 0
    for dims_code, types_code in zip(dims_of.tolist(), types_of.tolist(), strict=True):
        parsed = _signature(
            strings[dims_code] if dims_code >= 0 else None, strings[types_code] if types_code >= 0 else None
        )
        unreadable += dims_code >= 0 and parsed is None
        shape, dtype, size = parsed or (None, None, None)
        shapes.append(shape)
        dtypes.append(dtype)
        sizes.append(size)
    return Inputs(_text(shapes, row), _text(dtypes, row), expand(sizes, row), unreadable)


def element_count(dims: Any) -> int | None:
    """Return the elements of one tensor, or of all tensors of a list; None for what is no list of sizes."""
    if not isinstance(dims, list):
        return None
    if all(isinstance(size, int) for size in dims):
        count = 1
        for size in dims:
            count *= size
        return count
    counts = [element_count(part) for part in dims]
    return None if any(count is None for count in counts) else sum(count for count in counts if count is not None)


def _signature(dims_text: str | None, types_text: str | None) -> tuple[str, str | None, int | None] | None:
    dims, types = parsed_list(dims_text), parsed_list(types_text)
    if dims is None:
        return None
    kinds = [str(kind) for kind in types] if types is not None and len(types) == len(dims) else None
    entries: list[tuple[list[Any], str, bool]] = []
    for place, argument in enumerate(dims):
        kind = kinds[place] if kinds is not None else ""
        if not isinstance(argument, list):
            return None
        if argument and all(isinstance(part, list) for part in argument):
            entries.extend((part, kind, True) for part in argument)
        else:
            entries.append((argument, kind, bool(argument) or dtype_bytes(kind) is not None))
    while entries and not entries[-1][2]:
        entries.pop()
    shape = ";".join(",".join(str(size) for size in sizes) for sizes, _, _ in entries)
    dtype = ";".join(kind for _, kind, _ in entries) if kinds is not None else None
    return shape, dtype, _bytes(entries) if kinds is not None else None


def _bytes(entries: list[tuple[list[Any], str, bool]]) -> int | None:
    total = 0
    for sizes, kind, is_tensor in entries:
        if not is_tensor:
            continue
        count, width = element_count(sizes), dtype_bytes(kind)
        if count is None or width is None:
            return None
        total += count * width
    return total if 0 <= total < 1 << 63 else None


def parsed_list(text: str | None) -> list[Any] | None:
    """Return the list that a JSON text holds, None for anything else."""
    if text is None:
        return None
    try:
        found = json_value(text)
    except JsonTextError:
        return None
    return found if isinstance(found, list) else None


def _text(values: list[str | None], row: Codes) -> Text:
    distinct_text = Text.of(values)
    return Text(np.append(distinct_text.codes, np.int32(-1))[row], distinct_text.values)
