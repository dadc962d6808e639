"""The analysis results that statements and views are made of, each computed once per run."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from ascend_sn.analysis import Missing, absence, worked_out
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.store import Run

if TYPE_CHECKING:
    from ascend_sn.replay import Replay, Unpriced

__all__ = ["Facts"]

_RESULT = re.compile(r"\bresult\b")

_Row = TypeVar("_Row")


class Facts:
    """Analysis results of a run; an absent one says why it is absent.

    A result that is small on any run (a row per step, primitive or rank) is taken whole with `rows`; one that grows
    with the names in the trace is summed or cut by `query` before it gets here.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._missing: dict[str, Missing | None] = {}
        self._results: dict[str, Result | Missing] = {}
        self._tables: dict[str, str] = {}
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
            self._rows[name] = [] if isinstance(found, Missing) else found.dicts()
        return [msgspec.convert(row, row_type) for row in self._rows[name]]

    def query(self, name: str, sql: str, row_type: type[_Row], **parameters: Any) -> list[_Row]:
        """Query a result, which the query calls `result`; no rows where it is absent."""
        found = self._result(name)
        if isinstance(found, Missing):
            return []
        return self.table_rows(_RESULT.sub(self._kept(name, found), sql), row_type, **parameters)

    def table_rows(self, sql: str, row_type: type[_Row], **parameters: Any) -> list[_Row]:
        """Query the tables of the run; columns go to the fields of `row_type` by name."""
        return [msgspec.convert(row, row_type) for row in selected(self.run.db, sql, parameters).dicts()]

    @cached_property
    def replay(self) -> Replay | Unpriced:
        """The replayed median step; building it takes time: only where something is to be priced."""
        from ascend_sn.replay import Replay

        return Replay.of(self.run)

    def _result(self, name: str) -> Result | Missing:
        if name not in self._results:
            self._results[name] = worked_out(self.run, name)
        return self._results[name]

    def _kept(self, name: str, found: Result) -> str:
        """The table of a result: each query would work it out again."""
        if name not in self._tables:
            self._tables[name] = found.table(f"{name}_result")
        return self._tables[name]
