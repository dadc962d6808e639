"""`ascend-sn ingest`: any input as a run folder, to keep or to move."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from ascend_sn.cli.command import ANY_PATH, GuideCommand, common_options
from ascend_sn.cli.dealing import dealing_options, dealt
from ascend_sn.cli.opening import input_of
from ascend_sn.cli.waiting import Waiting
from ascend_sn.errors import NothingChosenError, StoreError, UsageError
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable
from ascend_sn.store import Location, locate
from ascend_sn.store.upgrade import is_run_folder, load_manifest

if TYPE_CHECKING:
    from ascend_sn.model.manifest import Manifest
    from ascend_sn.store import Run
    from ascend_sn.store.mapping import Mapping

SCHEMA: Final = "ascend-sn/ingest/1"


_SUMMARISED_FROM: Final = 65
"""Profiles from which the summaries are made at once: so many are not looked at one by one."""


@click.command(cls=GuideCommand)
@common_options()
@click.option("--output", type=ANY_PATH, metavar="DIR", required=True, help="cli.option.ingest-output")
@dealing_options()
@click.option("--shard", metavar="I/N", help="cli.option.shard")
def ingest(
    *,
    paths: tuple[Path, ...],
    input_paths: tuple[Path, ...],
    output: Path,
    workers: int | None,
    scheduler: str | None,
    mpi: bool,
    shard: str | None,
    output_format: str | None,
    strict: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Read an input and keep its tables as a run folder; exit 1 with `strict` when data are damaged or lost."""
    from ascend_sn.cluster.shards import Shard
    from ascend_sn.store.whole import check_tables_path

    part = None if shard is None else Shard.parsed(shard)
    target = output if part is None else output / part.name
    check_tables_path(target)
    source = input_of(paths, input_paths)
    if part is None and output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output}: exists; name a new or empty folder")
    if source.holds(output):
        raise UsageError(f"{output}: lies inside the input, which is never written to; name a folder elsewhere")
    with (
        dealt(workers, scheduler, mpi=mpi) as mapping,
        Waiting(language.text("say.reading", name=source.name)) as waiting,
    ):
        try:
            location = locate(
                source.paths,
                cache_dir=cache_dir,
                progress=waiting.reading,
                mapping=mapping,
                chosen=None if part is None else part.of,
            )
        except NothingChosenError:
            return _nothing(target, language, output_format)
        done = _kept(location, target, mapping, waiting, cache_dir, language, is_shard=part is not None)
    if output_format == "json":
        print(json.dumps({"schema": SCHEMA, "output": str(target), **msgspec.to_builtins(done)}, ensure_ascii=False))
    else:
        said = {"profiles_count": done.profiles, "rows_count": done.rows}
        print(printable(language.text("say.ingested", path=target, **said)))
        if done.lost:
            print(printable(language.text("say.lost", count=done.lost, example=done.lost_example)), file=sys.stderr)
    return 1 if strict and (done.damage or done.lost) else 0


def _nothing(target: Path, language: Language, output_format: str | None) -> int:
    """Say that there is nothing to read for this shard, also to who opens all of them."""
    from ascend_sn.store.gather import NOTHING

    try:
        target.mkdir(parents=True, exist_ok=True)
        (target / NOTHING).touch()
    except OSError as error:
        raise StoreError(target, f"cannot be written: {error.strerror}") from error
    if output_format == "json":
        none = _Done(profiles=0, rows=0, damage=0, lost=0, lost_example=None)
        print(json.dumps({"schema": SCHEMA, "output": str(target), **msgspec.to_builtins(none)}, ensure_ascii=False))
    else:
        print(printable(language.text("say.nothing-to-read", path=target)))
    return 0


class _Done(msgspec.Struct):
    """What was kept: profiles, rows, damaged things, and the sources that were lost, with the first one."""

    profiles: int
    rows: int
    damage: int
    lost: int
    lost_example: str | None


def _kept(
    location: Location,
    target: Path,
    mapping: Mapping,
    waiting: Waiting,
    cache_dir: Path | None,
    language: Language,
    *,
    is_shard: bool,
) -> _Done:
    """Keep a run as the folder `target`; one that holds the same already is left as it is.

    A shard has its summaries at once, but no timeline: it is looked at together with the others.
    """
    from ascend_sn.analysis.summaries import summarise
    from ascend_sn.store import Run
    from ascend_sn.store.summaries import summaries_of

    manifest = load_manifest(location.folder)
    if is_shard or len(manifest.profiles) >= _SUMMARISED_FROM:
        summaries_of(location, summarise, mapping=mapping, cache_dir=cache_dir, progress=waiting.reading)
    with Run(location.folder, location.input) as run:
        ((damage,),) = run.sql("select count(*) from damage where severity = 'damage'").fetchall()
        if not _holds(target, manifest):
            waiting.tell(language.text("say.drawing"))
            _copy(run, target, with_timeline=not is_shard)
    return _Done(
        profiles=len(manifest.profiles),
        rows=sum(manifest.tables.values()),
        damage=damage,
        lost=len(manifest.lost),
        lost_example=f"{manifest.lost[0].source}: {manifest.lost[0].reason}" if manifest.lost else None,
    )


def _holds(target: Path, manifest: Manifest) -> bool:
    return is_run_folder(target) and load_manifest(target).profiles == manifest.profiles


def _copy(run: Run, output: Path, *, with_timeline: bool) -> None:
    """Copy a run whole or not at all: under another name first, then renamed."""
    from ascend_sn.insight.class_lanes import class_lanes
    from ascend_sn.store.timeline import add_timeline

    partial = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(run.path, partial, ignore=shutil.ignore_patterns("results"))
        if with_timeline:
            add_timeline(run, partial, class_lanes=class_lanes)
        if is_run_folder(output):
            shutil.rmtree(output)  # an earlier attempt at the same shard
        elif output.exists():
            output.rmdir()
        partial.rename(output)
    except (OSError, shutil.Error) as error:
        reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror
        raise StoreError(output, f"cannot be written: {reason}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
