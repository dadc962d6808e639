"""Rows to Parquet files and back to tables, through DuckDB and Arrow buffers (no pyarrow)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
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
from ascend_sn.store.repeated_spans import REPEATING_PART, with_repeated

__all__ = ["connected", "is_small", "quiet", "released", "show_table", "write_parquet"]

_SMALL_ROWS = 500_000
_SPARE: list[DuckDBPyConnection] = []
_FEW_TEXTS = 50_000

_FOR_LARGE_TABLES = (
    "aggregate_function_rewriter",
    "aggregate_reuse",
    "column_lifetime",
    "common_aggregate",
    "common_subexpressions",
    "common_subplan",
    "compressed_materialization",
    "cte_filter_pusher",
    "distinct_aggregate_rewrite",
    "duplicate_groups",
    "empty_result_pullup",
    "extension",
    "grouping_sets",
    "join_elimination",
    "join_filter_pushdown",
    "late_materialization",
    "materialized_cte",
    "outer_join_simplification",
    "partial_aggregate_pushdown",
    "partitioned_execution",
    "projection_placement",
    "projection_pullup",
    "redundant_order_keys",
    "regex_range",
    "remote_pushdown",
    "reorder_filter",
    "row_group_pruner",
    "sampling_pushdown",
    "scalar_fn_pushdown",
    "self_join_aggregate",
    "statistics_propagation",
    "top_n_window_elimination",
    "type_pushdown",
    "window_rewriter",
    "window_self_join",
)
"""Steps of DuckDB's optimizer that cost every query and gain nothing on small tables."""

# Version 2 keeps numbers as differences, so that ids take nothing and times a fifth less: a third less in all, and
# a fifth less CPU for writing and for reading.
_HOW = "format parquet, compression zstd, parquet_version v2"

_ARROW: dict[ColumnType, Any] = {
    "int64": na.int64(),
    "int32": na.int32(),
    "float64": na.float64(),
    "text": na.int32(),
    "bool": na.bool_(),
}


def is_small(row_count: int) -> bool:
    """Whether a run is held in memory as a whole, a few hundred bytes to the row."""
    return row_count < _SMALL_ROWS


def connected(row_count: int) -> DuckDBPyConnection:
    """Return a connection without tables, for small ones with one thread and without what only pays on large ones.

    Measured on one rank of a real capture (about 20,000 rows): handing out threads, and planning a query as if it
    ran for seconds, cost more than half of the CPU for writing and for analyses.
    """
    if not is_small(row_count):
        return quiet(duckdb.connect())
    return _SPARE.pop() if _SPARE else _for_small_tables()


def quiet(db: DuckDBPyConnection) -> DuckDBPyConnection:
    """Return a connection on which no query draws a progress bar.

    DuckDB takes a process that runs no script, such as a worker of a pool, for a person at a terminal, and draws one on
    stdout, in the middle of what a command writes there, where a query takes longer than two seconds.
    """
    # In a notebook without the package that draws bars there the setting is refused, and none is drawn.
    with suppress(duckdb.InvalidInputException):
        db.execute("set enable_progress_bar = false")
    return db


def released(db: DuckDBPyConnection, row_count: int) -> None:
    """Give a connection of `connected` back that holds no tables; making one costs as much as twenty queries."""
    if is_small(row_count) and not _SPARE:
        _SPARE.append(db)
    else:
        db.close()


def _for_small_tables() -> DuckDBPyConnection:
    try:
        return quiet(duckdb.connect(config={"threads": 1, "disabled_optimizers": ",".join(_FOR_LARGE_TABLES)}))
    except duckdb.Error:  # another version of DuckDB, without one of these steps
        return quiet(duckdb.connect(config={"threads": 1}))


