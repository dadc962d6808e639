"""Every table of a run as a CSV file: `python -m ascend_sn.cli.table_files RUN FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from ascend_sn.model.tables import TABLES

__all__ = ["write_tables"]


def write_tables(source: Path, folder: Path) -> None:
    """Write a file per table that has rows; the first line names the columns."""
    from ascend_sn.store import open_run

    folder.mkdir(parents=True, exist_ok=True)
    with open_run(source) as run:
        for table in TABLES:
            rows = run.sql(f"select * from {table.name}")
            if rows.limit(1).fetchall():
                rows.write_csv(str(folder / f"{table.name}.csv"))


if __name__ == "__main__":
    write_tables(Path(sys.argv[1]), Path(sys.argv[2]))
