"""Results per profile, worked out once and compacted, so that a cluster is asked about without opening every profile.

Two levels: a batch of profiles, summarised by one worker, is one file per result; all batches together are one file
per result again. What a result is, the caller knows; here it is a table with `profile_id`.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import duckdb
import msgspec

from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import ManifestLost, ManifestProfile
from ascend_sn.model.tables import BY_NAME
from ascend_sn.store.beside import made_beside
from ascend_sn.store.fingerprint import code_state
from ascend_sn.store.gather import Shards
from ascend_sn.store.ingest import Progress
from ascend_sn.store.locate import Location
from ascend_sn.store.mapping import Mapping
from ascend_sn.store.parquet import connected, quiet, show_table
from ascend_sn.store.run_parts import WHOLE_INPUT, link_or_copy
from ascend_sn.store.sealed import BrokenSealError, decoded, write_sealed
from ascend_sn.store.upgrade import load_manifest
from ascend_sn.store.whole import SUMMED_BYTES, check_whole, sum_of

__all__ = [
    "SUMMARY",
    "Batch",
    "BatchMade",
    "Summaries",
    "show_profiles",
    "summaries_of",
    "write_result",
]

SUMMARY: Final = "summary_"
"""What the names of the tables begin with that hold results per profile."""

_FOLDER: Final = "summaries"
_BATCHES: Final = "batches"
_INDEX: Final = "summaries.json"
_MEMBERS: Final = "members.json"
_MADE_BY: Final = ("_native", "analysis", "derive", "formats", "model")

_PROFILES: Final = 32
_ROWS: Final = 2_000_000
"""Profiles of a batch, and rows of their tables beyond which it has fewer of them."""

_ROW_BYTES: Final = 100
"""What a row takes, roughly, where memory is bounded."""

_HOW: Final = "format parquet, compression zstd, parquet_version v2"
_UNCOUNTED: Final = ("member", "filename", "file_row_number")


class Batch(msgspec.Struct, frozen=True):
    """Profiles of a run folder that one worker summarises; the results go to `place`, a file each.

    It carries what the manifest says of them: no worker has to read the whole of that.

    Attributes:
        folder: The run folder.
        profiles: Their ids.
        rows: Rows of the tables of each.
        assumed_ranks: Those whose files state no rank.
        place: Where the results go.
    """

    folder: Path
    profiles: tuple[int, ...]
    rows: tuple[int, ...]
    assumed_ranks: tuple[int, ...]
    place: Path

    @classmethod
    def of(cls, run: Path, members: Sequence[ManifestProfile], place: Path) -> Batch:
        """Return the batch of some profiles of the run in a folder."""
        return cls(
            folder=run.absolute(),
            profiles=tuple(one.profile_id for one in members),
            rows=tuple(_rows(one) for one in members),
            assumed_ranks=tuple(one.profile_id for one in members if one.rank_assumed),
            place=place,
        )


class BatchMade(msgspec.Struct, frozen=True):
    """The profiles of a batch that have no results, by their place in it, and why."""

    failed: dict[int, str]


class _Members(msgspec.Struct, frozen=True):
    """Which captures a batch holds, and the CRC-32 of each of its files."""

    identities: list[str]
    sums: dict[str, int]


class _Index(msgspec.Struct, frozen=True):
    """What the compacted files hold; `lost` are profiles, by their source, that have no results.

    `unfinished` says that another attempt may give them some. `sums` holds the CRC-32 of each file.
    """

    names: list[str]
    row_count: int
    lost: list[ManifestLost]
    unfinished: bool
    sums: dict[str, int] = {}


class Summaries(msgspec.Struct, frozen=True):
    """The compacted results of a run, on disk: one Parquet file per name; `row_count` rows in all."""

    folder: Path
    names: list[str]
    row_count: int
    lost: list[ManifestLost]

    def show(
        self, db: duckdb.DuckDBPyConnection, profiles: Collection[int] | None = None, *, in_memory: bool
    ) -> list[str]:
        """Make the results visible: tables of the model under their names, the others with `SUMMARY` before it.

        Args:
            db: Where they are shown.
            profiles: Show only the rows of these, and those of no profile.
            in_memory: Read them now, once, instead of with every query.

        Returns:
            The tables of the model that are shown.

        Raises:
            StoreError: A file is damaged.
        """
        chosen = "" if profiles is None else f"where profile_id in ({', '.join(map(str, [WHOLE_INPUT, *profiles]))})"
        for name in self.names:
            table = name if name in BY_NAME else f"{SUMMARY}{name}"
            source = str(self.folder / f"{name}.parquet").replace("'", "''")
            kind = "table" if in_memory else "view"
            try:
                db.execute(f"create {kind} {table} as select * from read_parquet('{source}') {chosen}")
            except duckdb.Error as error:
                problem = f"the summary cannot be read: {str(error).splitlines()[0]}"
                raise StoreError(self.folder / f"{name}.parquet", problem) from error
        return [name for name in self.names if name in BY_NAME]


def summaries_of(
    location: Location,
    summarise: Callable[[Batch], BatchMade],
    *,
    mapping: Mapping,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> Summaries:
    """Open the summaries of a run, making them first where there are none.

    Batches of another state of the input are taken over where they hold the same profiles. What was lost because its
    worker died is tried again the next time.

    Args:
        location: The run. A run folder of the user's is not written to: its summaries go into the cache.
        summarise: Fills the place of a batch; a function of a module.
        mapping: How the batches are dealt out.
        cache_dir: The cache; default as for `open_run`.
        progress: Called with batches done, batches in all, and a name.

    Raises:
        StoreError: They cannot be written, or no profile could be summarised.
    """
    state = code_state(*_MADE_BY)

    def build(building: Path) -> None:
        check_whole(location.folder, load_manifest(location.folder))
        _build(location.folder, building.absolute(), _earlier(state, location), summarise, mapping, progress)

    return _opened(made_beside(location, f"{_FOLDER}/{state}", build, _is_whole, cache_dir=cache_dir))


def show_profiles(batch: Batch, profiles: Sequence[int]) -> duckdb.DuckDBPyConnection:
    """Return a connection on which the tables of the model show some profiles of a batch, held in memory.

    Raises:
        StoreError: A table cannot be read.
    """
    rows = dict(zip(batch.profiles, batch.rows, strict=True))
    db = connected(sum(rows[one] for one in profiles))
    db.execute("set threads = 1")
    for name, table in BY_NAME.items():
        files = [
            path.absolute()
            for one in profiles
            for path in sorted((batch.folder / name / f"profile={one}").glob("part-*.parquet"))
        ]
        try:
            show_table(db, table, files, batch.assumed_ranks, in_memory=True)
        except duckdb.Error as error:
            db.close()
            raise StoreError(batch.folder / name, f"cannot be read: {str(error).splitlines()[0]}") from error
    return db


def write_result(db: duckdb.DuckDBPyConnection, batch: Batch, name: str, query: str, part: int = 0) -> None:
    """Keep the rows of a query, which have `profile_id`, as part of the result `name` of a batch."""
    batch.place.mkdir(parents=True, exist_ok=True)
    target = str(batch.place / f"{name}.{part}.parquet").replace("'", "''")
    members = f"(list_position({list(batch.profiles)}, profile_id) - 1)::integer as member"
    db.execute(f"copy (select {members}, * exclude (profile_id) from ({query})) to '{target}' ({_HOW})")


def _build(
    run: Path,
    building: Path,
    earlier: Sequence[Path],
    summarise: Callable[[Batch], BatchMade],
    mapping: Mapping,
    progress: Progress | None,
) -> None:
    manifest = load_manifest(run)
    taken = _taken_over(run, manifest.profiles, building, earlier)
    there = {one for batch in taken for one in batch.profiles}
    pending: list[Batch] = []
    named: dict[Path, list[str]] = {}
    for members in _batches([profile for profile in manifest.profiles if profile.profile_id not in there]):
        identities = [_identity(profile) for profile in members]
        place = building / _BATCHES / _name(identities)
        place.mkdir(parents=True)
        pending.append(Batch.of(run, members, place))
        named[place] = identities
    lost: dict[int, str] = {}
    without: list[Path] = []
    unfinished = False
    sizes = [sum(batch.rows) * _ROW_BYTES for batch in pending]
    for done, outcome in enumerate(mapping(summarise, pending, sizes)):
        batch = pending[outcome.at]
        if progress is not None:
            progress(done, len(pending), manifest.input)
        failed = (
            outcome.made.failed
            if outcome.made is not None
            else dict.fromkeys(range(len(batch.profiles)), outcome.lost or "nothing came back")
        )
        unfinished = unfinished or outcome.made is None
        if failed:
            without.append(batch.place)
        lost |= {batch.profiles[member]: reason for member, reason in failed.items()}
    if len(lost) == len(manifest.profiles):
        raise StoreError(run, f"no profile could be summarised: {next(iter(lost.values()))}")
    names, rows = _compact(run, building, [*taken, *pending])
    for place in without:
        shutil.rmtree(place, ignore_errors=True)  # nobody is to take over what is not whole
        del named[place]
    for place, identities in named.items():
        sums = {path.name: sum_of(path) for path in sorted(place.glob("*.parquet"))}
        write_sealed(place / _MEMBERS, msgspec.json.encode(_Members(identities, sums)))
    told = [ManifestLost(manifest.profiles[one].source, reason) for one, reason in sorted(lost.items())]
    sums = {name: sum_of(building / f"{name}.parquet") for name in names}
    write_sealed(building / _INDEX, msgspec.json.encode(_Index(names, rows, told, unfinished, sums)))


def _taken_over(run: Path, profiles: Sequence[ManifestProfile], building: Path, earlier: Sequence[Path]) -> list[Batch]:
    """Take over batches that were made before, where all their profiles are here."""
    here = {_identity(profile): profile for profile in profiles}
    taken = []
    for known in earlier:
        try:
            members = decoded(known / _MEMBERS, _Members)
            if any(sum_of(known / name) != expected for name, expected in members.sums.items()):
                continue
        except (OSError, BrokenSealError):
            continue
        identities = members.identities
        if not identities or any(identity not in here for identity in identities):
            continue
        place = building / _BATCHES / known.name
        place.mkdir(parents=True)
        for path in known.iterdir():
            link_or_copy(path, place / path.name)
        taken.append(Batch.of(run, [here.pop(identity) for identity in identities], place))
    return taken


def _batches(profiles: Sequence[ManifestProfile]) -> list[list[ManifestProfile]]:
    if not profiles:
        return []
    batches: list[list[ManifestProfile]] = [[]]
    rows = 0
    for profile in profiles:
        size = _rows(profile)
        if batches[-1] and (len(batches[-1]) == _PROFILES or rows + size > _ROWS):
            batches.append([])
            rows = 0
        batches[-1].append(profile)
        rows += size
    return batches


def _rows(profile: ManifestProfile) -> int:
    return sum(profile.tables.values())


def _identity(profile: ManifestProfile) -> str:
    """Which capture a profile is, whatever its number in the run."""
    text = f"{profile.key}/{profile.source}/{profile.rank}/{profile.rank_assumed}/{profile.pid}/{profile.start_ns}"
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _name(identities: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(identities).encode()).hexdigest()[:24]


def _earlier(state: str, location: Location) -> list[Path]:
    """Batches that other states of the input, or the shards that it is made of, left."""
    if not location.is_cached:
        return []
    run = location.folder
    places = sorted(run.parent.glob(f"{run.name.partition('-')[0]}-*/{_FOLDER}/{state}/{_BATCHES}"))
    shards = None if location.input.only is None else Shards.below(location.input.only)
    if shards is not None:
        places += [shard / _FOLDER / state / _BATCHES for shard in shards.present]
    return [batch for place in places if place.is_dir() for batch in sorted(place.iterdir())]


def _compact(run: Path, building: Path, batches: Sequence[Batch]) -> tuple[list[str], int]:
    """Make one file per result, by profile and in the order of each result; return their names and rows."""
    files: dict[str, list[tuple[str, list[int]]]] = {}
    for batch in batches:
        for path in sorted(batch.place.glob("*.parquet")):
            files.setdefault(path.name.partition(".")[0], []).append((str(path), list(batch.profiles)))
    for path in sorted((run / "damage" / f"profile={WHOLE_INPUT}").glob("part-*.parquet")):
        files.setdefault("damage", []).append((str(path.absolute()), [WHOLE_INPUT]))
    db = quiet(duckdb.connect(config={"threads": 2}))
    rows = 0
    for name, parts in files.items():
        db.execute(
            "create or replace temp table batch as select unnest($paths) as filename, unnest($ids) as ids",
            {"paths": [path for path, _ in parts], "ids": [ids for _, ids in parts]},
        )
        listed = ", ".join("'" + path.replace("'", "''") + "'" for path, _ in parts)
        columns = _columns(db, name, [path for path, _ in parts])
        target = str(building / f"{name}.parquet").replace("'", "''")
        db.execute(f"""
            copy (
                select ids[coalesce(member, 0) + 1]::integer as profile_id, {columns}
                from read_parquet([{listed}], filename = true, file_row_number = true, union_by_name = true)
                join batch using (filename)
                order by profile_id, file_row_number
            ) to '{target}' ({_HOW})
        """)
        rows += db.execute(f"select count(*) from read_parquet('{target}')").fetchall()[0][0]
    db.close()
    return sorted(files), rows


def _columns(db: duckdb.DuckDBPyConnection, name: str, paths: Sequence[str]) -> str:
    """The columns of a result: as the model orders them, else as the first batch has them."""
    if name in BY_NAME:
        return ", ".join(column.name for column in BY_NAME[name].columns[1:])
    first = paths[0].replace("'", "''")
    db.execute(f"describe select * from read_parquet('{first}')")
    return ", ".join(f'"{row[0]}"' for row in db.fetchall() if row[0] not in _UNCOUNTED)


def _is_whole(folder: Path) -> bool:
    """Whether all is there as it was written; what is damaged is made anew."""
    index = _index(folder)
    if index is None or index.unfinished:
        return False
    left = SUMMED_BYTES
    try:
        for name in index.names:
            path = folder / f"{name}.parquet"
            left -= path.stat().st_size
            if left > 0 and sum_of(path) != index.sums[name]:
                return False
    except (OSError, KeyError):
        return False
    return True


def _index(folder: Path) -> _Index | None:
    try:
        return decoded(folder / _INDEX, _Index)
    except (OSError, BrokenSealError):
        return None


def _opened(folder: Path) -> Summaries:
    index = _index(folder)
    if index is None:
        raise StoreError(folder / _INDEX, "is missing or damaged")
    return Summaries(folder, index.names, index.row_count, index.lost)
