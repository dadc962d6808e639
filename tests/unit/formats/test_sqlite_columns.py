from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ascend_sn.errors import FormatError
from ascend_sn.formats.sqlite_columns import is_sqlite, open_database, sqlite_integers, sqlite_reals
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.rows import Nullable


def write(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


def plain(numbers: Nullable) -> list[Any]:
    pairs = zip(numbers.values.tolist(), numbers.valid.tolist(), strict=True)
    return [value if ok else None for value, ok in pairs]


def test_columns_by_name_and_absent_ones_as_none(tmp_path: Path) -> None:
    path = write(tmp_path / "a.dat", "create table T (b, a)", "insert into T values (2, 1), (4, 3)")

    with open_database(path, "a.dat", Ledger()) as database:
        found = database.read("T", "a", "c", "b")
        absent = database.read("U", "a")

    assert {name: list(values) for name, values in found.items()} == {"a": [1, 3], "c": [None, None], "b": [2, 4]}
    assert absent == {"a": []}
    assert is_sqlite(path)


def test_texts_by_id_are_one_however_often_they_have_an_id(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.db",
        "create table STRING_IDS (id, value)",
        "insert into STRING_IDS values (0, 'x'), (7, 'y'), (9, 'x'), ('odd', 'z'), (11, null)",
    )

    with open_database(path, "a.db", Ledger()) as database:
        text = database.texts([9, 0, 7, 4294967295, None])
        none = database.texts([])

    assert text.decode() == ["x", "x", "y", None, None]
    assert list(text.values) == ["x", "y"]
    assert none.decode() == []


def test_names_of_an_enumeration_and_without_it(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.db",
        "create table ENUM (id, name)",
        "insert into ENUM values (3, 'FP16')",
        "create table STRING_IDS (id, value)",
        "insert into STRING_IDS values (3, 'old way')",
    )

    with open_database(path, "a.db", Ledger()) as database:
        assert database.names("ENUM", [3, 4]).decode() == ["FP16", None]
        assert database.names("GONE", [3, 4]).decode() == ["old way", None]


def test_whole_numbers_of_any_storage_class() -> None:
    assert plain(sqlite_integers([1, 2])) == [1, 2]
    assert plain(sqlite_integers([1, None, "1736410576389878870", " 5 ", 2.0, 2.5, "x", b"1", 1 << 63])) == [
        *(1, None, 1736410576389878870, 5, 2, None, None, None, None)
    ]
    assert plain(sqlite_integers([])) == []


def test_reals() -> None:
    assert plain(sqlite_reals([1, 2.5, None, "x"])) == [1.0, 2.5, None, None]


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0", b"SQLite format 3\0" + b"\1" * 5000, b"no database"])
def test_what_is_no_database_is_a_format_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(content)

    with pytest.raises(FormatError, match="SQLite database"), open_database(path, "a.db", Ledger()) as database:
        database.read("T", "a")


def test_only_tables_are_read_and_names_are_quoted(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.db",
        'create table "odd ""name" ("select" integer)',
        'insert into "odd ""name" values (5)',
        "create view V as select 1 as a",
    )

    with open_database(path, "a.db", Ledger()) as database:
        assert not database.has("V")
        assert list(database.read('odd "name', "select")["select"]) == [5]


def test_the_input_is_not_written_to(tmp_path: Path) -> None:
    path = write(tmp_path / "a.db", "create table T (a)")

    with open_database(path, "a.db", Ledger()) as database, pytest.raises(sqlite3.OperationalError, match="readonly"):
        database.connection.execute("insert into T values (1)")

    assert [child.name for child in tmp_path.iterdir()] == ["a.db"]


def test_a_schema_with_bytes_that_are_no_text_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "made.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table measured_rows (id integer)")
        connection.commit()
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE measured_rows", b"CREATE \x94ABLE measured_rows"))

    with pytest.raises(FormatError, match="damaged schema"), open_database(path, "made.db", Ledger()):
        pass
