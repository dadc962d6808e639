"""`ascend-sn demo`: record a small real training, analyse it, write the report, print the verdict."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, language_option
from ascend_sn.cli.opening import document_of, input_of
from ascend_sn.cli.output import check_output, print_document, write_document
from ascend_sn.cli.report import DEFAULT_NAME
from ascend_sn.cli.waiting import Waiting
from ascend_sn.errors import StoreError
from ascend_sn.report.words.language import Language

DEFAULT_FOLDER: Final = "demo-result"
RUN_FOLDER: Final = "run"


@click.command(cls=GuideCommand)
@click.option("--output", type=ANY_PATH, metavar="DIR", help="cli.option.demo-output")
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), help="cli.option.format")
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def demo(*, output: Path | None, output_format: str | None, cache_dir: Path | None, language: Language) -> int:
    """Train with two processes, recorded by our own profiler, then show what came out."""
    from ascend_sn.collect.demo_training import run_demo_training
    from ascend_sn.report.documents.views import View

    folder = output or Path(DEFAULT_FOLDER)
    run_folder, page = new_folder(folder / RUN_FOLDER), folder / DEFAULT_NAME
    check_output(page)
    print(language.text("say.demo-training", path=run_folder), file=sys.stderr)
    with Waiting(language.text("say.training")):
        run_demo_training(run_folder)
    document = document_of(input_of([run_folder]), language, cache_dir=cache_dir)
    view = View()
    write_document(document, page, language, view)
    print_document(document, language, view, output_format)
    print(language.text("say.written", path=page), file=sys.stderr)
    print(language.text("say.demo-next", path=run_folder), file=sys.stderr)
    return 0


def new_folder(path: Path) -> Path:
    """Return `path`, with a number behind it if it is there already: no recording is overwritten.

    Raises:
        StoreError: It cannot be made.
    """
    number = 1
    folder = path
    while folder.exists():
        number += 1
        folder = path.with_name(f"{path.name}-{number}")
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise StoreError(folder, f"cannot be made: {error.strerror}") from error
    return folder
