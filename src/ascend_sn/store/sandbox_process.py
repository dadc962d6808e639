"""The process in which SQL of strangers runs: tables behind locked doors, bounded memory, and an end at the limit.

DuckDB cannot be interrupted within one call of a function, and does not count the values that it makes there: the MD5
of a text of a gigabyte took 69 s under a limit of 5 s, and 2 GB of memory. A process can be ended at any time.
"""

from __future__ import annotations

import errno
import faulthandler
import os
import pickle
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Timer
from typing import Any, Final

import duckdb
import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.errors import AscendSnError, QueryError
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store.parquet import quiet, show_table

__all__ = ["Asked", "Locked", "More", "Saved", "Shown", "main"]

MEMORY: Final = "2GB"
DISK: Final = "4GB"
THREADS: Final = 2

_BATCH: Final = 10_000
_BATCH_BYTES: Final = 8 << 20
"""Rows are handed over once they are that many or that large; who asks has no bound of its memory."""

_ROW_BYTES: Final = 100_000_000
"""A larger row is not handed over; as a file of Parquet it can be written."""

_DATA_BYTES: Final = 4 << 30
"""Memory of the process beyond what it begins with; DuckDB counts most of what it takes, but not every value."""

_GRACE_S: Final = 1.0
"""Seconds from the interruption of a query to the end of its process."""


class Shown(msgspec.Struct, frozen=True):
    """What a query may read: the Parquet files of each table; and a folder for what finds no room in memory."""

    files: dict[str, list[Path]]
    assumed_ranks: list[int]
    folder: str


class Asked(msgspec.Struct, frozen=True):
    """A query; answered by the names of its columns and their types."""

    sql: str
    timeout_s: float


class More(msgspec.Struct, frozen=True):
    """The next rows of the query that was asked last; no rows are the end."""


class Saved(msgspec.Struct, frozen=True):
    """The answer of the query that was asked last, as a Parquet file that is not there yet."""

    path: Path


class Locked:
    """A connection that sees the tables of a run and nothing else of the machine; one query at a time."""

    def __init__(self, shown: Shown) -> None:
        self.db: DuckDBPyConnection = duckdb.connect(
            config={
                "threads": THREADS,
                "memory_limit": MEMORY,
                "temp_directory": shown.folder,
                "max_temp_directory_size": DISK,
                "allow_community_extensions": False,
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
            }
        )
        for name, table in BY_NAME.items():
            show_table(self.db, table, shown.files[name], shown.assumed_ranks)
        allowed = [str(path) for of_table in shown.files.values() for path in of_table]
        # The files themselves, not their folders: a folder that may be read may also be written.
        self.db.execute("set allowed_paths = $paths", {"paths": allowed})
        self.db.execute("set enable_external_access = false")
        quiet(self.db)
        self.db.execute("set lock_configuration = true")
        self._writer = quiet(
            duckdb.connect(
                config={
                    "threads": THREADS,
                    "memory_limit": MEMORY,
                    # Not the same folder: both give their files the same names.
                    "temp_directory": os.path.join(shown.folder, "written"),
                    "max_temp_directory_size": DISK,
                }
            )
        )
        self._sql = ""
        self._left_s = 0.0
        self._timeout_s = 0.0
        self._result: DuckDBPyConnection | None = None

    def ask(self, asked: Asked) -> tuple[list[str], list[str]]:
        """Return the names of the columns of a query, and their types.

        Raises:
            QueryError: Not exactly one SELECT, a mistake in it, too much memory or too much time.
        """
        self._sql, self._result = asked.sql, None
        self._left_s = self._timeout_s = asked.timeout_s
        with self._bounded():
            statements = self.db.extract_statements(asked.sql)
            if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
                raise QueryError(
                    "a query is exactly one SELECT (WITH, FROM, VALUES, DESCRIBE and SUMMARIZE count as one)"
                )
            relation = self.db.sql(asked.sql)
            return list(relation.columns), [str(type_) for type_ in relation.types]

    def more(self) -> list[tuple[Any, ...]]:
        """Return the next rows of the query.

        Raises:
            QueryError: A mistake that shows only now, too much memory or too much time, or a row that is too large.
        """
        with self._bounded():
            if self._result is None:
                self._result = self.db.execute(self._sql)
            rows: list[tuple[Any, ...]] = []
            batch_bytes = 0
            # Row by row: how large the next ones are is not known before they are there.
            while len(rows) < _BATCH and batch_bytes < _BATCH_BYTES and (row := self._result.fetchone()) is not None:
                row_bytes = len(pickle.dumps(row))
                if row_bytes > _ROW_BYTES:
                    raise QueryError(f"a row of the answer holds more than {_ROW_BYTES / 1e6:g} MB")
                batch_bytes += row_bytes
                rows.append(row)
            return rows

    def save(self, path: Path) -> None:
        """Write the whole answer as a Parquet file, compressed with zstd.

        Raises:
            QueryError: A mistake that shows only now, too much time, or values that such files cannot hold.
            OSError: It cannot be written.
        """
        target = str(path).replace("'", "''")
        with self._bounded():
            answer = self.db.sql(self._sql)
            try:
                self._writer.register("answer", answer.__arrow_c_stream__())
                self._writer.execute(f"copy answer to '{target}' (format parquet, compression zstd)")
            except duckdb.InterruptException:
                raise
            except duckdb.Error as error:
                problem = str(error).splitlines()[0]
                if isinstance(error, duckdb.IOException):
                    raise OSError(errno.EIO, problem, str(path)) from error
                raise QueryError(f"the answer cannot be written as Parquet: {problem}") from error

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """Stop at the limit, and end the process where that does nothing; tell the rest in the words of a user."""
        began = time.monotonic()
        timer = Timer(self._left_s, self._interrupt)
        timer.daemon = True
        with open(os.devnull, "wb") as nowhere:
            # A thread that needs no interpreter: it ends the process even where nothing else runs.
            faulthandler.dump_traceback_later(self._left_s + _GRACE_S, exit=True, file=nowhere)
            timer.start()
            try:
                with _told(self._timeout_s):
                    yield
            finally:
                timer.cancel()
                faulthandler.cancel_dump_traceback_later()
                self._left_s = max(self._left_s - (time.monotonic() - began), 0.0)

    def _interrupt(self) -> None:
        self.db.interrupt()
        self._writer.interrupt()


