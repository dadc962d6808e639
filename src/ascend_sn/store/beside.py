"""What is made of a run once and kept with it: in the cached run, or in the cache for a run folder of the user's."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import MANIFEST_NAME
from ascend_sn.store.cache import built_once
from ascend_sn.store.environment import cache_folder
from ascend_sn.store.locate import Location

__all__ = ["made_beside"]

_OF_OWN_RUNS: Final = "beside"


def made_beside(
    location: Location,
    name: str,
    build: Callable[[Path], object],
    is_whole: Callable[[Path], bool],
    *,
    cache_dir: Path | None = None,
) -> Path:
    """Return the folder that holds what `build` makes of a run, making it first where there is none.

    Args:
        location: The run. A run folder of the user's is not written to: what it lacks goes into the cache.
        name: Name below the run folder; parts by slashes.
        build: Fills the (empty) folder it is given.
        is_whole: Whether a folder is what `build` makes.
        cache_dir: The cache; default as for `open_run`.

    Raises:
        StoreError: It cannot be written.
    """
    folder = location.folder / name
    if is_whole(folder):
        return folder
    try:
        if location.is_cached:
            lock = location.folder.with_name(f"{location.folder.name}.lock")
        else:
            kept = f"{_key(location.folder)}-{name.replace('/', '-')}"
            folder = (cache_dir or cache_folder()) / _OF_OWN_RUNS / kept
            lock = folder.with_name(f"{folder.name}.lock")
        built_once(folder, lock, build, is_whole, shrinks=not location.is_cached)
    except OSError as error:
        hint = "name another folder with --cache-dir or ASCEND_SN_CACHE_DIR"
        raise StoreError(error.filename or folder, f"cannot be written: {error.strerror}; {hint}") from error
    return folder


def _key(folder: Path) -> str:
    """A name for a run folder of the user's that changes when another run takes its place."""
    status = (folder / MANIFEST_NAME).stat()
    place = f"{os.path.realpath(folder)}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}"
    return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]
