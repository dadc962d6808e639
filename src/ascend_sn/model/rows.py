"""Columns in memory: what readers return and `derive` works on.

A column is a numpy array without nulls, a `Nullable` (values and a mask) or a `Text` (dictionary-encoded).
`conform` makes a `Rows` of a table out of columns given by name and fills what is absent with nulls, so
that "not collected" never becomes 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ascend_sn.model.tables import ColumnType, Table

__all__ = ["NOT_COLLECTED", "ColumnData", "Int64", "Nullable", "Rows", "Text", "concatenate", "conform"]

Int64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]

NOT_COLLECTED: Final = None
"""Give this for a column that the file does not have."""

_NUMPY_TYPE: dict[ColumnType, Any] = {
    "int64": np.int64,
    "int32": np.int32,
    "float64": np.float64,
    "bool": np.bool_,
}


@dataclass(frozen=True)
class Nullable:
    """Numbers with a mask; `valid` is false where the value is null (the value there is meaningless)."""

    values: npt.NDArray[Any]
    valid: Bool

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Text:
    """Dictionary-encoded text: `values[codes[i]]`; a negative code is null."""

    codes: npt.NDArray[np.int32]
    values: Sequence[str]

    def __len__(self) -> int:
        return len(self.codes)

    @staticmethod
    def of(texts: Iterable[str | None]) -> Text:
        """Encode plain strings; None is null."""
        listed = list(texts)
        numbers: dict[str | None, int] = dict.fromkeys(listed, -1)
        numbers.pop(None, None)
        values = [text for text in numbers if text is not None]
        numbers.update(zip(values, range(len(values)), strict=True))
        numbers[None] = -1
        return Text(np.fromiter(map(numbers.__getitem__, listed), np.int32, len(listed)), values)

    @staticmethod
    def constant(text: str | None, length: int) -> Text:
        """The same text in every row."""
        return Text(np.full(length, -1 if text is None else 0, np.int32), [] if text is None else [text])

    def decode(self) -> list[str | None]:
        """Return the texts row by row."""
        values = self.values
        return [values[code] if code >= 0 else None for code in self.codes.tolist()]

    def take(self, index: npt.NDArray[Any]) -> Text:
        """Return the rows at `index` (or under a mask)."""
        return Text(self.codes[index], self.values)

    def matches(self, wanted: Iterable[str]) -> Bool:
        """Return a mask of the rows whose text is one of `wanted`."""
        chosen = set(wanted)
        hits = np.fromiter((value in chosen for value in self.values), np.bool_, len(self.values))
        return self._by_value(hits)

    def numbered(self, numbers: Mapping[str, int]) -> npt.NDArray[np.int8]:
        """Return the number of every row's text; -1 where it has none or the text is null."""
        table = np.fromiter((numbers.get(value, -1) for value in self.values), np.int8, len(self.values))
        return np.append(table, np.int8(-1))[self.codes]

    def where(self, predicate: Any) -> Bool:
        """Return a mask of the rows whose text fulfils `predicate(text)`; nulls do not."""
        hits = np.fromiter((bool(predicate(value)) for value in self.values), np.bool_, len(self.values))
        return self._by_value(hits)

    def mapped(self, function: Any) -> Text:
        """Return a column with `function(text) -> str | None` applied to every distinct text."""
        numbers: dict[str, int] = {}
        table = np.full(len(self.values) + 1, -1, np.int32)
        for code, value in enumerate(self.values):
            new = function(value)
            if new is not None:
                table[code] = numbers.setdefault(new, len(numbers))
        return Text(table[self.codes], list(numbers))

    def _by_value(self, hits: Bool) -> Bool:
        return np.append(hits, False)[self.codes]


ColumnData = npt.NDArray[Any] | Nullable | Text


