"""Open a run so that it can be asked about, however many profiles it has."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from ascend_sn.analysis.ranks.chosen_profiles import LOOKED_INTO, chosen_profiles
from ascend_sn.analysis.summaries import summarise
from ascend_sn.model.manifest import Manifest
from ascend_sn.store import Location, Run
from ascend_sn.store.ingest import Progress
from ascend_sn.store.mapping import Mapping, in_turn
from ascend_sn.store.summaries import summaries_of
from ascend_sn.store.upgrade import load_manifest

__all__ = ["LOOKED_INTO_WHOLE", "opened_for"]

LOOKED_INTO_WHOLE: Final = 64
"""Profiles up to which every one is looked into; as many as are replayed together."""


def opened_for(
    location: Location,
    *,
    job: str | None = None,
    mapping: Mapping = in_turn,
    cache_dir: Path | None = None,
    progress: Progress | None = None,
    details: bool = True,
    manifest: Manifest | None = None,
) -> Run:
    """Open a run so that its document can be assembled, and its tables be answered.

    A job of more than 64 profiles is known by their summaries; only some of the profiles are looked into, see
    `analysis.chosen_profiles`.

    Args:
        location: Where the run is.
        job: The job to open, where the input holds several.
        mapping: How the summaries are worked out, where they are not there.
        cache_dir: The cache; default as for `open_run`.
        progress: Called while they are.
        details: Whether some of many profiles are looked into; else their summaries alone are there.
        manifest: That of the run, where it was read already.
    """
    manifest = manifest or load_manifest(location.folder)
    if sum(job in (None, profile.job) for profile in manifest.profiles) <= LOOKED_INTO_WHOLE:
        return Run(location.folder, location.input, job=job, manifest=manifest)
    summaries = summaries_of(location, summarise, mapping=mapping, cache_dir=cache_dir, progress=progress)
    known = Run(location.folder, location.input, job=job, summaries=summaries, manifest=manifest)
    if not details:
        return known
    with known:
        chosen = chosen_profiles(known, LOOKED_INTO)
    return Run(location.folder, location.input, job=job, profiles=chosen, summaries=summaries, manifest=manifest)
