"""Read tables of a SQLite database column-wise, without ever writing to it or beside it."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ascend_sn.errors import FormatError
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Int64, Nullable, Text

__all__ = ["SQLITE_MAGIC", "Database", "is_sqlite", "open_database", "sqlite_integers", "sqlite_reals"]

SQLITE_MAGIC = b"SQLite format 3\0"

Values = Sequence[Any]

_FETCH_ROWS = 65_536
_LONGEST_VALUE = 64 << 20
"""Bytes of one value, which a database of a few pages may compute to any length."""

_SHOWN = 100
_NOTHING = (None, "", "N/A", "NA", "None")
_MISSING_ID = -1


def is_sqlite(path: Path) -> bool:
    """Whether the file starts with the SQLite magic (databases with other suffixes occur)."""
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    except OSError:
        return False


class _Column(tuple[Any, ...]):
    """The values of one column, which know where they stand, so that what is no number can be told."""

    name: str
    database: Database


@dataclass(frozen=True)
class Database:
    """An open database; `file` is its name in the ledger."""

    connection: sqlite3.Connection = field(repr=False)
    file: str
    ledger: Ledger
    tables: dict[str, tuple[str, ...]]
    damaged: set[str] = field(default_factory=set)
    told: set[str] = field(default_factory=set)
    conditions: Mapping[str, str] = field(default_factory=dict)

    def where(self, conditions: Mapping[str, str]) -> Database:
        """Return the same database with only the rows that fulfil an SQL condition, by table."""
        return replace(self, conditions=conditions)

    def has(self, table: str) -> bool:
        """Whether there is a table of that name."""
        return table in self.tables

    def read(self, table: str, *columns: str) -> dict[str, Values]:
        """Return the named columns of all rows in storage order; a column that is absent is all None.

        A damaged table gives the rows before the damage and a ledger entry; an absent one gives no rows.
        """
        present = [column for column in columns if column in self.tables.get(table, ())]
        if not present:
            return {column: [] for column in columns}
        query = f"select {', '.join(_quoted(column) for column in present)} from {_quoted(table)}"
        if table in self.conditions:
            query += f" where {self.conditions[table]}"
        rows = self._rows(table, query)
        values: dict[str, Values] = {column: [None] * len(rows) for column in columns}
        if rows:
            for column, cells in zip(present, zip(*rows, strict=True), strict=True):
                values[column] = known = _Column(cells)
                known.name, known.database = f"{table}.{column}", self
        return values

    def texts(self, ids: Values) -> Text:
        """Resolve ids of STRING_IDS to text; an id that is not there is null."""
        positions, values = self._strings
        codes = np.fromiter((positions.get(i, _MISSING_ID) for i in ids), np.int32, len(ids))
        return _compact(codes, values)

    def names(self, table: str, ids: Values) -> Text:
        """Resolve ids through an enumeration table (id, name), else through STRING_IDS."""
        if not self.has(table):
            return self.texts(ids)
        pairs = self.read(table, "id", "name")
        known = {key: str(name) for key, name in zip(pairs["id"], pairs["name"], strict=True) if name is not None}
        return Text.of(known.get(i) for i in ids)

    @cached_property
    def _strings(self) -> tuple[dict[int, int], list[str]]:
        # The same text occurs under several ids: it becomes one entry.
        rows = self.read("STRING_IDS", "id", "value")
        numbers: dict[str, int] = {}
        positions: dict[int, int] = {}
        replaced = 0
        for key, value in zip(rows["id"], rows["value"], strict=True):
            if value is None or not isinstance(key, int):
                continue
            text = value if isinstance(value, str) else str(value)
            replaced += "\ufffd" in text
            positions[key] = numbers.setdefault(text, len(numbers))
        if replaced:
            self.ledger.add(self.file, "invalid_utf8", place="table STRING_IDS", count=replaced)
        return positions, list(numbers)

    def _rows(self, table: str, query: str) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        try:
            cursor = self.connection.execute(query)
            while batch := cursor.fetchmany(_FETCH_ROWS):
                rows.extend(batch)
        except (sqlite3.Error, OverflowError, UnicodeDecodeError) as error:
            self.damaged.add(table)
            self.ledger.add(self.file, "damaged_table", place=f"table {table}, row {len(rows)}", example=str(error))
        return rows


@contextmanager
def open_database(path: Path, file: str, ledger: Ledger) -> Iterator[Database]:
    """Open a database for reading only.

    With a non-empty write-ahead log beside it, both are copied to a temporary folder and opened there: an
    immutable open would silently drop the rows of the log, a normal one would write into the input.

    Raises:
        FormatError: It is no database or its schema cannot be read.
    """
    if not is_sqlite(path):
        raise FormatError(path, "not a SQLite database", "first 16 bytes")
    log = path.with_name(path.name + "-wal")
    with tempfile.TemporaryDirectory(prefix="ascend-sn-") as folder:
        if log.exists() and log.stat().st_size > 0:
            ledger.add(file, "write_ahead_log", example=f"{log.name} was read with it, from a copy", severity="info")
            opened = Path(folder) / "copy.db"
            shutil.copyfile(path, opened)
            shutil.copyfile(log, opened.with_name("copy.db-wal"))
            uri = opened.as_uri()
        else:
            uri = path.absolute().as_uri() + "?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True)
        try:
            connection.text_factory = lambda data: data.decode("utf-8", errors="replace")
            connection.execute("pragma trusted_schema = off")
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
            yield Database(connection, file, ledger, _schema(connection, path))
        finally:
            connection.close()


def sqlite_integers(values: Values) -> Nullable:
    """Return a column of integers; text is accepted (PYTORCH_API keeps times as text), the rest is null."""
    try:
        return (
            Nullable(np.array(values, np.int64), np.ones(len(values), np.bool_)) if _all_int(values) else _slow(values)
        )
    except OverflowError:
        return _slow(values)


def sqlite_reals(values: Values) -> Nullable:
    """Return a column of numbers as float64 (never absolute times); what is no number is null."""
    valid = np.fromiter((isinstance(value, int | float) for value in values), np.bool_, len(values))
    numbers = np.array([value if ok else 0.0 for value, ok in zip(values, valid, strict=True)], np.float64)
    valid &= np.isfinite(numbers)
    _tell_unreadable(values, valid)
    return Nullable(numbers, valid)


def _tell_unreadable(values: Values, valid: npt.NDArray[np.bool_]) -> None:
    """Count in the ledger, once for a column, the values that hold something and no number."""
    if not isinstance(values, _Column) or values.name in values.database.told or bool(valid.all()):
        return
    bad = [i for i in np.flatnonzero(~valid).tolist() if values[i] not in _NOTHING]
    if bad:
        database = values.database
        database.told.add(values.name)
        table, _, column = values.name.partition(".")
        example = f"{column} = {str(values[bad[0]])[:_SHOWN]!r}"
        place = f"table {table}, row {bad[0]}"
        database.ledger.add(database.file, "unreadable_cell", place=place, count=len(bad), example=example)


def _all_int(values: Values) -> bool:
    return all(type(value) is int for value in values)


def _slow(values: Values) -> Nullable:
    numbers = [_integer(value) for value in values]
    valid = np.fromiter((number is not None for number in numbers), np.bool_, len(numbers))
    _tell_unreadable(values, valid)
    return Nullable(np.fromiter((number or 0 for number in numbers), np.int64, len(numbers)), valid)


def _integer(value: Any) -> int | None:
    if isinstance(value, float):
        number = int(value) if value.is_integer() else None
    elif isinstance(value, str):
        text = value.strip()
        number = int(text) if text.lstrip("-").isascii() and text.lstrip("-").isdigit() and len(text) < 32 else None
    else:
        number = value if isinstance(value, int) else None
    return number if number is not None and -(1 << 63) <= number < 1 << 63 else None


def _compact(codes: npt.NDArray[np.int32], values: list[str]) -> Text:
    """Keep of a large dictionary only what the column uses."""
    used, positions = np.unique(codes, return_inverse=True)
    missing = int(np.searchsorted(used, 0))
    kept: Int64 = used[missing:].astype(np.int64)
    return Text((positions - missing).clip(min=-1).astype(np.int32), [values[i] for i in kept.tolist()])


def _schema(connection: sqlite3.Connection, path: Path) -> dict[str, tuple[str, ...]]:
    try:
        names = [
            row[0]
            for row in connection.execute("select name from sqlite_master where type = 'table'")
            if not row[0].startswith("sqlite_")
        ]
        return {
            name: tuple(row[1] for row in connection.execute(f"pragma table_info({_quoted(name)})")) for name in names
        }
    except UnicodeDecodeError as error:
        # The message of an error about a damaged name holds its bytes, and the module decodes it strictly.
        raise FormatError(path, "not a readable SQLite database: damaged schema", "schema") from error
    except sqlite3.Error as error:
        raise FormatError(path, f"not a readable SQLite database: {error}", "schema") from error


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
