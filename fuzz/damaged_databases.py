"""Damages of a SQLite database: of its tables and columns, of single values, and of its pages."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from fuzz.mutate import overwrite

__all__ = ["database_damages"]

_VALUES: Final = {
    "text": "'x7'",
    "huge": "'" + "9" * 40 + "'",
    "Infinity": "9e999",
    "blob": "x'ff00ff'",
    "no UTF-8": "cast(x'41ff42' as text)",
    "NUL in text": "cast(x'410042' as text)",
}
_LONG_TEXT: Final = 600_000_000
"""Characters of a computed value: more than any name has, and a file of a few pages holds it."""


def database_damages(content: bytes) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """Yield kind and place of damaged copies, and what makes them: many are left out where little time is."""
    for page in range(len(content) // 4096):
        for kind, filling in (("zeros", b"\x00"), ("ones", b"\xff")):
            damaged = content[: page * 4096] + filling * 4096 + content[(page + 1) * 4096 :]
            yield f"page of {kind}", f"page {page + 1}", partial(bytes, damaged)
    for turn in range(100):
        yield "overwritten", f"turn {turn}", partial(overwrite, content, random.Random(turn))
    for at, name in ((16, "page size"), (18, "write version"), (28, "page count"), (44, "schema"), (56, "encoding")):
        yield "odd header", name, partial(bytes, content[:at] + b"\x00\x03" + content[at + 2 :])
    for table, columns in _tables(content).items():
        yield "missing table", table, partial(_changed, content, f"drop table {table}")
        yield (
            "view for table",
            table,
            partial(
                _changed, content, f"alter table {table} rename to kept", f"create view {table} as select * from kept"
            ),
        )
        if table != "STRING_IDS" and len(columns) > 1:
            computed = ", ".join((*columns[1:], f"{columns[0]} as (hex(zeroblob({_LONG_TEXT // 2})))"))
            listed = ", ".join(columns[1:])
            yield (
                "computed value",
                f"{table}.{columns[0]}",
                partial(
                    _changed,
                    content,
                    f"alter table {table} rename to kept",
                    f"create table {table} ({computed})",
                    f"insert into {table} ({listed}) select {listed} from kept" if listed else "select 1",
                ),
            )
        for column in columns:
            yield (
                "renamed column",
                f"{table}.{column}",
                partial(
                    _changed, content, f"alter table {table} rename column {column} to odd_{column.strip(chr(34))}"
                ),
            )
            for kind, value in _VALUES.items():
                yield (
                    f"{kind} as value",
                    f"{table}.{column}",
                    partial(
                        _changed,
                        content,
                        f"update or ignore {table} set {column} = {value} "
                        f"where rowid = 1 and typeof({column}) = 'integer' and {column} is not rowid",
                    ),
                )


def _tables(content: bytes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}

    def look(connection: sqlite3.Connection) -> None:
        query = "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'"
        for (table,) in connection.execute(query).fetchall():
            found[table] = [f'"{row[1]}"' for row in connection.execute(f"pragma table_info({table})")]

    _on_copy(content, look)
    return found


def _changed(content: bytes, *statements: str) -> bytes:
    def change(connection: sqlite3.Connection) -> None:
        for statement in statements:
            connection.execute(statement)
        connection.commit()

    return _on_copy(content, change)


def _on_copy(content: bytes, act: Callable[[sqlite3.Connection], None]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "copy.db"
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma synchronous = off")
            act(connection)
        return path.read_bytes()
