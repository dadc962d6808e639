"""The analysis results that statements and views are made of, each computed once per run."""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from ascend_sn.analysis import Missing, result
from ascend_sn.store import Run

__all__ = ["Facts"]

_Row = TypeVar("_Row")
_PREFIX: Final = "fact_"


class Facts:
    """Analysis results of a run as tables of its connection; an absent one says why it is absent."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._missing: dict[str, Missing | None] = {}

    def missing(self, name: str) -> Missing | None:
        """Compute an analysis, unless that was done already; None when it has a result."""
        if name not in self._missing:
            found = result(self.run, name)
            if isinstance(found, Missing):
                self._missing[name] = found
            else:
                found.create(_PREFIX + name)
                self._missing[name] = None
        return self._missing[name]

    def rows(self, name: str, sql: str, row_type: type[_Row], **parameters: Any) -> list[_Row]:
        """Query a result, which the query calls `{rows}`; no rows where it is absent.

        Columns go to the fields of `row_type` (a msgspec Struct) by name.
        """
        if self.missing(name) is not None:
            return []
        return self.table_rows(sql.replace("{rows}", _PREFIX + name), row_type, **parameters)

    def table_rows(self, sql: str, row_type: type[_Row], **parameters: Any) -> list[_Row]:
        """Query the tables of the run; columns go to the fields of `row_type` by name."""
        found = self.run.sql(sql, **parameters)
        names = found.columns
        return [msgspec.convert(dict(zip(names, row, strict=True)), row_type) for row in found.fetchall()]
