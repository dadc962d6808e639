"""The tables of the history, and how a database of an earlier version becomes one of this version.

A change of the tables is one more function at the end of `MIGRATIONS` and a stored database of the version before it
in the tests; earlier functions are not edited.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    insert,
    inspect,
    select,
    text,
    update,
)

from ascend_sn.errors import HistoryVersionError

__all__ = ["MIGRATIONS", "RUN", "VALUE", "upgrade", "version_of"]

Migration = Callable[[Connection], None]

_METADATA: Final = MetaData()
_VERSION: Final = Table("ascend_sn_history", _METADATA, Column("version", Integer, nullable=False))

RUN: Final = Table(
    "ascend_sn_run",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("series", String(200), nullable=False),
    Column("identity", String(64), nullable=False),
    Column("recorded_ns", BigInteger, nullable=False),
    Column("name", Text, nullable=False),
    Column("revision", Text),
    Column("branch", Text),
    Column("note", Text),
    Column("verdict", String(20)),
    Column("pinned", Boolean, nullable=False),
    Column("setup", Text, nullable=False),
    Column("tool_version", Text, nullable=False),
    Column("figures_version", Integer, nullable=False),
    Column("figures", LargeBinary, nullable=False),
)
VALUE: Final = Table(
    "ascend_sn_value",
    _METADATA,
    Column("run_id", Integer, primary_key=True),
    Column("metric", String(40), primary_key=True),
    Column("value", Double, nullable=False),
)

_LOCK: Final = 0x617363656E64
"""Of PostgreSQL: whoever makes or changes the tables holds it, so that two at once make them once."""


def upgrade(connection: Connection, where: str, migrations: Sequence[Migration] | None = None) -> None:
    """Bring the tables to the newest version, within the caller's transaction; make them where there are none.

    Args:
        connection: In a transaction that may write.
        where: What to call the database in what is said.
        migrations: One function for each version; default those of this version of ascend-sn.

    Raises:
        HistoryVersionError: The database is of a newer version.
    """
    steps = MIGRATIONS if migrations is None else migrations
    if connection.dialect.name == "postgresql":
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
    version = version_of(connection)
    if version > len(steps):
        raise HistoryVersionError(where, version, len(steps))
    if version == len(steps):
        return
    if version == 0:
        _VERSION.create(connection, checkfirst=True)
        connection.execute(insert(_VERSION).values(version=0))
    for step in steps[version:]:
        step(connection)
    connection.execute(update(_VERSION).values(version=len(steps)))


def version_of(connection: Connection) -> int:
    """Return the version of the tables; 0 where there are none."""
    if not inspect(connection).has_table(_VERSION.name):
        return 0
    return connection.execute(select(_VERSION.c.version)).scalar() or 0


def _first_tables(connection: Connection) -> None:
    """Version 1: the runs with their figures, and the value of each metric for the trend."""
    tables = MetaData()
    run = Table(
        "ascend_sn_run",
        tables,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("series", String(200), nullable=False),
        Column("identity", String(64), nullable=False),
        Column("recorded_ns", BigInteger, nullable=False),
        Column("name", Text, nullable=False),
        Column("revision", Text),
        Column("branch", Text),
        Column("note", Text),
        Column("verdict", String(20)),
        Column("pinned", Boolean, nullable=False),
        Column("setup", Text, nullable=False),
        Column("tool_version", Text, nullable=False),
        Column("figures_version", Integer, nullable=False),
        Column("figures", LargeBinary, nullable=False),
        UniqueConstraint("series", "identity", name="ascend_sn_run_once"),
        sqlite_autoincrement=True,
    )
    Index("ascend_sn_run_series", run.c.series, run.c.id)
    Table(
        "ascend_sn_value",
        tables,
        Column("run_id", Integer, ForeignKey("ascend_sn_run.id"), primary_key=True),
        Column("metric", String(40), primary_key=True),
        Column("value", Double, nullable=False),
    )
    tables.create_all(connection, checkfirst=False)


MIGRATIONS: Final[tuple[Migration, ...]] = (_first_tables,)
