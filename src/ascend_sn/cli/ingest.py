"""`ascend-sn ingest`: any input as a run folder, to keep or to move."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Final

import click

from ascend_sn.cli.command import GuideCommand, common_options
from ascend_sn.cli.opening import input_of
from ascend_sn.cli.waiting import Waiting
from ascend_sn.errors import StoreError, UsageError
from ascend_sn.report.language import Language

SCHEMA: Final = "ascend-sn/ingest/1"


@click.command(cls=GuideCommand)
@common_options()
@click.option(
    "--output", type=click.Path(path_type=Path), metavar="DIR", required=True, help="cli.option.ingest-output"
)
def ingest(
    *,
    path: Path | None,
    input_path: Path | None,
    output: Path,
    output_format: str | None,
    strict: bool,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Read an input and keep its tables as a run folder; exit 1 with `strict` when data are damaged."""
    from ascend_sn.store import open_run

    source = input_of(path, input_path)
    if output.exists() and (not output.is_dir() or any(output.iterdir())):
        raise UsageError(f"{output}: exists; name a new or empty folder")
    with (
        Waiting(language.text("say.reading", name=source.name)) as waiting,
        open_run(source, cache_dir=cache_dir, progress=waiting.reading) as run,
    ):
        try:
            shutil.copytree(run.path, output, dirs_exist_ok=True)
        except OSError as error:
            raise StoreError(output, f"cannot be written: {error.strerror or error}") from error
        profiles, rows = len(run.manifest.profiles), sum(run.manifest.tables.values())
        ((damaged,),) = run.sql("select count(*) from damage where severity = 'damage'").fetchall()
    if output_format == "json":
        said = {"schema": SCHEMA, "output": str(output), "profiles": profiles, "rows": rows, "damage": damaged}
        print(json.dumps(said, ensure_ascii=False))
    else:
        print(language.text("say.ingested", path=output, profiles_count=profiles, rows_count=rows))
    return 1 if strict and damaged else 0
