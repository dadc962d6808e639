"""Build a run folder: read every source, derive, write Parquet per table and profile, write the manifest."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping as Known, Sequence
from pathlib import Path

import duckdb
import msgspec

from ascend_sn._version import __version__
from ascend_sn.errors import FormatError, InputError, StoreError
from ascend_sn.formats.discover import Discovery
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
from ascend_sn.store.fingerprint import READER_VERSION, source_key
from ascend_sn.store.jobs import name_jobs
from ascend_sn.store.mapping import Mapping, in_turn
from ascend_sn.store.parquet import connected, released, write_parquet
from ascend_sn.store.reading import ReadSource, SourceRead, read_source, row_estimate

__all__ = ["WHOLE_INPUT", "Earlier", "Progress", "build_run"]

_ASSUMED_PART = "part-assumed.parquet"
WHOLE_INPUT = -1
"""`profile_id` of damage that belongs to no profile but to the input as a whole."""

Progress = Callable[[int, int, str], None]
"""Called with sources done, sources in all, and the name of the one being read."""


Earlier = Known[str, list[tuple[Path, ManifestProfile]]]
"""Profiles of earlier states of the same input by source key, each with the run folder it lies in."""


_READING = ".reading"
"""Where sources are read to, each into a folder of its own, before their profiles are numbered."""


class _Written(msgspec.Struct, frozen=True):
    """A profile on disk, before the profiles are numbered: its tables lie at `<place>/<table>/<folder_name>`."""

    place: Path
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
    mapping: Mapping = in_turn,
) -> Manifest:
    """Read all sources and fill `folder` (which must be empty) with the run.

    A source that cannot be used at all becomes a row of the damage table as long as another one can. Sources
    that did not change since an earlier state of the input are not read again. One that was lost, because its worker
    died or could not write, is named in the manifest and in the damage table, and the rest is used.

    Args:
        found: What was found in the input.
        files: The files of every source.
        folder: Where the run goes; workers of `mapping` must see it under the same name.
        input_name: What the input is called.
        earlier: Profiles that were read before.
        progress: Called while reading.
        mapping: How the sources are dealt out.

    Raises:
        InputError: No source is usable; the first reason is raised.
    """
    ledger = Ledger()
    written: list[_Written] = []
    pending: list[int] = []
    keys = [source_key(source, parts) for source, parts in zip(found.sources, files, strict=True)]
    for number, key in enumerate(keys):
        known = (earlier or {}).get(key, [])
        place = folder / _READING / str(number)
        written.extend(_link_earlier(run, profile, place, at) for at, (run, profile) in enumerate(known))
        if not known:
            pending.append(number)
    failures, lost = _read(found, files, keys, folder, pending, written, ledger, mapping=mapping, progress=progress)
    if not written:
        raise failures[0] if failures else FormatError(found.root, "nothing usable was found")
    _note_foreign(found, input_name, ledger)
    profiles = _number_profiles(written, folder)
    shutil.rmtree(folder / _READING, ignore_errors=True)
    rows = row_estimate(sum(file.size_bytes for parts in files for file in parts))
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
        input_bytes=sum(file.size_bytes for parts in files for file in parts),
        sources=[file for parts in files for file in parts],
        profiles=profiles,
        tables=counts,
        lost=lost,
    )
    _write_durably(folder / MANIFEST_NAME, msgspec.json.format(msgspec.json.encode(manifest), indent=1))
    return manifest


def _read(
    found: Discovery,
    files: Sequence[Sequence[ManifestSource]],
    keys: Sequence[str],
    folder: Path,
    pending: Sequence[int],
    written: list[_Written],
    ledger: Ledger,
    *,
    mapping: Mapping,
    progress: Progress | None,
) -> tuple[list[InputError], list[ManifestLost]]:
    """Read the `pending` sources: their profiles go to `written`, what is wrong with them to the ledger.

    Returns:
        Why sources are unusable, and those that were lost.
    """
    sizes = [sum(file.size_bytes for file in files[number]) for number in pending]
    rows = row_estimate(sum(file.size_bytes for parts in files for file in parts))
    tasks = [
        ReadSource(
            source=found.sources[number],
            key=keys[number],
            place=folder / _READING / str(number),
            row_estimate=rows,
        )
        for number in pending
    ]
    outcomes: dict[int, SourceRead] = {}
    lost: dict[int, str] = {}
    known = len(found.sources) - len(tasks)
    if progress is not None and tasks:
        progress(known, len(found.sources), found.sources[pending[0]].name)
    for outcome in mapping(read_source, tasks, sizes):
        if outcome.made is None:
            lost[outcome.at] = outcome.lost or "nothing came back"
        else:
            outcomes[outcome.at] = outcome.made
        done = len(outcomes) + len(lost)
        if progress is not None and done < len(tasks):
            following = outcome.at + 1 if outcome.at + 1 < len(tasks) else outcome.at
            progress(known + done, len(found.sources), found.sources[pending[following]].name)
    failures: list[InputError] = []
    for at, (number, task) in enumerate(zip(pending, tasks, strict=True)):
        name = found.sources[number].name
        if at in lost:
            shutil.rmtree(task.place, ignore_errors=True)
            ledger.add(name, "lost", example=lost[at])
            failures.append(StoreError(found.sources[number].path, f"was not read: {lost[at]}"))
        elif (unusable := outcomes[at].unusable) is not None:
            failures.append(unusable)
            ledger.add(name, "unreadable", example=unusable.problem)
        else:
            written.extend(
                _Written(task.place, f"profile={profile.profile_id}", profile) for profile in outcomes[at].profiles
            )
    return failures, [ManifestLost(found.sources[pending[at]].name, lost[at]) for at in sorted(lost)]


def _link_earlier(run: Path, profile: ManifestProfile, place: Path, number: int) -> _Written:
    """Take over the files of an unchanged profile; they are never written again, so hard links do."""
    name = f"profile={number}"
    for table_name in profile.tables:
        target = place / table_name / name
        target.mkdir(parents=True)
        for part in (run / table_name / f"profile={profile.profile_id}").iterdir():
            if part.name != _ASSUMED_PART:
                os.link(part, target / part.name)
    rank = None if profile.rank_assumed else profile.rank
    return _Written(place, name, msgspec.structs.replace(profile, rank=rank, rank_assumed=False, job=""))


def _number_profiles(written: list[_Written], folder: Path) -> list[ManifestProfile]:
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
