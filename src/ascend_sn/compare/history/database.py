"""A connection to the history: an SQLite file, or PostgreSQL; its password is never shown."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from ascend_sn.compare.history.schema import MIGRATIONS, upgrade, version_of
from ascend_sn.errors import HistoryError, NoBaselineError, UsageError

__all__ = ["Database"]

_PATIENCE_S: Final = 60
"""How long a writer of an SQLite file waits for another one."""

_LONGEST: Final = 64 << 20
"""Bytes of one value; the packed figures of a large run are some hundred thousand."""

_CONNECT_S: Final = 15
_WRITES: Final = "ascend_sn_writes"
_SERVERS: Final = ("postgresql", "postgres", "postgresql+psycopg")


class Database:
    """One history; `close` it.

    Attributes:
        where: Its file or URL, without password.
    """

    def __init__(self, place: str) -> None:
        """Name a database; nothing is opened yet.

        Args:
            place: A file, `sqlite:///FILE`, or `postgresql://USER:PASSWORD@HOST/DATABASE`.

        Raises:
            UsageError: It names no database of these kinds.
            HistoryError: The driver is not installed.
        """
        url = _url_of(place)
        self._file = Path(url.database or "") if url.drivername == "sqlite" else None
        self._password = url.password
        shown = url.set(drivername="postgresql").render_as_string(hide_password=True)
        self.where = str(self._file) if self._file is not None else shown
        self._engine = self._engine_of(url)
        self._is_ready = False

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            NoBaselineError: The database holds no history.
            HistoryError: It cannot be reached or read.
        """
        if self._file is not None and not self._file.is_file():
            raise NoBaselineError(self.where, "there is no history yet; `ascend-sn history record RUN` begins one")
        with self._told("read"):
            with self._engine.connect() as connection:
                found = version_of(connection)
            if found == 0:
                raise NoBaselineError(self.where, "holds no history; `ascend-sn history record RUN` begins one")
            self._make_ready()
            with self._engine.connect() as connection:
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that may write; writers at the same time wait for each other.

        Raises:
            HistoryError: The database cannot be reached or written.
        """
        with self._told("written"):
            if self._file is not None:
                self._file.parent.mkdir(parents=True, exist_ok=True)
            self._make_ready()
            with self._transaction() as connection:
                yield connection

    def close(self) -> None:
        """Let go of the connections."""
        self._engine.dispose()

    def _make_ready(self) -> None:
        """Make the tables, or bring them to this version."""
        if not self._is_ready:
            with self._engine.connect() as connection:
                is_current = version_of(connection) == len(MIGRATIONS)
            if not is_current:
                with self._transaction() as connection:
                    upgrade(connection, self.where)
            self._is_ready = True

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        with self._engine.execution_options(**{_WRITES: True}).begin() as connection:
            yield connection

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HistoryError(self.where, f"cannot be {what}: {error.strerror}") from error
        except SQLAlchemyError as error:
            cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
            said = next(iter(str(cause).strip().splitlines()), type(cause).__name__)
            if self._password:
                said = said.replace(str(self._password), "***")
            # The statement and its values are left out: they are long, and say nothing to a user.
            raise HistoryError(self.where, f"cannot be {what}: {said}") from None

    def _engine_of(self, url: URL) -> Engine:
        if self._file is not None:
            engine = create_engine(url, connect_args={"timeout": _PATIENCE_S})
            event.listen(engine, "connect", _by_hand)
            event.listen(engine, "begin", _begin)
            return engine
        try:
            return create_engine(url, connect_args={"connect_timeout": _CONNECT_S})
        except ModuleNotFoundError as error:
            raise HistoryError(
                self.where, "the driver of PostgreSQL is not installed: pip install 'ascend-sn[postgres]'"
            ) from error


def _url_of(place: str) -> URL:
    if "://" not in place:
        return URL.create("sqlite", database=str(Path(place).expanduser()))
    try:
        url = make_url(place)
    except ArgumentError:
        raise UsageError("the history's URL cannot be understood: write postgresql://USER@HOST/DATABASE") from None
    if url.drivername in _SERVERS:
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "sqlite" and url.database and not url.query:
        return URL.create("sqlite", database=str(Path(url.database).expanduser()))
    raise UsageError(f"a history of kind {url.drivername!r} is not known: use a file, sqlite:///FILE or postgresql://")


def _by_hand(connection: sqlite3.Connection, _record: object) -> None:
    """Leave transactions to us: the driver would begin them late, and two writers could then fail each other."""
    connection.isolation_level = None
    # A damaged or hostile file can work out a value of any length.
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("begin immediate" if writes else "begin")
