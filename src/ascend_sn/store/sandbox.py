"""SQL of strangers on a run: it sees the tables of that run and nothing else of the machine."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from threading import Timer
from types import TracebackType
from typing import Any, Final

import duckdb
from duckdb import DuckDBPyConnection

from ascend_sn.errors import QueryError
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store.parquet import quiet, show_table
from ascend_sn.store.run import Run

__all__ = ["Answer", "Sandbox"]

SECONDS: Final = 60.0
"""Time after which a query is stopped, unless another one is given."""

MEMORY: Final = "2GB"
DISK: Final = "4GB"
THREADS: Final = 2

_BATCH: Final = 10_000


class Answer:
    """What a query returns: `columns` (names), `types` (DuckDB's names), and the rows, worked out when asked for."""

    def __init__(self, db: DuckDBPyConnection, sql: str, timeout_s: float) -> None:
        self._db = db
        self._sql = sql
        self._timeout_s = timeout_s
        relation = db.sql(sql)
        self.columns: list[str] = list(relation.columns)
        self.types: list[str] = [str(type_) for type_ in relation.types]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows in their order, a batch at a time."""
        with _told(self._timeout_s):
            result = self._db.execute(self._sql)
            while batch := result.fetchmany(_BATCH):
                yield from batch

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as an Arrow stream (the PyCapsule interface)."""
        with _told(self._timeout_s):
            return self._db.sql(self._sql).__arrow_c_stream__(requested_schema)


class Sandbox:
    """A connection for SQL that is not trusted. Close it, or use it in a `with` statement.

    A query is exactly one SELECT. It reads the Parquet files of the run; every other file, the network, extensions,
    the settings and Python's variables are out of reach; memory, disk, threads and time are bounded.
    """

    def __init__(self, run: Run, *, timeout_s: float = SECONDS) -> None:
        """Show the tables of `run`, then lock the doors.

        Args:
            run: An opened run.
            timeout_s: Seconds after which a query is stopped.
        """
        self.timeout_s = timeout_s
        self._opened = ExitStack()
        self._folder = tempfile.TemporaryDirectory(prefix="ascend-sn-query-", ignore_cleanup_errors=True)
        self._db: DuckDBPyConnection = duckdb.connect(
            config={
                "threads": THREADS,
                "memory_limit": MEMORY,
                "temp_directory": self._folder.name,
                "max_temp_directory_size": DISK,
                "allow_community_extensions": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
            }
        )
        files = {name: [str(file) for file in of_table] for name, of_table in run.files.items()}
        for name, table in BY_NAME.items():
            show_table(self._db, table, run.files[name], run.assumed_ranks)
        allowed = [path for of_table in files.values() for path in of_table]
        # The files themselves, not their folders: a folder that may be read may also be written.
        self._db.execute("set allowed_paths = $paths", {"paths": allowed})
        self._db.execute("set enable_external_access = false")
        quiet(self._db)
        self._db.execute("set lock_configuration = true")

    @contextmanager
    def answer(self, sql: str) -> Iterator[Answer]:
        """Run a query and hand out its rows while the `with` block lasts.

        Raises:
            QueryError: Not exactly one SELECT, a mistake in it, too much memory or too much time.
        """
        if any("\ud800" <= character <= "\udfff" for character in sql):  # what Python makes of bytes that are no text
            raise QueryError("the query holds bytes that are no UTF-8")
        with _told():
            statements = self._db.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise QueryError("a query is exactly one SELECT (WITH, FROM, VALUES, DESCRIBE and SUMMARIZE count as one)")
        timer = Timer(self.timeout_s, self._db.interrupt)
        timer.daemon = True
        timer.start()
        try:
            with _told(self.timeout_s):
                answer = Answer(self._db, sql, self.timeout_s)
            yield answer
        finally:
            timer.cancel()

    def keep_open(self, opened: ExitStack) -> None:
        """Close what the tables are read from together with the sandbox."""
        self._opened.push(opened)

    def close(self) -> None:
        """Release the connection and what it kept on disk."""
        self._db.close()
        self._folder.cleanup()
        self._opened.close()

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@contextmanager
def _told(timeout_s: float = SECONDS) -> Iterator[None]:
    """Tell what the database says in the words of a user."""
    try:
        yield
    except duckdb.InterruptException as error:
        raise QueryError(f"the query was stopped after {timeout_s:g} s") from error
    except duckdb.PermissionException as error:
        raise QueryError("the query reaches out of the run: only its tables can be read") from error
    except (duckdb.OutOfMemoryException, duckdb.IOException) as error:
        raise QueryError(f"the query needs more than {MEMORY} of memory and {DISK} of disk") from error
    except duckdb.Error as error:
        raise QueryError(_first_lines(str(error))) from error


def _first_lines(problem: str) -> str:
    """What is wrong and where, on one line: DuckDB adds the query and a mark below the place."""
    lines = [line.strip() for line in problem.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("LINE ", "^"))]
    return " ".join(told) or problem
