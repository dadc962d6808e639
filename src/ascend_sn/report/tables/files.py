"""Every table of a run as a file of its own: CSV or Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

from ascend_sn.model.tables import TABLES, Table
from ascend_sn.store import Run

__all__ = ["write_tables"]

_FORMULA: Final = "^[=+@\\t\\r-]"


def write_tables(run: Run, folder: Path, file_format: Literal["csv", "parquet"]) -> list[Path]:
    """Write a file per table that has rows; in CSV the first line names the columns.

    In CSV a text that a spreadsheet would run as a formula gets a `'` before it.

    Returns:
        The files.
    """
    written = []
    for table in TABLES:
        if not run.sql(f"select 1 from {table.name} limit 1").fetchall():
            continue
        path = folder / f"{table.name}.{file_format}"
        target = str(path).replace("'", "''")
        if file_format == "csv":
            run.db.execute(f"copy (select {_harmless(table)} from {table.name}) to '{target}' (format csv, header)")
        else:
            run.db.execute(f"copy {table.name} to '{target}' (format parquet, compression zstd)")
        written.append(path)
    return written


def _harmless(table: Table) -> str:
    columns = []
    for column in table.columns:
        name = column.name
        is_text = column.type == "text"
        guarded = f"case when regexp_matches({name}, '{_FORMULA}') then '''' || {name} else {name} end as {name}"
        columns.append(guarded if is_text else name)
    return ", ".join(columns)