@dataclass(frozen=True)
class Rows:
    """Rows of one table, by column; every column of the table is present and of one length."""

    table: Table
    length: int
    columns: dict[str, ColumnData] = field(repr=False)

    def __len__(self) -> int:
        return self.length

    def values(self, name: str) -> npt.NDArray[Any]:
        """Return the numbers of a column; where null, whatever lies there (see `valid`).

        Raises:
            TypeError: The column holds text.
        """
        column = self.columns[name]
        if isinstance(column, Text):
            raise TypeError(f"{self.table.name}.{name} is text")
        return column.values if isinstance(column, Nullable) else column

    def valid(self, name: str) -> Bool:
        """Return the mask of rows in which a column is not null."""
        column = self.columns[name]
        if isinstance(column, Text):
            return column.codes >= 0
        return column.valid if isinstance(column, Nullable) else np.ones(self.length, np.bool_)

    def text(self, name: str) -> Text:
        """Return a text column.

        Raises:
            TypeError: The column holds numbers.
        """
        column = self.columns[name]
        if not isinstance(column, Text):
            raise TypeError(f"{self.table.name}.{name} is not text")
        return column

    def replace(self, **columns: Any) -> Rows:
        """Return the same rows with some columns replaced."""
        merged: dict[str, Any] = {**self.columns, **columns}
        return conform(self.table, self.length, **merged)

    def take(self, index: npt.NDArray[Any]) -> Rows:
        """Return the rows at `index` (positions or a mask), in that order."""
        columns: dict[str, ColumnData] = {}
        for name, column in self.columns.items():
            if isinstance(column, Text):
                columns[name] = column.take(index)
            elif isinstance(column, Nullable):
                columns[name] = Nullable(column.values[index], column.valid[index])
            else:
                columns[name] = column[index]
        length = int(np.count_nonzero(index)) if index.dtype == np.bool_ else len(index)
        return Rows(self.table, length, columns)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return plain Python rows; for tests and small tables."""
        lists: dict[str, list[Any]] = {}
        for name, column in self.columns.items():
            if isinstance(column, Text):
                lists[name] = list(column.decode())
            elif isinstance(column, Nullable):
                pairs = zip(column.values.tolist(), column.valid.tolist(), strict=True)
                lists[name] = [value if ok else None for value, ok in pairs]
            else:
                lists[name] = column.tolist()
        return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def conform(table: Table, length: int | None = None, **columns: Any) -> Rows:
    """Make rows of `table` from columns given by name.

    Args:
        table: The table of `model.tables`.
        length: Row count; may be left out when at least one column is not a scalar.
        columns: numpy arrays, `Nullable`, `Text`, lists (None is null), scalars (the same in every row) or
            `NOT_COLLECTED`. `profile_id` and `rank` may be left out: `store` fills them.

    Returns:
        Rows with every column of the table; columns not given are null.

    Raises:
        KeyError: A column that the table does not have.
        ValueError: Columns of different lengths.
    """
    unknown = set(columns) - set(table.names)
    if unknown:
        raise KeyError(f"table {table.name} has no column {sorted(unknown)}")
    if length is None:
        length = next((len(data) for data in columns.values() if _has_length(data)), None)
        if length is None:
            raise ValueError(f"table {table.name}: give a length or a column")
    cast = {
        column.name: _cast(columns.get(column.name), column.type, length, f"{table.name}.{column.name}")
        for column in table.columns
    }
    return Rows(table, length, cast)


def concatenate(table: Table, parts: Sequence[Rows]) -> Rows:
    """Return the rows of all parts, in order."""
    if not parts:
        return conform(table, 0)
    parts = [part for part in parts if part.length] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    length = sum(part.length for part in parts)
    return Rows(table, length, {name: _joined([part.columns[name] for part in parts]) for name in table.names})


def _joined(columns: list[ColumnData]) -> ColumnData:
    if columns and isinstance(columns[0], Text):
        texts = [column for column in columns if isinstance(column, Text)]
        if len(texts) != len(columns):
            raise TypeError("text and numbers cannot be joined")
        told = [text for text in texts if len(text.values)]
        if len(told) <= 1:  # the others are null throughout
            return Text(np.concatenate([text.codes for text in texts]), told[0].values if told else [])
        distinct = dict.fromkeys(chain.from_iterable(text.values for text in texts))
        numbers = dict(zip(distinct, range(len(distinct)), strict=True))
        codes = [np.zeros(0, np.int32)]
        for text in texts:
            table = np.fromiter(map(numbers.__getitem__, text.values), np.int32, len(text.values))
            codes.append(np.append(table, np.int32(-1))[text.codes])
        return Text(np.concatenate(codes), list(numbers))
    values: list[npt.NDArray[Any]] = []
    valid: list[Bool] = []
    for column in columns:
        if isinstance(column, Text):
            raise TypeError("text and numbers cannot be joined")
        values.append(column.values if isinstance(column, Nullable) else column)
        valid.append(column.valid if isinstance(column, Nullable) else np.ones(len(column), np.bool_))
    if not any(isinstance(column, Nullable) for column in columns):
        return np.concatenate(values) if values else np.zeros(0, np.int64)
    return Nullable(np.concatenate(values), np.concatenate(valid))


def _has_length(data: Any) -> bool:
    return isinstance(data, np.ndarray | Nullable | Text | list)


def _cast(data: Any, type_: ColumnType, length: int, where: str) -> ColumnData:
    cast = _cast_text(data, length) if type_ == "text" else _cast_number(data, _NUMPY_TYPE[type_], length)
    if len(cast) != length:
        raise ValueError(f"{where} has {len(cast)} rows, not {length}")
    return cast


def _cast_text(data: Any, length: int) -> Text:
    if isinstance(data, Text):
        return data
    if data is None or isinstance(data, str):
        return Text.constant(data, length)
    return Text.of(data)


def _cast_number(data: Any, dtype: Any, length: int) -> npt.NDArray[Any] | Nullable:
    if data is None:
        return Nullable(np.zeros(length, dtype), np.zeros(length, np.bool_))
    if isinstance(data, Nullable):
        if bool(data.valid.all()):
            return data.values.astype(dtype, copy=False)
        return Nullable(data.values.astype(dtype, copy=False), data.valid)
    if isinstance(data, np.ndarray):
        return data.astype(dtype, copy=False)
    if isinstance(data, list):
        valid = np.fromiter((value is not None for value in data), np.bool_, len(data))
        values = np.fromiter((0 if value is None else value for value in data), dtype, len(data))
        return values if bool(valid.all()) else Nullable(values, valid)
    return np.full(length, data, dtype)
