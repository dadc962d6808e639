"""Make one run of the run folders of shards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb
import msgspec

from ascend_sn.errors import EmptyInputError, StoreError
from ascend_sn.model.ledger import DamageEntry, Ledger
from ascend_sn.model.manifest import MANIFEST_NAME, Manifest, ManifestLost, ManifestProfile, ManifestSource
from ascend_sn.store.gather import Shards
from ascend_sn.store.run_parts import READING, WHOLE_INPUT, Written, finish_run, take_over
from ascend_sn.store.upgrade import load_manifest
from ascend_sn.store.whole import SUMMED_BYTES, check_shown

__all__ = ["build_gathered"]


def build_gathered(shards: Shards, folder: Path, *, input_name: str) -> Manifest:
    """Fill `folder` (which must be empty) with the run that the shards are parts of.

    Raises:
        EmptyInputError: No shard holds a profile.
        StoreError: A shard is damaged.
    """
    ledger = Ledger()
    lost = [ManifestLost(name, "is not there") for name in shards.absent]
    written: list[Written] = []
    taken: dict[tuple[object, ...], str] = {}
    manifests = [load_manifest(path) for path in shards.present]
    left_bytes = SUMMED_BYTES  # of all shards together: a thousand large ones would take minutes
    for number, (path, manifest) in enumerate(zip(shards.present, manifests, strict=True)):
        # Here the shard is named; later it would be a place in the cache.
        left_bytes -= check_shown(path, _parts(path, manifest), manifest.profiles, most_bytes=left_bytes)
        place = folder / READING / str(number)
        own = [profile for profile in manifest.profiles if _identity(profile) not in taken]
        for profile in manifest.profiles:
            if (first := taken.get(_identity(profile))) is not None:
                ledger.add(profile.source, "repeated_capture", example=f"{path.name} holds what {first} holds")
        taken |= {_identity(profile): path.name for profile in own}
        written.extend(take_over(path, profile, place, at) for at, profile in enumerate(own))
        ledger.entries += [entry for entry in _of_no_profile(path) if entry not in ledger.entries]
        lost += manifest.lost
    for name in shards.absent:
        ledger.add(name, "absent_shard", example="is not there: not written yet, or not copied")
    for one in lost:
        if not any(entry.file == one.source for entry in ledger.entries):
            ledger.add(one.source, "lost", example=one.reason)
    if not written:
        raise EmptyInputError(shards.root, "the shards hold no profile")
    sources = list(
        dict.fromkeys(
            file for path, manifest in zip(shards.present, manifests, strict=True) for file in _files(path, manifest)
        )
    )
    return finish_run(folder, written, ledger, input_name=input_name, sources=sources, lost=lost)


def _files(shard: Path, manifest: Manifest) -> list[ManifestSource]:
    try:
        return manifest.files
    except (msgspec.DecodeError, RecursionError) as error:
        raise StoreError(shard / MANIFEST_NAME, f"the manifest is damaged: {error}") from error


def _parts(shard: Path, manifest: Manifest) -> dict[str, list[Path]]:
    tables = sorted({table for profile in manifest.profiles for table in profile.tables})
    return {table: sorted(shard.glob(f"{table}/profile=*/part-*.parquet")) for table in tables}


def _identity(profile: ManifestProfile) -> tuple[object, ...]:
    """Which capture a profile is; a shard that was copied under another name holds the same ones."""
    return profile.key, profile.source, profile.rank, profile.pid, profile.start_ns


def _of_no_profile(shard: Path) -> Sequence[DamageEntry]:
    """What the shard says of its input as a whole; every shard looked at all of it."""
    found = []
    for part in sorted((shard / "damage" / f"profile={WHOLE_INPUT}").glob("part-*.parquet")):
        source = str(part).replace("'", "''")
        query = f"select file, place, kind, \"count\", example, severity from read_parquet('{source}')"
        found += [
            DamageEntry(file, place or "", kind, count, example or "", severity)
            for file, place, kind, count, example, severity in duckdb.execute(query).fetchall()
        ]
    return found
