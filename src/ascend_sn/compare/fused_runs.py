"""What was fused between two run folders: of many ranks only those are opened whose kernels are aligned."""

from __future__ import annotations

from contextlib import ExitStack

from ascend_sn.analysis.opening import LOOKED_INTO_WHOLE
from ascend_sn.analysis.registry import missing_needs
from ascend_sn.compare.fused import FUSED_NEEDS, FusedChanges, fused_changes, ranks_to_align
from ascend_sn.model.manifest import ManifestProfile
from ascend_sn.store import Location, Run
from ascend_sn.store.upgrade import load_manifest

__all__ = ["fused_between"]


def fused_between(base: tuple[Location, str | None], candidate: tuple[Location, str | None]) -> FusedChanges | None:
    """Return what was fused and split between two runs; None where one of them has no kernels.

    Args:
        base: Where the baseline is, and its job where the input holds several.
        candidate: The same of the candidate.

    Raises:
        StoreError: A run folder cannot be read.
    """
    manifests = [load_manifest(location.folder) for location, _ in (base, candidate)]
    sides = [
        [one for one in manifest.profiles if job in (None, one.job)]
        for manifest, (_, job) in zip(manifests, (base, candidate), strict=True)
    ]
    ranks = ranks_to_align(*({one.rank for one in profiles} for profiles in sides))
    with ExitStack() as opened:
        runs = [
            opened.enter_context(
                Run(
                    location.folder,
                    location.input,
                    job=job,
                    profiles=_looked_into(profiles, ranks),
                    manifest=manifest,
                )
            )
            for (location, job), profiles, manifest in zip((base, candidate), sides, manifests, strict=True)
        ]
        if any(missing_needs(FUSED_NEEDS, run.db) for run in runs):
            return None
        return fused_changes(runs[0].db, runs[1].db)


def _looked_into(profiles: list[ManifestProfile], ranks: list[int | None]) -> list[int] | None:
    """The profiles of the ranks that are aligned, where there are many; else all."""
    if len(profiles) <= LOOKED_INTO_WHOLE:
        return None
    return [one.profile_id for one in profiles if one.rank in ranks]
