"""`ascend-sn ingest`: any input as a run folder, to keep or to move."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, common_options
from ascend_sn.cli.opening import input_of
from ascend_sn.cli.waiting import Waiting
from ascend_sn.errors import StoreError, UsageError
from ascend_sn.report.language import Language
from ascend_sn.report.printable import printable

SCHEMA: Final = "ascend-sn/ingest/1"


@click.command(cls=GuideCommand)
@common_options()
@click.option("--output", type=ANY_PATH, metavar="DIR", required=True, help="cli.option.ingest-output")
def ingest(
    *,
    paths: tuple[Path, ...],
    input_paths: tuple[Path, ...],
    output: Path,
    output_format: str | None,
    strict: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Read an input and keep its tables as a run folder; exit 1 with `strict` when data are damaged."""
    from ascend_sn.store import open_run
    from ascend_sn.store.whole import check_tables_path

    check_tables_path(output)
    source = input_of(paths, input_paths)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output}: exists; name a new or empty folder")
    if source.holds(output):
        raise UsageError(f"{output}: lies inside the input, which is never written to; name a folder elsewhere")
    with (
        Waiting(language.text("say.reading", name=source.name)) as waiting,
        open_run(source.paths, cache_dir=cache_dir, progress=waiting.reading) as run,
    ):
        _copy(run.path, output)
        profiles, rows = len(run.manifest.profiles), sum(run.manifest.tables.values())
        ((damaged,),) = run.sql("select count(*) from damage where severity = 'damage'").fetchall()
    if output_format == "json":
        said = {"schema": SCHEMA, "output": str(output), "profiles": profiles, "rows": rows, "damage": damaged}
        print(json.dumps(said, ensure_ascii=False))
    else:
        print(printable(language.text("say.ingested", path=output, profiles_count=profiles, rows_count=rows)))
    return 1 if strict and damaged else 0


def _copy(run_folder: Path, output: Path) -> None:
    """Copy a run whole or not at all: under another name first, then renamed."""
    partial = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        shutil.copytree(run_folder, partial, ignore=shutil.ignore_patterns("results"))
        if output.exists():
            output.rmdir()
        partial.rename(output)
    except (OSError, shutil.Error) as error:
        reason = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror
        raise StoreError(output, f"cannot be written: {reason}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
