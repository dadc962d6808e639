"""Predicted gains, kept beside the run: in its entry of the cache, never in the user's own folders."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from ascend_sn.model.predictions import PREDICTIONS_VERSION, Predictions
from ascend_sn.store.environment import cache_folder
from ascend_sn.store.locate import Location
from ascend_sn.store.remarks import remark
from ascend_sn.store.sealed import BrokenSealError, decoded, write_sealed

__all__ = ["keep_predictions", "kept_predictions"]


def keep_predictions(location: Location, predictions: Predictions, *, cache_dir: Path | None = None) -> None:
    """Keep what an analysis predicted; a cache that cannot be written is noted in the log only."""
    path = _place(location, predictions.job, cache_dir)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sealed(path, msgspec.json.encode(predictions))
    except OSError as error:
        remark("the predictions are not kept", error)


def kept_predictions(location: Location, *, job: str = "", cache_dir: Path | None = None) -> Predictions | None:
    """Return what the last analysis of a run predicted; None where there was none, or a newer version made it."""
    try:
        found = decoded(_place(location, job, cache_dir), Predictions)
    except (OSError, BrokenSealError):
        return None
    return found if found.version <= PREDICTIONS_VERSION else None


def _place(location: Location, job: str, cache_dir: Path | None) -> Path:
    of_job = hashlib.sha256(job.encode()).hexdigest()[:12]
    if location.is_cached:
        return location.folder / "results" / f"predictions-{of_job}.json"
    name = hashlib.sha256(os.fsencode(os.path.realpath(location.folder))).hexdigest()[:32]
    return (cache_dir or cache_folder()) / "predictions" / f"{name}-{of_job}.json"
