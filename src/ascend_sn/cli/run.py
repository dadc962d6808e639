"""`ascend-sn run -- python train.py`: start a program that is recorded without a change to it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, language_option, switch
from ascend_sn.collect.environment import STARTED
from ascend_sn.errors import UsageError
from ascend_sn.report.words.language import Language


@click.command(cls=GuideCommand, context_settings={"allow_interspersed_args": False})
@click.argument("program", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--output", type=ANY_PATH, metavar="DIR", help="cli.option.run-output")
@click.option("--level", type=click.IntRange(1, 3), metavar="N", help="cli.option.run-level")
@click.option("--ops", metavar="LIST", help="cli.option.run-ops")
@switch("--comm", help="cli.option.run-comm")
@switch("--memory", help="cli.option.run-memory")
@click.option("--interval", type=click.FloatRange(min=0, min_open=True), metavar="US", help="cli.option.run-interval")
@click.option("--schedule", metavar="PARTS", help="cli.option.run-schedule")
@click.option("--max-size", type=click.IntRange(min=1), metavar="BYTES", help="cli.option.run-max-size")
@switch("--standby", help="cli.option.run-standby")
@language_option()
def run(
    *,
    program: tuple[str, ...],
    output: Path | None,
    level: int | None,
    ops: str | None,
    comm: bool,
    memory: bool,
    interval: float | None,
    schedule: str | None,
    max_size: int | None,
    standby: bool,
    language: Language,
) -> None:
    """Set the variables of the recorder and become the program; its exit code is ours."""
    variables = {
        "ASCEND_PROFILING_ENABLE": "standby" if standby else "1",
        "ASCEND_PROFILING_OUTPUT_PATH": None if output is None else str(output.absolute()),
        "ASCEND_PROFILING_TRACE_LEVEL": level,
        "ASCEND_PROFILING_OP_LIST": ops,
        "ASCEND_PROFILING_FREQ": None if interval is None else 1e6 / interval,
        "ASCEND_PROFILING_SCHEDULE": schedule,
        "ASCEND_PROFILING_MAX_SIZE": max_size,
        "ASCEND_HCCL_PROFILING_ENABLE": 1 if comm else None,
        "ASCEND_MEMORY_PROFILING_ENABLE": 1 if memory else None,
    }
    _check_schedule(schedule)
    if output is not None and output.exists() and not output.is_dir():
        raise UsageError(f"{output}: is a file; name a folder")
    environment = {**os.environ, **{name: str(value) for name, value in variables.items() if value is not None}}
    environment[STARTED] = str(os.getpid())  # which the program keeps
    try:
        os.execvpe(program[0], list(program), environment)
    except OSError as error:
        raise UsageError(f"{program[0]}: {error.strerror}") from error


def _check_schedule(text: str | None) -> None:
    """Refuse a wrong schedule here, where somebody is looking; the program itself would only say so and go on."""
    from ascend_sn.collect.environment_recording import recording_of_environment

    complaints: list[str] = []
    recording_of_environment(
        {"ASCEND_PROFILING_ENABLE": "1", "ASCEND_PROFILING_SCHEDULE": text or ""}, complaints.append
    )
    for complaint in complaints:
        raise UsageError(complaint)
