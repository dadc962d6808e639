"""Rows to Parquet files and back to views, through DuckDB and Arrow buffers (no pyarrow)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import duckdb
import nanoarrow as na
import numpy as np
from duckdb import DuckDBPyConnection
from nanoarrow.c_array import CArray, c_array_from_buffers

from ascend_sn.errors import StoreError
from ascend_sn.model.rows import Bool, ColumnData, Nullable, Rows, Text
from ascend_sn.model.tables import ColumnType, Table

__all__ = ["create_view", "write_parquet"]

_ARROW: dict[ColumnType, Any] = {
    "int64": na.int64(),
    "int32": na.int32(),
    "float64": na.float64(),
    "text": na.int32(),
    "bool": na.bool_(),
}


def write_parquet(db: DuckDBPyConnection, rows: Rows, path: Path, *, rank: int | None) -> None:
    """Write rows of one profile to a Parquet file; `profile_id` is the folder's name, not a column.

    Texts travel as codes and are looked up by DuckDB, so that a million rows cost no million strings. Each
    dictionary is one list of which the codes are places: a join would cost half as much again as the writing.
    """
    table = rows.table
    children = [_arrow_column(rows.columns[column.name], column.type) for column in table.columns[2:]]
    fields = {column.name: _ARROW[column.type] for column in table.columns[2:]}
    encoded = na.Array(c_array_from_buffers(na.struct(fields), rows.length, [None], children=children))
    db.register("encoded", encoded)
    selected = [f"{'null' if rank is None else int(rank)}::integer as rank"]
    dictionaries = []
    for number, column in enumerate(table.columns[2:]):
        if column.type != "text":
            selected.append(f"encoded.{column.name}")
            continue
        texts = rows.text(column.name).values
        if not texts:
            selected.append(f"null::varchar as {column.name}")
            continue
        codes, values = np.arange(len(texts), dtype=np.int32), np.array(_encodable(texts), dtype=object)
        db.register(f"texts_{number}", {"code": codes, "value": values})
        selected.append(f"list_extract(listed_{number}.texts, encoded.{column.name} + 1) as {column.name}")
        dictionaries.append(f"(select list(value order by code) as texts from texts_{number}) as listed_{number}")
    query = f"select {', '.join(selected)} from {', '.join(['encoded', *dictionaries])}"
    path.parent.mkdir(parents=True, exist_ok=True)
    target = str(path).replace("'", "''")
    try:
        db.execute(f"copy ({query}) to '{target}' (format parquet, compression zstd)")
    except duckdb.IOException as error:
        raise StoreError(path, f"cannot be written: {str(error).splitlines()[0]}") from error
    db.unregister("encoded")
    for number, column in enumerate(table.columns[2:]):
        if column.type == "text" and rows.text(column.name).values:
            db.unregister(f"texts_{number}")


def create_view(db: DuckDBPyConnection, table: Table, files: list[Path], assumed_ranks: Collection[int] = ()) -> None:
    """Make `table` visible: a view over its Parquet files, or an empty one of the right types.

    The profile is read from the name of the file's own folder. Hive partitioning would take any `name=value`
    folder above it for a column too, and `rank=7/run/` would replace the rank that the file states.

    Args:
        db: Where the view is made.
        table: The table.
        files: Its Parquet files; none makes an empty view.
        assumed_ranks: Profiles whose files state no rank and that are shown as rank 0.
    """
    columns = [column.name for column in table.columns[2:]]
    if files:
        listed = ", ".join(_literal(path) for path in files)
        source = f"read_parquet([{listed}], hive_partitioning = false)"
        profile = "regexp_extract(filename, 'profile=(-?[0-9]+)/[^/]*$', 1)::integer"
        rank = "rank"
        if assumed_ranks:
            rank = f"case when {profile} in ({', '.join(map(str, assumed_ranks))}) then coalesce(rank, 0) else rank end"
        selected = ", ".join([f"{profile} as profile_id", f"{rank} as rank", *columns])
        db.execute(f"create view {table.name} as select {selected} from {source}")
        return
    typed = ", ".join(f"null::{column.duckdb_type} as {column.name}" for column in table.columns)
    db.execute(f"create view {table.name} as select {typed} where false")


def _encodable(texts: Sequence[str]) -> list[str]:
    """The texts; half surrogate pairs (JSON may spell them) become replacement marks, which UTF-8 can hold."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    return list(texts)


def _literal(path: Path) -> str:
    """A path as SQL text that `read_parquet` does not take for a pattern."""
    plain = "".join(f"[{character}]" if character in "[*?" else character for character in str(path))
    return "'" + plain.replace("'", "''") + "'"


def _arrow_column(data: ColumnData, type_: ColumnType) -> CArray:
    if isinstance(data, Text):
        return _primitive(data.codes.astype(np.int32, copy=False), na.int32(), data.codes >= 0)
    if isinstance(data, Nullable):
        return _primitive(data.values, _ARROW[type_], data.valid)
    return _primitive(data, _ARROW[type_], None)


def _primitive(values: Any, schema: Any, valid: Bool | None) -> CArray:
    length = len(values)
    buffer = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    if valid is None or bool(valid.all()):
        return c_array_from_buffers(schema, length, [None, buffer], null_count=0)
    mask = np.packbits(valid, bitorder="little")
    return c_array_from_buffers(schema, length, [mask, buffer], null_count=int(np.count_nonzero(~valid)))
