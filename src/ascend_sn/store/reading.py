"""Read one source into a folder of its own: what a worker does, on this machine or on another."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

import duckdb
import msgspec

from ascend_sn.derive import derive
from ascend_sn.errors import InputError
from ascend_sn.formats.reader import Source
from ascend_sn.model.capture import Capture
from ascend_sn.model.ledger import coverage_rows
from ascend_sn.model.manifest import ManifestProfile
from ascend_sn.model.rows import Rows
from ascend_sn.store.needed_columns import check_needed
from ascend_sn.store.parquet import connected, released, write_parquet
from ascend_sn.store.repeated_spans import REPEATING_PART, without_repeated
from ascend_sn.store.whole import sum_of

__all__ = ["ReadSource", "SourceRead", "read_source", "row_estimate"]

_BYTES_PER_ROW: Final = 100
"""Bytes of text that make a row, roughly; only to tell small inputs from large ones."""


class ReadSource(msgspec.Struct, frozen=True):
    """A source to read; another process understands it as well.

    Attributes:
        source: The source.
        key: Key of its files, see `fingerprint.source_key`.
        place: Folder for its tables, on a file system that all workers share.
        row_estimate: Rows that are expected of all sources; with few of them tables are small.
    """

    source: Source
    key: str
    place: Path
    row_estimate: int


class SourceRead(msgspec.Struct, frozen=True):
    """The profiles of a source, numbered from 0 in it, or why nothing of it is usable."""

    profiles: list[ManifestProfile]
    unusable: InputError | None = None


def row_estimate(size_bytes: int) -> int:
    """Return about how many rows an input of some bytes holds."""
    return size_bytes // _BYTES_PER_ROW


def read_source(task: ReadSource) -> SourceRead:
    """Read a source, derive, and write the tables of each of its profiles as `<table>/profile=<n>/part-*.parquet`.

    What an attempt before this one left in the place is removed first.

    Raises:
        StoreError: The tables cannot be written.
    """
    shutil.rmtree(task.place, ignore_errors=True)
    try:
        captures = task.source.reader.read(task.source)
        for capture in captures:
            check_needed(capture, task.source.path)
    except InputError as error:
        return SourceRead([], error)
    db = connected(task.row_estimate)
    profiles = [_write_capture(db, capture, task, number) for number, capture in enumerate(captures)]
    released(db, task.row_estimate)
    return SourceRead(profiles)


def _write_capture(db: duckdb.DuckDBPyConnection, capture: Capture, task: ReadSource, number: int) -> ManifestProfile:
    derive(capture)
    header = capture.header
    tables: dict[str, Rows] = {
        **capture.tables,
        "profile": header.rows(),
        "coverage": coverage_rows(capture.coverage),
        "damage": capture.ledger.rows(),
    }
    bare = without_repeated(tables)
    sums: dict[str, int] = {}
    for table_name, rows in tables.items():
        place = task.place / table_name / f"profile={number}"
        if table_name == "span" and bare is not None:
            write_parquet(db, bare, place / REPEATING_PART, rank=header.rank)
            sums[table_name] = sum_of(place / REPEATING_PART)
        elif rows.length:
            write_parquet(db, rows, place / "part-0.parquet", rank=header.rank)
            sums[table_name] = sum_of(place / "part-0.parquet")
    return ManifestProfile(
        profile_id=number,
        rank=header.rank,
        host=header.host,
        pid=header.pid,
        start_ns=header.start_ns,
        source=header.source,
        format=header.format,
        key=task.key,
        tables={table_name: rows.length for table_name, rows in tables.items() if rows.length},
        device_kind=header.device_kind,
        world_size=header.world_size,
        device_id=header.device_id,
        sums=sums,
    )
