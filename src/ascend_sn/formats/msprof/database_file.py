"""The reader of a profiler database on its own: of msprof, torch_npu, MindSpore or msMonitor, whatever its name."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

from ascend_sn.formats.reader import Candidate, Reader, Source
from ascend_sn.formats.sqlite_columns import SQLITE_MAGIC
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import Ledger

__all__ = ["READER"]

_MONITOR = re.compile(r"^msmonitor_(?P<pid>\d+)_\d{17}_(?P<rank>-?\d+)\.db$")
_TABLES: Final = "select count(*) from sqlite_master where type = 'table' and name in ('TASK', 'STRING_IDS')"


def _claims(candidate: Candidate) -> bool:
    if candidate.is_folder or not candidate.head.startswith(SQLITE_MAGIC):
        return False
    uri = candidate.path.absolute().as_uri() + "?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            return bool(connection.execute(_TABLES).fetchone()[0] == 2)
    except sqlite3.Error:
        return False


def _members(path: Path) -> list[Path]:
    log = path.with_name(path.name + "-wal")
    return [path, log] if log.is_file() else [path]


def _read(source: Source) -> list[Capture]:
    # Loaded for such a file only: every input is shown to every reader.
    from ascend_sn.formats.msprof.coverage import coverage_of
    from ascend_sn.formats.msprof.database import read_database
    from ascend_sn.formats.msprof.layout import ProfFiles
    from ascend_sn.formats.torch_npu.captures import capture_of
    from ascend_sn.formats.torch_npu.coverage import coverage_of as torch_coverage_of
    from ascend_sn.formats.torch_npu.layout import RunInfo
    from ascend_sn.formats.torch_npu.limits import rank_of, whole

    ledger = Ledger()
    exports = read_database(source, source.path, ProfFiles(folder=source.path), ledger)
    named = _MONITOR.match(source.path.name)
    info = RunInfo() if named is None else RunInfo(rank=rank_of(named["rank"]), pid=whole(named["pid"]))
    captures: list[Capture] = []
    for export in exports:
        # Only the profiler of a framework writes operators.
        coverage = torch_coverage_of if len(export.tables["operator"]) else coverage_of
        told = Ledger() if captures else ledger
        captures.append(capture_of(source, info, export, told, tool="ascend", coverage=coverage))
    return captures


READER = Reader("ascend-database", _claims, _members, _read)
