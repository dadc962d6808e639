"""Profiles on disk become a run: numbered, their tables moved together, a manifest written."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import duckdb
import msgspec

from ascend_sn._version import __version__
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.manifest import (
    MANIFEST_NAME,
    RUN_FORMAT,
    RUN_VERSION,
    Manifest,
    ManifestLost,
    ManifestProfile,
    ManifestSource,
)
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store.fingerprint import READER_VERSION
from ascend_sn.store.jobs import name_jobs
from ascend_sn.store.parquet import connected, released, write_parquet
from ascend_sn.store.reading import row_estimate
from ascend_sn.store.sealed import sealed_object
from ascend_sn.store.whole import ASSUMED_PART

__all__ = ["READING", "WHOLE_INPUT", "Written", "finish_run", "link_or_copy", "take_over"]

READING: Final = ".reading"
"""Folder of a run that is built in which sources are read, each to a place of its own."""

WHOLE_INPUT: Final = -1
"""`profile_id` of damage that belongs to no profile but to the input as a whole."""


class Written(msgspec.Struct, frozen=True):
    """A profile on disk, before the profiles are numbered: its tables lie at `<place>/<table>/<folder_name>`."""

    place: Path
    folder_name: str
    profile: ManifestProfile

    @property
    def order(self) -> tuple[bool, int, str, int, int, str]:
        """What profiles are numbered by."""
        profile = self.profile
        return (
            profile.rank is None,
            profile.rank or 0,
            profile.host or "",
            profile.pid or 0,
            profile.start_ns or 0,
            profile.source,
        )


def finish_run(
    folder: Path,
    written: Sequence[Written],
    ledger: Ledger,
    *,
    input_name: str,
    sources: list[ManifestSource],
    lost: list[ManifestLost],
) -> Manifest:
    """Number the profiles, move their tables to where they belong, and write what concerns the run as a whole.

    Args:
        folder: The run folder; the places of `written` lie in it, below `READING`, which is removed.
        written: Its profiles.
        ledger: Damage that belongs to no profile.
        input_name: What the input is called.
        sources: The files that were read.
        lost: Sources that were not read, though another attempt may.
    """
    profiles = _number_profiles(written, folder)
    shutil.rmtree(folder / READING, ignore_errors=True)
    size_bytes = sum(file.size_bytes for file in sources)
    rows = row_estimate(size_bytes)
    db = connected(rows)
    _note_assumed_ranks(db, profiles, folder)
    counts = {name: sum(profile.tables.get(name, 0) for profile in profiles) for name in BY_NAME}
    if ledger.entries:
        write_parquet(db, ledger.rows(), folder / "damage" / f"profile={WHOLE_INPUT}" / "part-0.parquet", rank=None)
        counts["damage"] += len(ledger.entries)
    released(db, rows)
    manifest = Manifest(
        format=RUN_FORMAT,
        version=RUN_VERSION,
        tool_version=__version__,
        reader_version=READER_VERSION,
        input=input_name,
        input_bytes=size_bytes,
        sources=msgspec.Raw(msgspec.json.encode(sources)),
        profiles=profiles,
        tables=counts,
        lost=lost,
    )
    described = msgspec.json.format(msgspec.json.encode(manifest), indent=1)
    _write_durably(folder / MANIFEST_NAME, sealed_object(described))
    return manifest


def take_over(run: Path, profile: ManifestProfile, place: Path, number: int) -> Written:
    """Take over the files of a profile of another run, as profile `number` of a place; hard links do where they can.

    Raises:
        OSError: A file is missing or cannot be copied.
    """
    name = f"profile={number}"
    for table_name in profile.tables:
        target = place / table_name / name
        target.mkdir(parents=True)
        for part in (run / table_name / f"profile={profile.profile_id}").iterdir():
            if part.name != ASSUMED_PART:
                link_or_copy(part, target / part.name)
    rank = None if profile.rank_assumed else profile.rank
    return Written(place, name, msgspec.structs.replace(profile, rank=rank, rank_assumed=False, job=""))


def link_or_copy(file: Path, target: Path) -> None:
    """Link a file that is never written again, or copy it where it lies on another file system."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def _number_profiles(written: Sequence[Written], folder: Path) -> list[ManifestProfile]:
    """Number the profiles densely by rank, host, process and start; ids live in folder names only."""
    profiles = []
    for profile_id, item in enumerate(sorted(written, key=lambda item: item.order)):
        for table_name in item.profile.tables:
            (folder / table_name).mkdir(exist_ok=True)
            (item.place / table_name / item.folder_name).rename(folder / table_name / f"profile={profile_id}")
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
            place = folder / "damage" / f"profile={profile.profile_id}" / ASSUMED_PART
            write_parquet(db, ledger.rows(), place, rank=None)


def _write_durably(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
