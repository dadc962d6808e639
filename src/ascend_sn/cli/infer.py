"""`ascend-sn infer --model m.onnx`: which operators of a model take the time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, language_option
from ascend_sn.cli.demo import new_folder
from ascend_sn.cli.opening import document_of, input_of
from ascend_sn.cli.output import print_document
from ascend_sn.cli.waiting import Waiting
from ascend_sn.report.words.language import Language

DEFAULT_FOLDER: Final = "ascend_inference"


@click.command(cls=GuideCommand)
@click.option("--model", required=True, type=ANY_PATH, metavar="FILE", help="cli.option.infer-model")
@click.option("--input-shape", "shapes", multiple=True, metavar="SHAPE", help="cli.option.infer-shape")
@click.option(
    "--runs", type=click.IntRange(min=1), default=20, metavar="N", show_default=True, help="cli.option.infer-runs"
)
@click.option("--output", type=ANY_PATH, metavar="DIR", help="cli.option.infer-output")
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), help="cli.option.format")
@click.option("--cache-dir", type=ANY_PATH, metavar="DIR", help="cli.option.cache-dir")
@language_option()
def infer(
    *,
    model: Path,
    shapes: tuple[str, ...],
    runs: int,
    output: Path | None,
    output_format: str | None,
    cache_dir: Path | None,
    language: Language,
) -> int:
    """Run the model with ONNX Runtime's profiler on, and show what came out."""
    folder = output or new_folder(Path(DEFAULT_FOLDER))
    profile_and_show(model, folder, shapes, runs, output_format, cache_dir, language)
    return 0


def profile_and_show(
    model: Path,
    folder: Path,
    shapes: tuple[str, ...],
    runs: int,
    output_format: str | None,
    cache_dir: Path | None,
    language: Language,
) -> None:
    """Profile a model into a folder and print its analysis; also what `ascend-sn atc` does."""
    from ascend_sn.collect.onnx_model import profile_onnx_model
    from ascend_sn.report.documents.views import View

    with Waiting(language.text("say.inference", name=model.name)):
        provider = profile_onnx_model(model, folder, shapes=shapes, run_count=runs)
    print_document(document_of(input_of([folder]), language, cache_dir=cache_dir), language, View(), output_format)
    print(language.text("say.inferred", provider=provider, path=folder), file=sys.stderr)
