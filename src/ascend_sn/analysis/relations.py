"""What an analysis gives back: a query that is yet to be run, or rows that are there already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary

import numpy.typing as npt
from duckdb import DuckDBPyConnection, DuckDBPyRelation

__all__ = ["Result", "keep_columns", "kept", "listed", "selected", "worked_out_once"]

_Found = TypeVar("_Found")

_WORKED_OUT: WeakKeyDictionary[DuckDBPyConnection, dict[Callable[..., Any], Any]] = WeakKeyDictionary()

_ROWS: Final = "listed_rows"


def worked_out_once(work_out: Callable[[DuckDBPyConnection], _Found]) -> Callable[[DuckDBPyConnection], _Found]:
    """Let `work_out` run once per connection, for what several analyses read; the tables of a run do not change.

    What it returns must not hold the connection (a `Result` does): it would never be let go of.
    """

    @wraps(work_out)
    def found(db: DuckDBPyConnection) -> _Found:
        known = _WORKED_OUT.setdefault(db, {})
        if work_out not in known:
            known[work_out] = work_out(db)
        once: _Found = known[work_out]
        return once

    return found


class Result(ABC):
    """Rows with named columns. Nothing is planned or run before they are asked for.

    A relation of DuckDB would plan its query when it is made, again when it is kept as a table, and again with every
    query of it; on a small run planning is most of the work.
    """

    def __init__(self, db: DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._db = db
        self._sql = sql
        self._parameters = dict(parameters) if parameters else None

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """Names of the columns."""

    @abstractmethod
    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows, in the order of the analysis."""

    def dicts(self) -> list[dict[str, Any]]:
        """All rows, by name of the column."""
        rows = self.fetchall()
        names = self.columns
        return [dict(zip(names, row, strict=True)) for row in rows]

    def shared(self) -> list[dict[str, Any]]:
        """All rows, by name of the column, for who does not change them: none is copied."""
        return self.dicts()

    def keep(self, name: str) -> None:
        """Make the rows visible to later queries as the table `name`, replacing an earlier one."""
        self._db.execute(f"create or replace temp table {name} as {self._sql}", self._parameters)

    def table(self, name: str) -> str:
        """Return the name of a table that holds the rows: the one that does, else `name`, in which they are kept."""
        self.keep(name)
        return name

    @abstractmethod
    def settled(self, name: str) -> Callable[[DuckDBPyConnection], Result]:
        """Make the result independent of the tables that it comes from: kept as the table `name` if it must be.

        Returns:
            What gives the result again; it holds no connection.
        """

    def relation(self) -> DuckDBPyRelation:
        """Return the rows as a relation of DuckDB, for whoever goes on with them."""
        return self._db.sql(self._sql, params=self._parameters)


class _Selected(Result):
    @property
    def columns(self) -> list[str]:
        self._db.execute(f"describe {self._sql}", self._parameters)
        return [row[0] for row in self._db.fetchall()]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._db.execute(self._sql, self._parameters).fetchall()

    def dicts(self) -> list[dict[str, Any]]:
        self._db.execute(self._sql, self._parameters)
        names = [column[0] for column in self._db.description]
        return [dict(zip(names, row, strict=True)) for row in self._db.fetchall()]

    def settled(self, name: str) -> Callable[[DuckDBPyConnection], Result]:
        self.keep(name)
        return partial(_Kept, name=name)


class _Kept(_Selected):
    def __init__(self, db: DuckDBPyConnection, name: str) -> None:
        super().__init__(db, f"select * from {name}")
        self._name = name

    def table(self, name: str) -> str:
        return self._name

    def settled(self, name: str) -> Callable[[DuckDBPyConnection], Result]:
        return partial(_Kept, name=self._name)


class _Listed(Result):
    def __init__(self, db: DuckDBPyConnection, rows: list[dict[str, Any]], types: Mapping[str, str]) -> None:
        fields = ", ".join(f'"{name}" {type_}' for name, type_ in types.items())
        sql = f"select unnest(${_ROWS}::struct({fields})[], max_depth := 2)"
        self._rows = rows
        self._types = types
        super().__init__(db, sql, {_ROWS: self._rows})

    @property
    def columns(self) -> list[str]:
        return list(self._types)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in self._rows]

    def dicts(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self._rows]

    def shared(self) -> list[dict[str, Any]]:
        return self._rows

    def settled(self, name: str) -> Callable[[DuckDBPyConnection], Result]:
        return partial(_Listed, rows=self._rows, types=self._types)


def selected(db: DuckDBPyConnection, sql: str, parameters: Mapping[str, Any] | None = None) -> Result:
    """Return the rows of a query on the tables of `db`; its parameters are named `$name`."""
    return _Selected(db, sql, parameters)


def kept(db: DuckDBPyConnection, name: str) -> Result:
    """Return the rows of a table that nobody changes."""
    return _Kept(db, name)


def listed(db: DuckDBPyConnection, rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]) -> Result:
    """Return plain rows (None is null) with the DuckDB `types` of their columns; for small results."""
    return _Listed(db, [{name: row[name] for name in types} for row in rows], types)


def keep_columns(
    db: DuckDBPyConnection, name: str, columns: Mapping[str, npt.NDArray[Any]], types: Mapping[str, str]
) -> None:
    """Make numpy columns (masked where null) visible as the table `name`, with the DuckDB `types` in their order."""
    held = {column: columns[column] for column in types}  # noqa: F841 - DuckDB finds it by the variable's name
    chosen = ", ".join(f"cast({column} as {type_}) as {column}" for column, type_ in types.items())
    db.execute(f"create or replace temp table {name} as select {chosen} from held")
