"""The analysis results that statements and views are made of, each computed once per run."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from duckdb import DuckDBPyConnection, DuckDBPyRelation

from ascend_sn.analysis import BY_NAME, Missing, absence, result
from ascend_sn.analysis.relations import materialise
from ascend_sn.store import Run

if TYPE_CHECKING:
    from ascend_sn.replay import Replay, Unpriced

__all__ = ["Facts"]

_Row = TypeVar("_Row")


class Facts:
    """Analysis results of a run; an absent one says why it is absent.

    A result that is small on any run (a row per step, primitive or rank) is taken whole with `rows`; one that grows
    with the names in the trace is summed or cut by `query` before it gets here.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._missing: dict[str, Missing | None] = {}
        self._results: dict[str, DuckDBPyRelation | Missing] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}

    def missing(self, name: str) -> Missing | None:
        """Say why an analysis has no result; None when it has one."""
        if name not in self._missing:
            self._missing[name] = absence(self.run, name)
        return self._missing[name]

    def rows(self, name: str, row_type: type[_Row]) -> list[_Row]:
        """Return a result whole, in its own order; no rows where it is absent.

        Columns go to the fields of `row_type` (a msgspec Struct) by name.
        """
        if name not in self._rows:
            found = self._result(name)
            self._rows[name] = [] if isinstance(found, Missing) else _plain(found)
        return [msgspec.convert(row, row_type) for row in self._rows[name]]

    def query(self, name: str, sql: str, row_type: type[_Row], **parameters: Any) -> list[_Row]:
        """Query a result, which the query calls `result`; no rows where it is absent."""
        found = self._result(name)
        return [] if isinstance(found, Missing) else self._queried(found, sql, row_type, parameters)

    def table_rows(self, sql: str, row_type: type[_Row], **parameters: Any) -> list[_Row]:
        """Query the tables of the run; columns go to the fields of `row_type` by name."""
        return [msgspec.convert(row, row_type) for row in _fetched(self.run.db.execute(sql, parameters or None))]

    @cached_property
    def replay(self) -> Replay | Unpriced:
        """The replayed median step; building it takes time: only where something is to be priced."""
        from ascend_sn.replay import Replay

        return Replay.of(self.run)

    def _result(self, name: str) -> DuckDBPyRelation | Missing:
        if name not in self._results:
            found = result(self.run, name)
            if not isinstance(found, Missing) and BY_NAME[name].combine is None:
                # A relation is worked out with every query of it; a combined result is a table already.
                materialise(self.run.db, f"{name}_result", found)
                found = self.run.db.table(f"{name}_result")
            self._results[name] = found
        return self._results[name]

    def _queried(
        self, result: DuckDBPyRelation, sql: str, row_type: type[_Row], parameters: dict[str, Any]
    ) -> list[_Row]:
        # DuckDB finds the relation by the name of the argument.
        return [msgspec.convert(row, row_type) for row in _fetched(self.run.db.execute(sql, parameters or None))]


def _plain(relation: DuckDBPyRelation) -> list[dict[str, Any]]:
    names = relation.columns
    return [dict(zip(names, row, strict=True)) for row in relation.fetchall()]


def _fetched(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    """The rows of the query that was just run; asking for a relation first would plan it twice."""
    names = [column[0] for column in db.description]
    return [dict(zip(names, row, strict=True)) for row in db.fetchall()]
