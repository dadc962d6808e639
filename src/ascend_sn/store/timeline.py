"""Where the timeline of a run lies: in the run folder, or in the cache beside it; built when it is first looked at."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from ascend_sn.store.beside import made_beside
from ascend_sn.store.locate import Location
from ascend_sn.store.run import Run
from ascend_sn.store.timeline_build import ClassLanes, Progress, build_timeline
from ascend_sn.store.timeline_files import TimelineFiles

__all__ = ["TIMELINE_FOLDER", "add_timeline", "timeline_of"]

TIMELINE_FOLDER: Final = "timeline"


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

    def build(building: Path) -> None:
        build_timeline(run, building, class_lanes=class_lanes, progress=progress)

    return TimelineFiles(made_beside(location, TIMELINE_FOLDER, build, TimelineFiles.is_whole, cache_dir=cache_dir))


def add_timeline(
    run: Run, folder: Path, *, class_lanes: ClassLanes | None = None, progress: Progress | None = None
) -> None:
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
    build_timeline(run, target, class_lanes=class_lanes, progress=progress)
