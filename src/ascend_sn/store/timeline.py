"""Where the timeline of a run lies: in the run folder, or in the cache beside it; built when it is first looked at."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path
from typing import Final

from ascend_sn.errors import StoreError
from ascend_sn.model.manifest import MANIFEST_NAME
from ascend_sn.store.cache import built_once
from ascend_sn.store.environment import cache_folder
from ascend_sn.store.locate import Location
from ascend_sn.store.run import Run
from ascend_sn.store.timeline_build import ClassLanes, Progress, build_timeline
from ascend_sn.store.timeline_files import TimelineFiles

__all__ = ["TIMELINE_FOLDER", "add_timeline", "timeline_of"]

TIMELINE_FOLDER: Final = "timeline"
_OF_OWN_RUNS: Final = "timelines"


def timeline_of(
    run: Run,
    location: Location,
    *,
    class_lanes: ClassLanes | None = None,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
) -> TimelineFiles:
    """Open the timeline of a run, building it first where there is none.

    Args:
        run: The run, all its jobs visible.
        location: Where it was found. A run folder of the user's is not written to: what it lacks goes into the cache.
        class_lanes: Adds lanes of activity classes, see `timeline_build`.
        cache_dir: The cache; default as for `open_run`.
        progress: Called with profiles done, profiles in all, and the source being drawn.

    Raises:
        StoreError: It cannot be written or read.
    """
    inside = location.folder / TIMELINE_FOLDER
    if TimelineFiles.is_whole(inside):
        return TimelineFiles(inside)
    cache = cache_dir or cache_folder()
    if location.is_cached:
        folder, lock = inside, location.folder.with_name(f"{location.folder.name}.lock")
    else:
        folder = cache / _OF_OWN_RUNS / _key(location.folder)
        lock = folder.with_name(f"{folder.name}.lock")

    def build(building: Path) -> None:
        build_timeline(run, building, class_lanes=class_lanes, progress=progress)

    try:
        built_once(folder, lock, build, TimelineFiles.is_whole, shrinks=not location.is_cached)
    except OSError as error:
        hint = "name another folder with --cache-dir or ASCEND_SN_CACHE_DIR"
        raise StoreError(
            error.filename or folder, f"the timeline cannot be written: {error.strerror}; {hint}"
        ) from error
    return TimelineFiles(folder)


def add_timeline(run: Run, folder: Path, *, class_lanes: ClassLanes | None = None) -> None:
    """Write the timeline of a run into a run folder that is being made; one that came along stays.

    Raises:
        OSError: It cannot be written.
    """
    target = folder / TIMELINE_FOLDER
    if TimelineFiles.is_whole(target):
        return
    if target.exists():
        shutil.rmtree(target)
    target.mkdir()
    build_timeline(run, target, class_lanes=class_lanes)


def _key(folder: Path) -> str:
    """A name for a run folder of the user's that changes when another run takes its place."""
    status = (folder / MANIFEST_NAME).stat()
    place = f"{os.path.realpath(folder)}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ino}"
    return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:32]
