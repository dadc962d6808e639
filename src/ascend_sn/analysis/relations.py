"""Computed columns back to a relation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection, DuckDBPyRelation

__all__ = ["materialise", "relation_of", "rows_relation", "worked_out_once"]

_Found = TypeVar("_Found")

_WORKED_OUT: WeakKeyDictionary[DuckDBPyConnection, dict[Callable[..., Any], Any]] = WeakKeyDictionary()


def worked_out_once(work_out: Callable[[DuckDBPyConnection], _Found]) -> Callable[[DuckDBPyConnection], _Found]:
    """Let `work_out` run once per connection, for what several analyses read; the tables of a run do not change.

    What it returns must not hold the connection (a relation does): it would never be let go of.
    """

    @wraps(work_out)
    def found(db: DuckDBPyConnection) -> _Found:
        known = _WORKED_OUT.setdefault(db, {})
        if work_out not in known:
            known[work_out] = work_out(db)
        once: _Found = known[work_out]
        return once

    return found


def relation_of(
    db: DuckDBPyConnection, columns: Mapping[str, npt.NDArray[Any]], types: Mapping[str, str]
) -> DuckDBPyRelation:
    """Return numpy columns (masked where null) as a relation with the DuckDB `types`, in their order."""
    held = {name: columns[name] for name in types}  # noqa: F841 - DuckDB finds it by the variable's name
    selected = ", ".join(f"cast({name} as {type_}) as {name}" for name, type_ in types.items())
    return db.sql(f"select {selected} from held")


def materialise(db: DuckDBPyConnection, name: str, relation: DuckDBPyRelation) -> None:
    """Make the rows of a relation visible to later queries under `name`, replacing an earlier one."""
    db.execute(f"create or replace temp table {name} as select * from relation")


def rows_relation(
    db: DuckDBPyConnection, rows: Sequence[Mapping[str, Any]], types: Mapping[str, str]
) -> DuckDBPyRelation:
    """Return plain rows (None is null) as a relation with the DuckDB `types`; for small results."""
    columns = {name: np.array([row[name] for row in rows], dtype=object) for name in types}
    filled = {name: _numbers(column, types[name]) for name, column in columns.items()}
    return relation_of(db, filled, types)


def _numbers(column: npt.NDArray[Any], type_: str) -> npt.NDArray[Any]:
    if type_ == "varchar":
        return column
    dtype = {"double": np.float64, "boolean": np.bool_}.get(type_, np.int64)
    missing = np.array([value is None for value in column], np.bool_)
    values: npt.NDArray[Any] = np.array([0 if value is None else value for value in column], dtype=dtype)
    return np.ma.masked_array(values, missing) if bool(missing.any()) else values
