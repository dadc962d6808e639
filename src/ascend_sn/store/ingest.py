"""Build a run folder: read every source, derive, write Parquet per table and profile, write the manifest."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping as Known, Sequence
from pathlib import Path

import msgspec

from ascend_sn.errors import FormatError, InputError, StoreError
from ascend_sn.formats.discover import Discovery
from ascend_sn.formats.reader import Source
from ascend_sn.model.ledger import Ledger
from ascend_sn.model.manifest import Manifest, ManifestLost, ManifestProfile, ManifestSource
from ascend_sn.store.fingerprint import source_key
from ascend_sn.store.mapping import Mapping, in_turn
from ascend_sn.store.reading import ReadSource, SourceRead, read_source, row_estimate
from ascend_sn.store.run_parts import READING, Written, finish_run, take_over

__all__ = ["Earlier", "Progress", "build_run"]

Progress = Callable[[int, int, str], None]
"""Called with sources done, sources in all, and the name of the one being read."""


Earlier = Known[str, list[tuple[Path, ManifestProfile]]]
"""Profiles of earlier states of the same input by source key, each with the run folder it lies in."""


def build_run(
    found: Discovery,
    files: list[list[ManifestSource]],
    folder: Path,
    *,
    input_name: str,
    earlier: Earlier | None = None,
    progress: Progress | None = None,
    mapping: Mapping = in_turn,
) -> Manifest:
    """Read all sources and fill `folder` (which must be empty) with the run.

    A source that cannot be used at all becomes a row of the damage table as long as another one can. Sources
    that did not change since an earlier state of the input are not read again. One that was lost, because its worker
    died or could not write, is named in the manifest and in the damage table, and the rest is used.

    Args:
        found: What was found in the input.
        files: The files of every source.
        folder: Where the run goes; workers of `mapping` must see it under the same name.
        input_name: What the input is called.
        earlier: Profiles that were read before.
        progress: Called while reading.
        mapping: How the sources are dealt out.

    Raises:
        InputError: No source is usable; the first reason is raised.
    """
    ledger = Ledger()
    written: list[Written] = []
    pending: list[int] = []
    keys = [source_key(source, parts) for source, parts in zip(found.sources, files, strict=True)]
    for number, key in enumerate(keys):
        known = (earlier or {}).get(key, [])
        place = folder / READING / str(number)
        written.extend(take_over(run, profile, place, at) for at, (run, profile) in enumerate(known))
        if not known:
            pending.append(number)
    failures, lost = _read(found, files, keys, folder, pending, written, ledger, mapping=mapping, progress=progress)
    if not written:
        raise failures[0] if failures else FormatError(found.root, "nothing usable was found")
    _note_foreign(found, input_name, ledger)
    sources = [file for parts in files for file in parts]
    return finish_run(folder, written, ledger, input_name=input_name, sources=sources, lost=lost)


def _read(
    found: Discovery,
    files: Sequence[Sequence[ManifestSource]],
    keys: Sequence[str],
    folder: Path,
    pending: Sequence[int],
    written: list[Written],
    ledger: Ledger,
    *,
    mapping: Mapping,
    progress: Progress | None,
) -> tuple[list[InputError], list[ManifestLost]]:
    """Read the `pending` sources: their profiles go to `written`, what is wrong with them to the ledger.

    Returns:
        Why sources are unusable, and those that were lost.
    """
    sizes = [sum(file.size_bytes for file in files[number]) for number in pending]
    rows = row_estimate(sum(file.size_bytes for parts in files for file in parts))
    tasks = [
        ReadSource(
            source=_for_others(found.sources[number]),
            key=keys[number],
            place=(folder / READING / str(number)).absolute(),
            row_estimate=rows,
        )
        for number in pending
    ]
    outcomes: dict[int, SourceRead] = {}
    lost: dict[int, str] = {}
    known = len(found.sources) - len(tasks)
    if progress is not None and tasks:
        progress(known, len(found.sources), found.sources[pending[0]].name)
    for outcome in mapping(read_source, tasks, sizes):
        if outcome.made is None:
            lost[outcome.at] = outcome.lost or "nothing came back"
        else:
            outcomes[outcome.at] = outcome.made
        done = len(outcomes) + len(lost)
        if progress is not None and done < len(tasks):
            following = outcome.at + 1 if outcome.at + 1 < len(tasks) else outcome.at
            progress(known + done, len(found.sources), found.sources[pending[following]].name)
    failures: list[InputError] = []
    for at, (number, task) in enumerate(zip(pending, tasks, strict=True)):
        name = found.sources[number].name
        if at in lost:
            shutil.rmtree(task.place, ignore_errors=True)
            ledger.add(name, "lost", example=lost[at])
            failures.append(StoreError(found.sources[number].path, f"was not read: {lost[at]}"))
        elif (unusable := outcomes[at].unusable) is not None:
            failures.append(unusable)
            ledger.add(name, "unreadable", example=unusable.problem)
        else:
            written.extend(
                Written(task.place, f"profile={profile.profile_id}", profile) for profile in outcomes[at].profiles
            )
    return failures, [ManifestLost(found.sources[pending[at]].name, lost[at]) for at in sorted(lost)]


def _for_others(source: Source) -> Source:
    """A source as a process understands it that works in another folder."""
    return msgspec.structs.replace(source, path=source.path.absolute(), root=source.root.absolute())


def _note_foreign(found: Discovery, input_name: str, ledger: Ledger) -> None:
    for name, reason in found.unreadable:
        ledger.add(name, "unreadable", example=reason)
    if found.foreign:
        names = ", ".join(found.foreign[:3])
        ledger.add(
            input_name,
            "foreign_files",
            count=len(found.foreign),
            severity="info",
            example=f"files that belong to no profile, left alone: {names}",
        )
