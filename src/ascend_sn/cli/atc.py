"""`ascend-sn atc`: convert a model with the vendor's `atc` where it is installed, and profile it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, language_option
from ascend_sn.cli.infer import profile_and_show
from ascend_sn.errors import ProfilerError, UsageError
from ascend_sn.report.words.language import Language

_ONNX: Final = 5
_RUNS: Final = 20


class VendorCommand(GuideCommand):
    """Takes options as the vendor spells them; those that are not ours go on to the vendor's program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse without rewriting."""
        return click.Command.parse_args(self, ctx, args)


@click.command(cls=VendorCommand, context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.option("--model", required=True, type=ANY_PATH, metavar="FILE", help="cli.option.infer-model")
@click.option("--framework", type=int, default=_ONNX, help="cli.option.atc-framework")
@click.option("--output", metavar="NAME", help="cli.option.atc-output")
@click.option("--soc_version", metavar="CHIP", help="cli.option.atc-soc")
@click.option("--profiling_mode", metavar="MODE", help="cli.option.atc-mode")
@click.option(
    "--profiling_output", type=ANY_PATH, default=Path("ascend_inference"), metavar="DIR",
    help="cli.option.infer-output",
)  # fmt: skip
@language_option()
@click.pass_context
def atc(
    ctx: click.Context,
    *,
    model: Path,
    framework: int,
    output: str | None,
    soc_version: str | None,
    profiling_mode: str | None,
    profiling_output: Path,
    language: Language,
) -> int:
    """Call the vendor's program with its own options, then profile the model."""
    program = shutil.which("atc")
    if program is None:
        print(language.text("say.atc-absent"), file=sys.stderr)
    else:
        given = (("--model", model), ("--framework", framework), ("--output", output), ("--soc_version", soc_version))
        own = [f"{name}={value}" for name, value in given if value is not None]
        done = subprocess.run([program, *own, *ctx.args], check=False)
        if done.returncode:
            raise ProfilerError(f"atc ended with exit code {done.returncode}; the model was not profiled")
    if framework != _ONNX:
        raise UsageError(f"only ONNX models (--framework={_ONNX}) can be profiled, not framework {framework}")
    profile_and_show(model, profiling_output, (), _RUNS, None, None, language)
    return 0
