"""The analysis results that statements and views are made of, each computed once per run."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import msgspec

from ascend_sn.analysis import Missing, absence, worked_out
from ascend_sn.analysis.registry import has_rows
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.errors import UnknownNameError, UsageError
from ascend_sn.store import Run

if TYPE_CHECKING:
    from ascend_sn.replay import Replay, Unpriced

__all__ = ["Facts", "Row", "asked_once", "rounded"]

_RESULT = re.compile(r"\bresult\b")

_Row = TypeVar("_Row")
_Given = ParamSpec("_Given")
_Found = TypeVar("_Found")

Row = dict[str, Any]
"""A row of a result, by name of the column."""


class Facts:
    """Analysis results of a run; an absent one says why it is absent.

    A result that is small on any run (a row per step, primitive, rank or operator type) is taken whole with `rows`,
    and summed in Python: to plan a query takes milliseconds, whatever it finds. One that grows with the calls in the
    trace is summed or cut by `query` before it gets here.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self._missing: dict[str, Missing | None] = {}
        self._results: dict[str, Result | Missing] = {}
        self._tables: dict[str, str] = {}
        self._rows: dict[str, list[Row]] = {}
        self._answers: dict[Any, Any] = {}

    def missing(self, name: str) -> Missing | None:
        """Say why an analysis has no result; None when it has one."""
        if name not in self._missing:
            self._missing[name] = absence(self.run, name)
        return self._missing[name]

    def has_rows(self, table: str) -> bool:
        """Say whether a table of the run holds anything."""
        return has_rows(self.run.db, table)

    def rows(self, name: str, row_type: type[_Row], where: Callable[[Row], object] | None = None) -> list[_Row]:
        """Return a result whole, or its rows for which `where` holds, in its own order; none where it is absent.

        Columns go to the fields of `row_type` (a msgspec Struct) by name.

        Raises:
            UnknownNameError: There is no such analysis, or it has no column of a field's name.
            UsageError: A column holds what the field does not take, such as null.
        """
        if name not in self._rows:
            found = self._result(name)
            self._rows[name] = [] if isinstance(found, Missing) else found.shared()
        rows = self._rows[name]
        try:
            return [msgspec.convert(row, row_type) for row in (rows if where is None else filter(where, rows))]
        except msgspec.ValidationError as error:
            raise _refused(name, rows[0], row_type, error) from error

    def rows_of(self, name: str, profile_id: int) -> list[Row]:
        """Return the rows of one profile of a result that grows with the operators and the profiles of a run."""
        key = (name, profile_id)
        if key not in self._answers:
            self._answers[key] = self._rows_of(name, profile_id)
        return list(self._answers[key])

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
    def profiles(self) -> list[Row]:
        """The rows of the table `profile`, by rank."""
        return selected(self.run.db, "select * from profile order by rank nulls last, profile_id").dicts()

    @cached_property
    def replay(self) -> Replay | Unpriced:
        """The replayed median step; building it takes time: only where something is to be priced."""
        from ascend_sn.replay import Replay

        return Replay.of(self.run)

    def _result(self, name: str) -> Result | Missing:
        if name not in self._results:
            self._results[name] = worked_out(self.run, name)
        return self._results[name]

    def _rows_of(self, name: str, profile_id: int) -> list[Row]:
        found = self._result(name)
        if isinstance(found, Missing):
            return []
        kept = self._kept(name, found)
        return selected(self.run.db, f"select * from {kept} where profile_id = {profile_id}").dicts()

    def _kept(self, name: str, found: Result) -> str:
        """The table of a result: each query would work it out again."""
        if name not in self._tables:
            self._tables[name] = found.table(f"{name}_result")
        return self._tables[name]


def asked_once(ask: Callable[Concatenate[Facts, _Given], _Found]) -> Callable[Concatenate[Facts, _Given], _Found]:
    """Let `ask` look at the facts of a run once for the same further arguments; nobody changes what it returns."""

    def answer(facts: Facts, /, *args: _Given.args, **kwargs: _Given.kwargs) -> _Found:
        key = (ask, *args, *sorted(kwargs.items()))
        if key not in facts._answers:
            facts._answers[key] = ask(facts, *args, **kwargs)
        found: _Found = facts._answers[key]
        return found

    return update_wrapper(answer, ask)


def rounded(value: float) -> int:
    """Round half away from zero, as the queries of the analyses do."""
    return int(value + 0.5) if value >= 0 else -int(0.5 - value)


def _refused(name: str, row: Row, row_type: type[Any], error: msgspec.ValidationError) -> UsageError:
    wanted = [field.encode_name for field in msgspec.structs.fields(row_type) if field.required]
    for column in wanted:
        if column not in row:
            nearest = next(iter(get_close_matches(column, row, n=1)), None)
            return UnknownNameError(f"column of {name}", column, tuple(row), nearest)
    return UsageError(f"a row of {name} does not fit into {row_type.__name__}: {error}")
