"""Build a run folder: read every source, derive, write Parquet per table and profile, write the manifest."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import msgspec

from ascend_sn._version import __version__
from ascend_sn.derive import derive
from ascend_sn.errors import FormatError, InputError
from ascend_sn.formats.discover import Discovery
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import Ledger, coverage_rows
from ascend_sn.model.manifest import (
    MANIFEST_NAME,
    RUN_FORMAT,
    RUN_VERSION,
    Manifest,
    ManifestProfile,
    ManifestSource,
)
from ascend_sn.model.rows import Rows
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store.fingerprint import READER_VERSION, source_key
from ascend_sn.store.parquet import write_parquet

__all__ = ["WHOLE_INPUT", "Progress", "build_run"]

WHOLE_INPUT = -1
"""`profile_id` of damage that belongs to no profile but to the input as a whole."""

Progress = Callable[[int, int, str], None]
"""Called with sources done, sources in all, and the name of the one being read."""

logger = logging.getLogger(__name__)


@dataclass
class _Written:
    """A profile on disk, before the profiles are numbered."""

    folder_name: str
    order: tuple[bool, int, str, int, int, str]
    rank: int | None
    source: str
    format: str
    key: str
    counts: dict[str, int]


def build_run(
    found: Discovery,
    files: list[list[ManifestSource]],
    folder: Path,
    *,
    progress: Progress | None = None,
) -> Manifest:
    """Read all sources and fill `folder` (which must be empty) with the run.

    A source that cannot be used at all becomes a row of the damage table as long as another one can.

    Raises:
        InputError: No source is usable; the first reason is raised.
    """
    db = duckdb.connect()
    ledger = Ledger()
    written: list[_Written] = []
    failures: list[InputError] = []
    for number, (source, parts) in enumerate(zip(found.sources, files, strict=True)):
        if progress is not None:
            progress(number, len(found.sources), source.name)
        try:
            captures = source.reader.read(source)
        except InputError as error:
            failures.append(error)
            ledger.add(source.name, "unreadable", example=error.problem)
            continue
        lone = len(found.sources) == 1 and len(captures) == 1
        key = source_key(source, parts)
        written.extend(
            _write_capture(db, capture, folder, len(written) + i, lone, key) for i, capture in enumerate(captures)
        )
    if not written:
        raise failures[0] if failures else FormatError(found.root, "nothing usable was found")
    _note_foreign(found, ledger)
    profiles = _number_profiles(written, folder)
    counts = {name: sum(item.counts.get(name, 0) for item in written) for name in BY_NAME}
    if ledger.entries:
        write_parquet(db, ledger.rows(), folder / "damage" / f"profile={WHOLE_INPUT}" / "part-0.parquet", rank=None)
        counts["damage"] += len(ledger.entries)
    manifest = Manifest(
        format=RUN_FORMAT,
        version=RUN_VERSION,
        tool_version=__version__,
        reader_version=READER_VERSION,
        input=found.root.name or str(found.root),
        input_bytes=sum(file.size_bytes for parts in files for file in parts),
        sources=[file for parts in files for file in parts],
        profiles=profiles,
        tables=counts,
    )
    _write_durably(folder / MANIFEST_NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    return manifest


def _write_capture(
    db: duckdb.DuckDBPyConnection, capture: Capture, folder: Path, number: int, lone: bool, key: str
) -> _Written:
    derive(capture)
    header = capture.header
    rank = header.rank
    if rank is None and lone:
        rank = 0
        capture.ledger.add(
            header.source,
            "no_rank",
            severity="info",
            example="the capture names no rank; taken as rank 0 of one rank",
        )
    tables: dict[str, Rows] = {
        **capture.tables,
        "profile": header.rows(),
        "coverage": coverage_rows(capture.coverage),
        "damage": capture.ledger.rows(),
    }
    name = f"profile=new{number}"
    for table_name, rows in tables.items():
        if rows.length:
            write_parquet(db, rows, folder / table_name / name / "part-0.parquet", rank=rank)
    order = (
        rank is None,
        rank or 0,
        header.host or "",
        header.pid or 0,
        header.start_ns or 0,
        header.source,
    )
    counts = {table_name: rows.length for table_name, rows in tables.items()}
    return _Written(name, order, rank, header.source, header.format, key, counts)


def _number_profiles(written: list[_Written], folder: Path) -> list[ManifestProfile]:
    """Number the profiles densely by rank, host, process and start; ids live in folder names only."""
    profiles = []
    for profile_id, item in enumerate(sorted(written, key=lambda item: item.order)):
        for table_name, count in item.counts.items():
            if count:
                (folder / table_name / item.folder_name).rename(folder / table_name / f"profile={profile_id}")
        profiles.append(ManifestProfile(profile_id, item.rank, item.source, item.format, item.key))
    return profiles


def _note_foreign(found: Discovery, ledger: Ledger) -> None:
    if found.foreign:
        names = ", ".join(found.foreign[:3])
        ledger.add(
            found.root.name,
            "foreign_files",
            count=len(found.foreign),
            severity="info",
            example=f"files that belong to no profile, left alone: {names}",
        )


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def remove_folder(folder: Path) -> None:
    """Remove a half-built run folder; failure to do so is only logged."""
    shutil.rmtree(folder, onerror=lambda _f, path, info: logger.warning("cannot remove %s: %s", path, info[1]))
