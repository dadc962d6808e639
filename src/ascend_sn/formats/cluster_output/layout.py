"""Which files a `cluster_analysis_output` folder holds; single files of it are known by their content."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ascend_sn.formats.sqlite_columns import SQLITE_MAGIC

__all__ = ["ClusterFiles", "cluster_files", "single_file"]

STEP_TRACE: Final = "cluster_step_trace_time.csv"
COMMUNICATION: Final = "cluster_communication.json"
MATRIX: Final = "cluster_communication_matrix.json"
GROUPS: Final = "communication_group.json"
DATABASE: Final = "cluster_analysis.db"

_TELLING: Final = (STEP_TRACE, COMMUNICATION, MATRIX, DATABASE)
_HEADER = re.compile(rb'^(\xef\xbb\xbf)?"?Step"?,"?Type"?,"?Index"?,"?Computing"?,')
_BY_RANKS = re.compile(rb'^(\xef\xbb\xbf)?\s*\{\s*"(\(\d|p2p)[^"]*"\s*:\s*\{\s*"step')


@dataclass(frozen=True)
class ClusterFiles:
    """Paths of the files that are there."""

    step_trace: Path | None = None
    communication: Path | None = None
    matrix: Path | None = None
    groups: Path | None = None
    database: Path | None = None

    @property
    def members(self) -> list[Path]:
        """Every file that is read, sorted."""
        found = [self.step_trace, self.communication, self.matrix, self.groups, self.database]
        if self.database is not None:
            log = self.database.with_name(self.database.name + "-wal")
            found.append(log if log.is_file() else None)
        return sorted(path for path in found if path is not None)


def cluster_files(folder: Path) -> ClusterFiles | None:
    """Return the files of a folder; None when it is no output of a cluster analysis."""
    if not any((folder / name).is_file() for name in _TELLING):
        return None
    step_trace, communication, matrix, groups, database = (
        path if (path := folder / name).is_file() else None
        for name in (STEP_TRACE, COMMUNICATION, MATRIX, GROUPS, DATABASE)
    )
    return ClusterFiles(step_trace, communication, matrix, groups, database)


def single_file(path: Path, head: bytes) -> ClusterFiles | None:
    """Return a file on its own, whatever its name; None when it is another thing.

    Args:
        path: The file.
        head: The first bytes of it.
    """
    if head.startswith(SQLITE_MAGIC):
        return ClusterFiles(database=path) if _has_cluster_tables(path) else None
    if _HEADER.match(head):
        return ClusterFiles(step_trace=path)
    if _BY_RANKS.match(head):
        if b'"Communication Time Info"' in head:
            return ClusterFiles(communication=path)
        if b'"Transport Type"' in head:
            return ClusterFiles(matrix=path)
    return None


def _has_cluster_tables(path: Path) -> bool:
    query = "select count(*) from sqlite_master where type = 'table' and name like 'Cluster%'"
    try:
        with closing(sqlite3.connect(path.absolute().as_uri() + "?mode=ro&immutable=1", uri=True)) as connection:
            return bool(connection.execute(query).fetchone()[0])
    except sqlite3.Error:
        return False
