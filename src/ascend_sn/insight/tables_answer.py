"""The tables of one run: worked out when they are first asked for, then kept."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Callable, Mapping
from threading import Lock
from typing import IO, Any, Final

import duckdb
import msgspec

from ascend_sn.analysis import worked_out
from ascend_sn.analysis.registry import Missing, missing_needs
from ascend_sn.errors import StoreError, UnknownNameError
from ascend_sn.insight.tables import PageTable, Slices
from ascend_sn.insight.tables_list import BY_NAME
from ascend_sn.insight.tables_query import Asked, Shown, asked_of, query_of
from ascend_sn.model.printable import harmless
from ascend_sn.store import Run

__all__ = ["Answer", "RunTables"]

_MOST_LINES: Final = 1_000_000
_BATCH: Final = 10_000
_IN_MEMORY: Final = 8 << 20
_BYTE_ORDER_MARK: Final = "\ufeff"
_SAFE: Final = 1 << 53

_ORIGIN: Final = "page_origin"
_BEGINS: Final = (
    "step", "operator", "host_call", "kernel", "collective", "comm_task", "memory_event", "memory_sample", "counter",
    "span", "metric",
)  # fmt: skip


class Answer(msgspec.Struct, kw_only=True):
    """Rows of a table.

    Attributes:
        table: Its name.
        columns: Names and units.
        rows: Values in the order of the columns; whole numbers beyond 2^53 are texts.
        row_count: Rows of the whole answer, of which `rows` are a part.
        slices: What the rows stand for on the timeline, with the columns of profile and key; null where nothing.
        state: `collected`, else why there are no rows: `reason` in words, `turn_on` the option that collects it.
    """

    table: str
    columns: list[Shown]
    rows: list[list[Any]]
    row_count: int
    slices: dict[str, str] | None = None
    state: str = "collected"
    reason: str = ""
    turn_on: str = ""


class RunTables:
    """The tables of a run: worked out one at a time, read by as many threads as ask."""

    def __init__(self, run: Run, lock: Lock, origins: Mapping[int, int] | None = None) -> None:
        """Work nothing out yet.

        Args:
            run: The run, which stays open.
            lock: Held while its connection is used.
            origins: Begin of each profile, ns; where absent, that of its first record.
        """
        self._run = run
        self._lock = lock
        self._origins = origins
        self._is_prepared = False
        self._sources: dict[str, str | Missing] = {}

    def answer(self, name: str, given: Mapping[str, str]) -> Answer:
        """Return a page of a table.

        Raises:
            UnknownNameError: No such table, column or parameter.
            UsageError: A parameter without meaning.
        """
        table = _table(name)
        asked = self._asked(table, given)
        cursor, source = self._source(table)
        with cursor:
            if isinstance(source, Missing):
                return _absent(table, source)
            query = query_of(table, source, asked)
            limit = f"{query.rows} limit {asked.count} offset {asked.start}"
            try:
                rows = cursor.execute(limit, query.parameters).fetchall()
                ((row_count,),) = cursor.execute(query.count, query.parameters).fetchall()
            except duckdb.Error as error:
                raise _unreadable(self._run, error) from error
        return Answer(
            table=name,
            columns=query.columns,
            rows=[[_plain(value) for value in row] for row in rows],
            row_count=row_count,
            slices=_slices(table.slices, {column.name for column in query.columns}),
        )

    def csv(self, name: str, given: Mapping[str, str]) -> IO[bytes]:
        """Return all rows of a table as CSV, a million at most, in a file that vanishes when it is closed.

        No cell begins like a formula of a spreadsheet. Raises what `answer` raises.
        """
        table = _table(name)
        asked = self._asked(table, given)
        file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - the caller closes it
        text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
        text.write(_BYTE_ORDER_MARK)
        writer = csv.writer(text, lineterminator="\n")
        cursor, source = self._source(table)
        with cursor:
            if isinstance(source, Missing):
                writer.writerow(table.columns)
            else:
                query = query_of(table, source, asked)
                writer.writerow([column.name for column in query.columns])
                try:
                    cursor.execute(f"{query.rows} limit {_MOST_LINES}", query.parameters)
                    while batch := cursor.fetchmany(_BATCH):
                        writer.writerows([harmless(cell) for cell in row] for row in batch)
                except duckdb.Error as error:
                    raise _unreadable(self._run, error) from error
        text.detach()
        file.seek(0)
        return file

    def _asked(self, table: PageTable, given: Mapping[str, str]) -> Asked:
        asked = asked_of(table, given)
        for name, profile in (("profile", asked.profile), ("against", asked.against)):
            if profile is not None and self._origins is not None and profile not in self._origins:
                raise UnknownNameError(name, str(profile), tuple(map(str, self._origins)), None)
        return asked

    def use(self, work: Callable[[Run], Any]) -> Any:
        """Work on the opened run while nobody else does."""
        with self._lock:
            return work(self._prepared())

    def _prepared(self) -> Run:
        if not self._is_prepared:
            _keep_origins(self._run, self._origins)
            self._is_prepared = True
        return self._run

    def _source(self, table: PageTable) -> tuple[duckdb.DuckDBPyConnection, str | Missing]:
        """Return the rows of a table, and a cursor of its own to read them with: a long answer holds up nobody."""
        with self._lock:
            run = self._prepared()
            if table.name not in self._sources:
                try:
                    self._sources[table.name] = _made_source(run, table)
                except duckdb.Error as error:
                    raise _unreadable(run, error) from error
            return run.db.cursor(), self._sources[table.name]


def _made_source(run: Run, table: PageTable) -> str | Missing:
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
    run.db.execute(f"create or replace table {_ORIGIN} (profile_id integer, origin_ns bigint)")
    if origins:
        run.db.executemany(f"insert into {_ORIGIN} values (?, ?)", list(origins.items()))


def _table(name: str) -> PageTable:
    if name not in BY_NAME:
        raise UnknownNameError("table", name, tuple(BY_NAME), None)
    return BY_NAME[name]


def _absent(table: PageTable, missing: Missing) -> Answer:
    # The table itself came, the column that is needed did not.
    state = "missing" if missing.state == "collected" else missing.state
    return Answer(
        table=table.name, columns=[], rows=[], row_count=0,
        state=state, reason=missing.reason, turn_on=missing.turn_on,
    )  # fmt: skip


def _slices(slices: Slices | None, shown: set[str]) -> dict[str, str] | None:
    if slices is None or not {"profile_id", slices.key} <= shown:
        return None
    return {"table": slices.table, "profile": "profile_id", "key": slices.key}


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, int) and abs(value) >= _SAFE else value


def _unreadable(run: Run, error: duckdb.Error) -> StoreError:
    return StoreError(run.path, f"a table cannot be read: {str(error).splitlines()[0]}")
