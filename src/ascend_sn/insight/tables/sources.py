"""Where the rows of a table of the page are: worked out when they are first asked for, then kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import duckdb

from ascend_sn.analysis import worked_out
from ascend_sn.analysis.registry import Missing, missing_needs
from ascend_sn.errors import StoreError
from ascend_sn.insight.ranks import Part
from ascend_sn.insight.tables.definition import PageTable
from ascend_sn.store import Run

__all__ = ["Sources", "unreadable"]

_ORIGIN: Final = "page_origin"
_ROW_COUNT: Final = "page_row_count"
_BEGINS: Final = (
    "step", "operator", "host_call", "kernel", "collective", "comm_task", "memory_event", "memory_sample", "counter",
    "span", "metric",
)  # fmt: skip


class Sources:
    """The rows of tables of some profiles."""

    def __init__(self, part: Part, origins: Mapping[int, int] | None) -> None:
        """Work nothing out yet.

        Args:
            part: The profiles.
            origins: Begin of each profile, ns; where absent, that of its first record.
        """
        # Not the part itself: who keeps these by their part would keep it for ever.
        self._run, self._lock = part.run, part.lock
        self._origins = origins
        self._is_prepared = False
        self._made: dict[str, str | Missing] = {}

    def use(self, work: Callable[[Run], Any]) -> Any:
        """Work on the opened run while nobody else does."""
        with self._lock:
            return work(self._prepared())

    def rows(self, table: PageTable) -> tuple[duckdb.DuckDBPyConnection, str | Missing]:
        """Return the rows of a table, and a cursor of its own to read them with: a long answer holds up nobody.

        Raises:
            StoreError: A file of the run cannot be read.
        """
        with self._lock:
            run = self._prepared()
            if table.name not in self._made:
                try:
                    self._made[table.name] = _made_rows(run, table)
                except duckdb.Error as error:
                    raise unreadable(run, error) from error
            return run.db.cursor(), self._made[table.name]

    def _prepared(self) -> Run:
        if not self._is_prepared:
            _keep_origins(self._run, self._origins)
            _keep_row_counts(self._run)
            self._is_prepared = True
        return self._run


def unreadable(run: Run, error: duckdb.Error) -> StoreError:
    """Return the error of a run whose files cannot be read."""
    return StoreError(run.path, f"a table cannot be read: {str(error).splitlines()[0]}")


def _made_rows(run: Run, table: PageTable) -> str | Missing:
    if table.analysis:
        found = worked_out(run, table.analysis)
        if isinstance(found, Missing):
            return found
        rows = found.table(f"page_{table.name}_rows")
    else:
        missing = missing_needs(table.needs, run.db)
        if missing is not None:
            return missing
        used: dict[str, str] = {}
        for name in table.uses:
            found = worked_out(run, name)
            if isinstance(found, Missing):
                return found
            used[name] = found.table(f"page_rows_of_{name}")
        rows = f"({table.sql.format_map(used)})" if used else f"({table.sql})"
    sql = f"select * from {rows}"
    if "profile_id" in table.columns:
        sql = f"select rows.*, origin_ns from {rows} rows left join {_ORIGIN} using (profile_id)"
    if not table.is_kept:
        return f"({sql})"
    run.db.execute(f"create or replace table page_{table.name} as {sql}")
    return f"page_{table.name}"


def _keep_origins(run: Run, origins: Mapping[int, int] | None) -> None:
    if origins is None:
        begins = " union all ".join(
            f"select profile_id, min(ts_ns) as origin_ns from {name} group by profile_id" for name in _BEGINS
        )
        sql = f"select profile_id, min(origin_ns) as origin_ns from ({begins}) group by profile_id"
        run.db.execute(f"create or replace table {_ORIGIN} as {sql}")
        return
    _keep(run, f"{_ORIGIN} (profile_id integer, origin_ns bigint)", [list(origins), list(origins.values())])


def _keep_row_counts(run: Run) -> None:
    """Keep how many rows the tables of each profile have, those that are not shown included."""
    counts = [
        (profile.profile_id, name, count) for profile in run.manifest.profiles for name, count in profile.tables.items()
    ]
    columns = [list(column) for column in zip(*counts, strict=True)] or [[], [], []]
    _keep(run, f"{_ROW_COUNT} (profile_id integer, table_name varchar, row_count bigint)", columns)


def _keep(run: Run, declared: str, columns: list[list[Any]]) -> None:
    """Make a table of lists, one to a column: rows one by one would take a second for ten thousand profiles."""
    run.db.execute(f"create or replace table {declared}")
    lists = ", ".join(f"unnest(${at + 1})" for at in range(len(columns)))
    run.db.execute(f"insert into {declared.partition(' ')[0]} select {lists}", columns)
