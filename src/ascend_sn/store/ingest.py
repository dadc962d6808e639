"""Build a run folder: read every source, derive, write Parquet per table and profile, write the manifest."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping
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
from ascend_sn.store.jobs import name_jobs
from ascend_sn.store.parquet import connected, released, write_parquet
from ascend_sn.store.repeated_spans import REPEATING_PART, without_repeated

__all__ = ["WHOLE_INPUT", "Earlier", "Progress", "build_run"]

_BYTES_PER_ROW = 100
"""Bytes of text that make a row, roughly; only to tell small inputs from large ones."""

_ASSUMED_PART = "part-assumed.parquet"
WHOLE_INPUT = -1
"""`profile_id` of damage that belongs to no profile but to the input as a whole."""

Progress = Callable[[int, int, str], None]
"""Called with sources done, sources in all, and the name of the one being read."""


Earlier = Mapping[str, list[tuple[Path, ManifestProfile]]]
"""Profiles of earlier states of the same input by source key, each with the run folder it lies in."""


class _Written(msgspec.Struct, frozen=True):
    """A profile on disk, before the profiles are numbered."""

    folder_name: str
    profile: ManifestProfile

    @property
    def order(self) -> tuple[bool, int, str, int, int, str]:
        profile = self.profile
        return (
            profile.rank is None,
            profile.rank or 0,
            profile.host or "",
            profile.pid or 0,
            profile.start_ns or 0,
            profile.source,
        )


def build_run(
    found: Discovery,
    files: list[list[ManifestSource]],
    folder: Path,
    *,
    input_name: str,
    earlier: Earlier | None = None,
    progress: Progress | None = None,
) -> Manifest:
    """Read all sources and fill `folder` (which must be empty) with the run.

    A source that cannot be used at all becomes a row of the damage table as long as another one can. Sources
    that did not change since an earlier state of the input are not read again.

    Raises:
        InputError: No source is usable; the first reason is raised.
    """
    row_estimate = sum(file.size_bytes for parts in files for file in parts) // _BYTES_PER_ROW
    db = connected(row_estimate)
    ledger = Ledger()
    written: list[_Written] = []
    failures: list[InputError] = []
    for number, (source, parts) in enumerate(zip(found.sources, files, strict=True)):
        if progress is not None:
            progress(number, len(found.sources), source.name)
        key = source_key(source, parts)
        known = (earlier or {}).get(key, [])
        if known:
            written.extend(
                _link_earlier(run, profile, folder, len(written) + i) for i, (run, profile) in enumerate(known)
            )
            continue
        try:
            captures = source.reader.read(source)
        except InputError as error:
            failures.append(error)
            ledger.add(source.name, "unreadable", example=error.problem)
            continue
        written.extend(_write_capture(db, capture, folder, len(written) + i, key) for i, capture in enumerate(captures))
    if not written:
        raise failures[0] if failures else FormatError(found.root, "nothing usable was found")
    _note_foreign(found, input_name, ledger)
    profiles = _number_profiles(written, folder)
    _note_assumed_ranks(db, profiles, folder)
    counts = {name: sum(profile.tables.get(name, 0) for profile in profiles) for name in BY_NAME}
    if ledger.entries:
        write_parquet(db, ledger.rows(), folder / "damage" / f"profile={WHOLE_INPUT}" / "part-0.parquet", rank=None)
        counts["damage"] += len(ledger.entries)
    released(db, row_estimate)
    manifest = Manifest(
        format=RUN_FORMAT,
        version=RUN_VERSION,
        tool_version=__version__,
        reader_version=READER_VERSION,
        input=input_name,
        input_bytes=sum(file.size_bytes for parts in files for file in parts),
        sources=[file for parts in files for file in parts],
        profiles=profiles,
        tables=counts,
    )
    _write_durably(folder / MANIFEST_NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    return manifest


def _write_capture(db: duckdb.DuckDBPyConnection, capture: Capture, folder: Path, number: int, key: str) -> _Written:
    derive(capture)
    header = capture.header
    tables: dict[str, Rows] = {
        **capture.tables,
        "profile": header.rows(),
        "coverage": coverage_rows(capture.coverage),
        "damage": capture.ledger.rows(),
    }
    name = _new_name(number)
    bare = without_repeated(tables)
    for table_name, rows in tables.items():
        if table_name == "span" and bare is not None:
            write_parquet(db, bare, folder / table_name / name / REPEATING_PART, rank=header.rank)
        elif rows.length:
            write_parquet(db, rows, folder / table_name / name / "part-0.parquet", rank=header.rank)
    profile = ManifestProfile(
        profile_id=number,
        rank=header.rank,
        host=header.host,
        pid=header.pid,
        start_ns=header.start_ns,
        source=header.source,
        format=header.format,
        key=key,
        tables={table_name: rows.length for table_name, rows in tables.items() if rows.length},
        device_kind=header.device_kind,
        world_size=header.world_size,
        device_id=header.device_id,
    )
    return _Written(name, profile)


def _link_earlier(run: Path, profile: ManifestProfile, folder: Path, number: int) -> _Written:
    """Take over the files of an unchanged profile; they are never written again, so hard links do."""
    name = _new_name(number)
    for table_name in profile.tables:
        target = folder / table_name / name
        target.mkdir(parents=True)
        for part in (run / table_name / f"profile={profile.profile_id}").iterdir():
            if part.name != _ASSUMED_PART:
                os.link(part, target / part.name)
    rank = None if profile.rank_assumed else profile.rank
    return _Written(name, msgspec.structs.replace(profile, rank=rank, rank_assumed=False, job=""))


def _new_name(number: int) -> str:
    return f"profile=new{number}"


def _number_profiles(written: list[_Written], folder: Path) -> list[ManifestProfile]:
    """Number the profiles densely by rank, host, process and start; ids live in folder names only."""
    profiles = []
    for profile_id, item in enumerate(sorted(written, key=lambda item: item.order)):
        for table_name in item.profile.tables:
            (folder / table_name / item.folder_name).rename(folder / table_name / f"profile={profile_id}")
        profiles.append(msgspec.structs.replace(item.profile, profile_id=profile_id))
    jobs = name_jobs(profiles)
    members = Counter(jobs.values())
    ranked = {Path(profile.source).parent for profile in profiles if profile.rank is not None}
    named = []
    for profile in profiles:
        job = jobs[profile.profile_id]
        alone = profile.rank is None and members[job] == 1 and Path(profile.source).parent not in ranked
        changes = {"rank": 0, "rank_assumed": True} if alone else {}
        named.append(msgspec.structs.replace(profile, job=job, **changes))
    return named


def _note_assumed_ranks(db: duckdb.DuckDBPyConnection, profiles: list[ManifestProfile], folder: Path) -> None:
    """Say in the ledger of each profile that stands alone without a rank what was assumed."""
    for profile in profiles:
        if profile.rank_assumed:
            ledger = Ledger()
            ledger.add(profile.source, "no_rank", severity="info", example="names no rank; taken as rank 0 of one rank")
            place = folder / "damage" / f"profile={profile.profile_id}" / _ASSUMED_PART
            write_parquet(db, ledger.rows(), place, rank=None)


def _note_foreign(found: Discovery, input_name: str, ledger: Ledger) -> None:
    for name, reason in found.unreadable:
        ledger.add(name, "unreadable", example=reason)
    if found.foreign:
        names = ", ".join(found.foreign[:3])
        ledger.add(
            input_name,
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
