"""From what the user names to the run folder that holds it; and small results kept beside a cached run.

Nothing here needs DuckDB, so that a second look at an unchanged input costs little more than looking for
changes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ascend_sn.errors import InputError, NothingChosenError, UsageError
from ascend_sn.store.cache import cached_run
from ascend_sn.store.environment import cache_folder
from ascend_sn.store.fingerprint import run_key, source_files, source_key
from ascend_sn.store.gather import Shards
from ascend_sn.store.input import Input
from ascend_sn.store.known_inputs import recall, remember
from ascend_sn.store.mapping import Mapping, in_turn
from ascend_sn.store.remarks import remark
from ascend_sn.store.sealed import BrokenSealError, read_sealed, write_sealed
from ascend_sn.store.upgrade import is_run_folder, load_manifest
from ascend_sn.store.whole import check_tables_path

if TYPE_CHECKING:
    from ascend_sn.formats.discover import Discovery
    from ascend_sn.formats.reader import Source
    from ascend_sn.model.manifest import ManifestSource
    from ascend_sn.store.ingest import Earlier, Progress

__all__ = ["Location", "locate"]

_RESULTS = "results"


class Location(msgspec.Struct, frozen=True):
    """A run folder and the input it stands for; `is_cached` is false for a run folder of the user's."""

    folder: Path
    input: Input
    is_cached: bool

    def stored(self, name: str) -> bytes | None:
        """Return a result kept under `name` by `keep`, None when there is none, or a damaged one."""
        try:
            return read_sealed(self.folder / _RESULTS / name)
        except (OSError, BrokenSealError):
            return None

    def keep(self, name: str, data: bytes) -> None:
        """Keep a result beside a cached run; a run folder of the user's is left as it is."""
        if not self.is_cached:
            return
        results = self.folder / _RESULTS
        try:
            results.mkdir(exist_ok=True)
            write_sealed(results / name, data)
        except OSError as error:
            remark("not kept for the next time", error)  # a full disk costs time later, not the answer now

    def discard(self) -> bool:
        """Remove a cached run that turned out to be damaged, so that it is read anew; false for the user's own."""
        if self.is_cached:
            shutil.rmtree(self.folder, ignore_errors=True)
        return self.is_cached


def _check_cache(named: Input, cache: Path) -> None:
    """Refuse a cache that lies in the input: nothing is ever written there."""
    if named.holds(cache):
        raise UsageError(
            f"{cache}: the cache lies inside the input, which is never written to; "
            "name another folder with --cache-dir or ASCEND_SN_CACHE_DIR"
        )
    check_tables_path(cache)


def _described(found: Discovery) -> list[list[ManifestSource]]:
    """Describe the files of every source; one with a file that cannot be read is noted and left out."""
    kept, files = [], []
    failure = OSError("no source")
    for source in found.sources:
        try:
            files.append(source_files(source))
            kept.append(source)
        except OSError as error:
            found.unreadable.append((source.name, f"cannot be read: {error.filename}: {error.strerror}"))
            failure = error
    if not kept:
        raise failure
    found.sources = kept
    return files


def _gathered(shards: Shards, named: Input, cache_dir: Path | None) -> Path:
    def build(building: Path, earlier: Earlier) -> None:
        from ascend_sn.store.gather_build import build_gathered

        build_gathered(shards, building, input_name=named.name)

    return cached_run(shards.key, build, cache_dir=cache_dir, retry=False)


def locate(
    path: str | Path | Sequence[str | Path],
    *more: str | Path,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    mapping: Mapping | None = None,
    chosen: Callable[[list[Source]], list[Source]] | None = None,
) -> Location:
    """Find the run folder of an input, reading it into the cache when it is not there; see `open_run`.

    A folder of shards, see `gather`, is opened as one run.

    `mapping` deals the sources out; they are read one after the other by default. With `chosen`, only the sources that
    it returns are read.

    Raises:
        InputError: The input cannot be read, or nothing in it is a profile.
        NothingChosenError: `chosen` returns no source.
        StoreError: The run folder, or the cache, cannot be used.
        UsageError: A run folder is named beside other inputs.
    """
    named = Input.of(path, *more)
    try:
        own = next((root for root in named.paths if root.is_dir() and is_run_folder(root)), None)
        if own is not None and named.only is None:
            raise UsageError(f"{own}: is a run folder of ascend-sn, which is opened alone; name its source instead")
        if own is not None:
            check_tables_path(own)
            return Location(own, named, is_cached=False)
        _check_cache(named, cache_dir or cache_folder())
        if named.only is not None and (shards := Shards.below(named.only)) is not None:
            return Location(_gathered(shards, named, cache_dir), named, is_cached=True)
        unchanged = recall(named, cache_dir) if chosen is None else None
        if unchanged is not None:
            return Location(unchanged, named, is_cached=True)
        from ascend_sn.formats.discover import discover  # loads the readers; not needed for an unchanged input

        found = discover(*named.places)
        if chosen is not None:
            found.sources = chosen(found.sources)
            if not found.sources:
                raise NothingChosenError(named.paths[0], "has fewer captures than there are shards")
        files = _described(found)
    except OSError as error:
        raise InputError(error.filename or named.paths[0], f"cannot be read: {error.strerror}") from error
    keys = [source_key(source, parts) for source, parts in zip(found.sources, files, strict=True)]

    def build(building: Path, earlier: Earlier) -> None:
        from ascend_sn.store.ingest import build_run

        build_run(
            found,
            files,
            building,
            input_name=named.name,
            earlier=earlier,
            progress=progress,
            mapping=mapping or in_turn,
        )

    key = run_key(found, keys, named)
    folder = cached_run(key, build, cache_dir=cache_dir)
    if chosen is not None or load_manifest(folder).lost:
        return Location(folder, named, is_cached=True)
    read = [member for source in found.sources for member in source.reader.members(source.path)]
    try:
        remember(named, cache_dir, key, found.searched, read)
    except OSError as error:
        remark("not remembered for the next time", error)
    return Location(folder, named, is_cached=True)
