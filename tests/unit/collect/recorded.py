"""Read what the recorder wrote, with nanoarrow and json alone: independent of the product's own reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import nanoarrow

import ascend_sn

SOURCES = str(Path(ascend_sn.__file__).parent.parent)


class Row(NamedTuple):
    kind: int
    thread: int
    name: str | None
    ts_ns: int
    dur_ns: int
    value: int
    ref: int

    @property
    def end_ns(self) -> int:
        return self.ts_ns + self.dur_ns


def names(folder: str | Path) -> dict[int, dict[str, Any]]:
    lines = Path(folder, "names.trace").read_bytes().splitlines()
    records = [json.loads(line) for line in lines]
    assert records[0] == {"format": "ascend-sn.names", "version": 1}
    return {record["id"]: record for record in records[1:]}


def rows(folder: str | Path, *kinds: int) -> list[Row]:
    """Every row, or those of some kinds, in file order."""
    texts = {number: record["text"] for number, record in names(folder).items()}
    found = []
    with nanoarrow.ArrayStream.from_path(Path(folder, "train.trace")) as stream:
        for batch in stream:
            for row in batch.iter_tuples():
                kind, thread, name_id, *rest = row
                if not kinds or kind in kinds:
                    found.append(Row(kind, thread, texts.get(name_id), *rest))
    return found


def metadata(folder: str | Path) -> dict[str, str]:
    with nanoarrow.ArrayStream.from_path(Path(folder, "train.trace")) as stream:
        return {key.decode(): value.decode() for key, value in stream.schema.metadata.items()}


def run_script(script: str, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own that sees the package and no launcher's variables."""
    return subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        env=script_environment(**environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


def script_environment(**environment: str) -> dict[str, str]:
    launchers = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_", "OMPI_", "PMI_", "DEVICE_ID")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(launchers)}
    return {**kept, "PYTHONPATH": SOURCES, **environment}
