"""No query draws a progress bar on stdout, where a command writes its answer."""

from __future__ import annotations

import subprocess
import sys

import pytest

# As in a worker of a pool, no script runs here: DuckDB takes that for a person at a terminal.
ASKED = """
import duckdb
from ascend_sn.store.parquet import connected, quiet
db = {made}
print(*db.execute("select value from duckdb_settings() where name = 'enable_progress_bar'").fetchone())
"""


def bar_of(made: str) -> str:
    done = subprocess.run([sys.executable, "-c", ASKED.format(made=made)], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_without_a_script_the_database_would_draw_one() -> None:
    assert bar_of("duckdb.connect()") == "true"


@pytest.mark.parametrize("made", ["connected(10)", "connected(10_000_000)", "quiet(duckdb.connect())"])
def test_ours_do_not(made: str) -> None:
    assert bar_of(made) == "false"
