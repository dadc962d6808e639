"""The cache of ingested inputs: nothing is ever written beside the user's files.

Layout: `<cache>/runs/<input>-<state>/` is a finished run folder of one state of an input, `<key>.lock` its
lock. A run is built in a temporary folder, flushed, and renamed into place, so that an interrupted ingest is
never taken for a whole one. A new state of an input takes unchanged profiles over from the earlier ones.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import MANIFEST_NAME, ManifestProfile
from ascend_sn.store.environment import cache_folder, cache_limit_bytes
from ascend_sn.store.upgrade import load_manifest

if TYPE_CHECKING:
    from ascend_sn.store.ingest import Earlier

__all__ = ["built_once", "cached_run", "synced"]

_BUILDING = ".building-"
_ABANDONED_AFTER_S = 24 * 3600
_MANY_FILES = 1_000
"""Files beyond which flushing them one by one takes longer than flushing everything."""


def cached_run(
    key: str, build: Callable[[Path, Earlier], object], *, cache_dir: Path | None = None, retry: bool = True
) -> Path:
    """Return the run folder of `key`, building it first when it is not there.

    Args:
        key: Key of `fingerprint.run_key`.
        build: Fills the (empty) folder it is given; it is also given the profiles of earlier states.
        cache_dir: The cache; default `$XDG_CACHE_HOME/ascend-sn`.
        retry: Whether a run in which sources were lost is built again.

    Raises:
        StoreError: The cache cannot be written.
    """
    runs = (cache_dir or cache_folder()) / "runs"
    try:
        runs.mkdir(parents=True, exist_ok=True)
        finished = runs / key
        with _locked(runs / f"{key}.lock"):
            if not _is_whole(finished, retry=retry):
                _build(runs, finished, build)
        os.utime(finished)
        _shrink(runs, keep=finished)
    except OSError as error:
        hint = "name another folder with --cache-dir or ASCEND_SN_CACHE_DIR"
        raise StoreError(error.filename or runs, f"the cache cannot be written: {error.strerror}; {hint}") from error
    return finished


def built_once(
    finished: Path,
    lock: Path,
    build: Callable[[Path], object],
    is_whole: Callable[[Path], bool],
    *,
    shrinks: bool = False,
) -> None:
    """Build a folder of the cache unless it is whole already: in a temporary folder beside it, then renamed.

    Args:
        finished: The folder.
        lock: The file that keeps others from building it too.
        build: Fills the (empty) folder it is given.
        is_whole: Whether a folder is what `build` makes.
        shrinks: Remove the least recently used folders beside it when they are too many bytes.

    Raises:
        OSError: It cannot be written.
    """
    finished.parent.mkdir(parents=True, exist_ok=True)
    with _locked(lock):
        if is_whole(finished):
            os.utime(finished)
            return
        building = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=finished.parent))
        try:
            build(building)
            synced(building)
            if finished.exists():
                shutil.rmtree(finished)
            building.rename(finished)
        finally:
            if building.exists():
                shutil.rmtree(building, ignore_errors=True)
    if shrinks:
        _shrink(finished.parent, keep=finished)


def _is_whole(finished: Path, *, retry: bool) -> bool:
    """Whether the run is there; with `retry`, with everything that its input holds."""
    try:
        return (finished / MANIFEST_NAME).is_file() and not (retry and load_manifest(finished).lost)
    except StoreError:
        return True  # whoever opens it says what is wrong, and discards it


def _build(runs: Path, finished: Path, build: Callable[[Path, Earlier], object]) -> None:
    _remove_abandoned(runs)
    building = Path(tempfile.mkdtemp(prefix=_BUILDING, dir=runs))
    try:
        build(building, _earlier_profiles(runs, finished.name))
        synced(building)
        if finished.exists():
            shutil.rmtree(finished)
        building.rename(finished)
    finally:
        if building.exists():
            shutil.rmtree(building, ignore_errors=True)


def _earlier_profiles(runs: Path, key: str) -> dict[str, list[tuple[Path, ManifestProfile]]]:
    """Profiles of all states of the same input, by source key; each source from one run only."""
    profiles: dict[str, list[tuple[Path, ManifestProfile]]] = {}
    for run in sorted(runs.glob(f"{key.partition('-')[0]}-*")):
        if not (run / MANIFEST_NAME).is_file():
            continue
        try:
            manifest = load_manifest(run)
        except StoreError:
            continue  # written by another version: nothing to take over
        own: dict[str, list[tuple[Path, ManifestProfile]]] = {}
        for profile in manifest.profiles:
            own.setdefault(profile.key, []).append((run, profile))
        profiles.update(own)
    return profiles


def _remove_abandoned(runs: Path) -> None:
    """Remove what an interrupted ingest left behind a day ago or earlier."""
    for path in runs.glob(f"{_BUILDING}*"):
        if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def synced(folder: Path) -> None:
    """Flush a folder and everything in it to the disk."""
    paths = [*folder.rglob("*"), folder]
    if len(paths) > _MANY_FILES:
        os.sync()
        return
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _shrink(runs: Path, keep: Path) -> None:
    """Remove the least recently used runs until the cache is below its limit."""
    limit = cache_limit_bytes()
    entries = [entry for entry in runs.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
    if len(entries) < 2:
        return
    sizes = {entry: sum(file.stat().st_size for file in entry.rglob("*") if file.is_file()) for entry in entries}
    total = sum(sizes.values())
    for entry in sorted(entries, key=lambda entry: entry.stat().st_mtime_ns):
        if total <= limit:
            return
        if entry != keep:
            # Its lock file stays: somebody may wait for it, and a second one would let two builders in.
            shutil.rmtree(entry, ignore_errors=True)
            total -= sizes[entry]