def write_parquet(db: DuckDBPyConnection, rows: Rows, path: Path, *, rank: int | None) -> None:
    """Write rows of one profile to a Parquet file; `profile_id` is the folder's name, not a column.

    Texts travel as codes and are looked up by DuckDB, so that a million rows cost no million strings. Each
    dictionary is one list of which the codes are places: a join would cost half as much again as the writing.
    Texts that hardly repeat, and those of small tables, travel as they are: a list of them would cost more.

    Raises:
        StoreError: The file cannot be written.
    """
    children: dict[str, CArray] = {}
    fields: dict[str, Any] = {}
    selected = [f"{'null' if rank is None else int(rank)}::integer as rank"]
    sources, registered = ["encoded"], ["encoded"]
    for column in rows.table.columns[2:]:
        data = rows.columns[column.name]
        if _is_absent(data):
            selected.append(f"null::{column.duckdb_type} as {column.name}")
            continue
        if isinstance(data, Text) and _travels_as_codes(data):
            listed = f"texts_{column.name}"
            codes, values = np.arange(len(data.values), dtype=np.int32), np.array(_encodable(data.values), dtype=object)
            registered.append(listed)
            db.register(listed, {"code": codes, "value": values})
            selected.append(f"list_extract({listed}_list.texts, encoded.{column.name} + 1) as {column.name}")
            sources.append(f"(select list(value order by code) as texts from {listed}) as {listed}_list")
        else:
            selected.append(f"encoded.{column.name}")
        children[column.name], fields[column.name] = _arrow_column(data, column.type)
    if not fields:
        children["row"], fields["row"] = _primitive(np.zeros(rows.length, np.int8), na.int8(), None), na.int8()
    encoded = c_array_from_buffers(na.struct(fields), rows.length, [None], children=list(children.values()))
    db.register("encoded", na.Array(encoded))
    query = f"select {', '.join(selected)} from {', '.join(sources)}"
    path.parent.mkdir(parents=True, exist_ok=True)
    target = str(path).replace("'", "''")
    try:
        db.execute(f"copy ({query}) to '{target}' ({_HOW})")
    except duckdb.IOException as error:
        raise StoreError(path, f"cannot be written: {str(error).splitlines()[0]}") from error
    for name in registered:
        db.unregister(name)


def show_table(
    db: DuckDBPyConnection,
    table: Table,
    files: list[Path],
    assumed_ranks: Collection[int] = (),
    *,
    in_memory: bool = False,
) -> None:
    """Make `table` visible: a view over its Parquet files, or an empty one of the right types.

    The profile is read from the name of the file's own folder. Hive partitioning would take any `name=value`
    folder above it for a column too, and `rank=7/run/` would replace the rank that the file states.

    Args:
        db: Where the view is made.
        table: The table.
        files: Its Parquet files; none makes an empty view.
        assumed_ranks: Profiles whose files state no rank and that are shown as rank 0.
        in_memory: Read the files now, once, instead of with every query.
    """
    columns = [column.name for column in table.columns[2:]]
    if files:
        profile = "regexp_extract(filename, 'profile=(-?[0-9]+)/[^/]*$', 1)::integer"
        rank = "rank"
        if assumed_ranks:
            rank = f"case when {profile} in ({', '.join(map(str, assumed_ranks))}) then coalesce(rank, 0) else rank end"
        selected = ", ".join([f"{profile} as profile_id", f"{rank} as rank", *columns])

        def rows_of(chosen: list[Path]) -> str:
            listed = ", ".join(_literal(path) for path in chosen)
            return f"select {selected} from read_parquet([{listed}], hive_partitioning = false)"

        whole = [path for path in files if path.name != REPEATING_PART]
        bare = [path for path in files if path.name == REPEATING_PART]
        queries = [*([rows_of(whole)] if whole else []), *([with_repeated(rows_of(bare))] if bare else [])]
        kind = "table" if in_memory else "view"
        db.execute(f"create {kind} {table.name} as {' union all '.join(f'({query})' for query in queries)}")
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


def _is_absent(data: ColumnData) -> bool:
    """Whether every row is null."""
    if isinstance(data, Text):
        return not len(data.values)
    return isinstance(data, Nullable) and not bool(data.valid.any())


def _travels_as_codes(text: Text) -> bool:
    return len(text) >= _FEW_TEXTS and len(text.values) * 2 <= len(text)


def _arrow_column(data: ColumnData, type_: ColumnType) -> tuple[CArray, Any]:
    """Return a column and its Arrow type; texts that repeat as codes."""
    schema = _ARROW[type_]
    if isinstance(data, Text):
        if not _travels_as_codes(data):
            return _texts(data), na.large_string()
        return _primitive(data.codes.astype(np.int32, copy=False), schema, data.codes >= 0), schema
    if isinstance(data, Nullable):
        return _primitive(data.values, schema, data.valid), schema
    return _primitive(data, schema, None), schema


def _texts(data: Text) -> CArray:
    values = [value.encode() for value in _encodable(data.values)] + [b""]  # the last one stands for null, code -1
    offsets = np.zeros(len(data) + 1, np.int64)
    np.cumsum(np.array([len(value) for value in values])[data.codes], out=offsets[1:])
    joined = b"".join([values[code] for code in data.codes.tolist()])
    valid = data.codes >= 0
    mask = None if bool(valid.all()) else np.packbits(valid, bitorder="little")
    buffers = [mask, offsets, joined]
    return c_array_from_buffers(na.large_string(), len(data), buffers, null_count=int(np.count_nonzero(~valid)))


def _primitive(values: Any, schema: Any, valid: Bool | None) -> CArray:
    length = len(values)
    buffer = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    if valid is None or bool(valid.all()):
        return c_array_from_buffers(schema, length, [None, buffer], null_count=0)
    mask = np.packbits(valid, bitorder="little")
    return c_array_from_buffers(schema, length, [mask, buffer], null_count=int(np.count_nonzero(~valid)))