@contextmanager
def _told(timeout_s: float) -> Iterator[None]:
    try:
        yield
    except duckdb.InterruptException as error:
        raise QueryError(f"the query was stopped after {timeout_s:g} s") from error
    except duckdb.PermissionException as error:
        raise QueryError("the query reaches out of the run: only its tables can be read") from error
    except (duckdb.OutOfMemoryException, duckdb.IOException, MemoryError) as error:
        raise QueryError(f"the query needs more than {MEMORY} of memory and {DISK} of disk") from error
    except OverflowError as error:  # such as an interval of more days than Python counts
        raise QueryError(f"the answer holds a value that Python cannot hold ({error}); cast it to varchar") from error
    except duckdb.Error as error:
        raise QueryError(_first_lines(str(error))) from error


def _first_lines(problem: str) -> str:
    """What is wrong and where, on one line: DuckDB adds the query and a mark below the place."""
    lines = [line.strip() for line in problem.splitlines() if line.strip()]
    told = [line for line in lines if not line.startswith(("LINE ", "^"))]
    return " ".join(told) or problem


def main() -> None:
    """Answer what comes over the socket whose descriptor is named, until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who asks
    talk = Connection(int(sys.argv[1]))
    with suppress(EOFError, OSError):
        locked = _opened(talk.recv())
        _bound_memory()
        while True:
            request = talk.recv()
            try:
                talk.send(_answer(locked, request))
            except (AscendSnError, OSError) as error:
                talk.send(error)
            except MemoryError:
                talk.send(QueryError(f"the query needs more than {MEMORY} of memory"))
            except Exception as error:  # noqa: BLE001 - without an answer the user reads that the process died
                talk.send(
                    QueryError(f"the query cannot be answered: {type(error).__name__}: {_first_lines(str(error))}")
                )


def _opened(shown: Shown) -> Locked | QueryError:
    try:
        return Locked(shown)
    except (duckdb.Error, MemoryError) as error:
        return QueryError(f"the tables of the run cannot be shown: {_first_lines(str(error))}")


def _answer(locked: Locked | QueryError, request: Asked | More | Saved) -> object:
    if isinstance(locked, QueryError):
        raise locked
    if isinstance(request, Asked):
        return locked.ask(request)
    if isinstance(request, More):
        return locked.more()
    locked.save(request.path)
    return None


def _bound_memory() -> None:
    """Bound what the process takes from now on; where memory is short all the same, it is the first to go."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[5])
    most = pages * resource.getpagesize() + _DATA_BYTES
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or most < hard:
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
