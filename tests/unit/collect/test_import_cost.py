"""Importing the published names loads next to nothing into the user's process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.unit.collect.recorded import SOURCES

HEAVY = {
    *("asyncio", "click", "distributed", "duckdb", "jinja2", "msgspec", "nanoarrow", "numpy", "psutil", "rich"),
    *("sqlalchemy", "sqlite3", "starlette", "torch", "uvicorn", "xlsxwriter"),
}
# Not heavy, but milliseconds each: what holds the import far below 20 ms.
MILLISECONDS = {"dataclasses", "inspect", "json", "logging", "pathlib", "typing"}


@pytest.mark.parametrize("module", ["ascend_sn", "ascend.profiler", "asc_tools.profiler"])
def test_the_import_stays_light(module: str) -> None:
    script = f"import sys, json; sys.path.insert(0, {SOURCES!r}); import {module}; import json; "
    script = script.replace("import sys, json", "import sys") + "print(json.dumps(before))"
    script = script.replace("import json; ", "before = sorted(sys.modules); import json; ")

    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True)

    loaded = set(json.loads(done.stdout))
    assert module in loaded
    assert loaded & (HEAVY | MILLISECONDS) == set()


def test_importing_has_no_effect_on_the_process() -> None:
    script = (
        f"import sys; sys.path.insert(0, {SOURCES!r}); import os, threading; before = dict(os.environ); "
        "import ascend.profiler; import logging; "
        "assert before == dict(os.environ); assert threading.active_count() == 1; "
        "assert not logging.getLogger().handlers"
    )

    subprocess.run([sys.executable, "-I", "-S", "-c", script], check=True)
