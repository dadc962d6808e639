"""`ascend-sn throughput module:factory`: latency and throughput of a model by batch size."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from importlib import import_module
from typing import Any, Final

import click

from ascend_sn.cli.command import GuideCommand, language_option
from ascend_sn.errors import UsageError
from ascend_sn.report.words.language import Language

SCHEMA: Final = "ascend-sn/throughput/1"


@click.command(cls=GuideCommand)
@click.argument("factory", metavar="MODULE:FACTORY")
@click.option("--input-shape", required=True, metavar="SIZES", help="cli.option.throughput-shape")
@click.option("--batch-sizes", default="1,4,8,16,32", metavar="LIST", help="cli.option.throughput-sizes")
@click.option("--latency-limit-ms", type=float, metavar="MS", help="cli.option.throughput-limit")
@click.option(
    "--runs", type=click.IntRange(min=1), default=100, metavar="N", show_default=True, help="cli.option.infer-runs"
)
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), help="cli.option.format")
@language_option()
def throughput(
    *,
    factory: str,
    input_shape: str,
    batch_sizes: str,
    latency_limit_ms: float | None,
    runs: int,
    output_format: str | None,
    language: Language,
) -> int:
    """Make the model by calling the factory, and measure it; JSON holds the rows of `measure_throughput`."""
    from ascend_sn.collect.inference import measure_throughput

    shape, sizes = _numbers(input_shape), _numbers(batch_sizes)  # before the program of the user runs
    model = _made(factory)
    with redirect_stdout(sys.stderr if output_format == "json" else sys.stdout):
        rows = measure_throughput(model, shape, sizes, latency_limit_ms=latency_limit_ms, num_runs=runs)
    if output_format == "json":
        print(json.dumps({"schema": SCHEMA, "results": rows}))
    return 0


def _made(factory: str) -> Any:
    module_name, _, name = factory.partition(":")
    if not module_name or not name:
        raise UsageError(f"{factory!r} is not of the form module:factory")
    sys.path.insert(0, "")
    try:
        make = getattr(import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{factory}: {error}") from error
    finally:
        sys.path.remove("")
    return make()


def _numbers(text: str) -> list[int]:
    try:
        numbers = [int(part) for part in text.replace("x", ",").split(",")]
    except ValueError as error:
        raise UsageError(f"{text!r} is no list of whole numbers such as 3,224,224") from error
    if min(numbers) < 1:
        raise UsageError(f"{text!r}: every number is at least 1")
    return numbers
