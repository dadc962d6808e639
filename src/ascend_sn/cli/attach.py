"""`ascend-sn attach PID start|stop|status`: record a program in standby for a while."""

from __future__ import annotations

import json
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Final

import click

from ascend_sn.cli.command import ANY_PATH, GuideCommand, language_option
from ascend_sn.errors import ProfilerStateError
from ascend_sn.report.words.language import Language
from ascend_sn.report.words.printable import printable

SCHEMA: Final = "ascend-sn/attach/1"

_STEPS_AHEAD: Final = 3
"""Ranks differ in where they are: all start this many steps after the foremost one."""

_PATIENCE_S: Final = 60.0


@click.command(cls=GuideCommand)
@click.argument("pid", nargs=-1, required=True, type=int)
@click.argument("action", type=click.Choice(["start", "stop", "status"]))
@click.option("--step", type=click.IntRange(min=0), metavar="N", help="cli.option.attach-step")
@click.option("--output", type=ANY_PATH, metavar="DIR", help="cli.option.attach-output")
@click.option("--format", "output_format", type=click.Choice(["text", "json"]), help="cli.option.format")
@language_option()
def attach(
    *,
    pid: tuple[int, ...],
    action: str,
    step: int | None,
    output: Path | None,
    output_format: str | None,
    language: Language,
) -> int:
    """Send the command to the processes and to those that they started; wait until it has been carried out."""
    from ascend_sn.collect.standby import ask, listening_processes

    found = [process for root in pid for process in listening_processes(root) or [root]]
    states = {process: ask(process, {"command": "status"}) for process in dict.fromkeys(found)}
    if action != "status":
        if step is None and len(states) > 1:
            step = max(state["step"] for state in states.values()) + _STEPS_AHEAD
        request: dict[str, object] = {"command": action, "step": step}
        if output is not None:
            request["output"] = str(output.absolute())
        for process in states:
            ask(process, request)
        states = {process: _settled(process, action) for process in states}
    if output_format == "json":
        print(json.dumps({"schema": SCHEMA, "processes": [{"pid": one, **state} for one, state in states.items()]}))
    else:
        for process, state in states.items():
            word = "say.attach-recording" if state["is_recording"] else "say.attach-idle"
            print(printable(language.text(word, pid=process, step=state["step"], path=state["folder"] or "-")))
    return 0


def _settled(pid: int, action: str) -> dict[str, Any]:
    """Wait for the step at which the program obeys.

    Raises:
        ProfilerStateError: It could not start, or took no step for long.
    """
    from ascend_sn.collect.standby import ask

    deadline = monotonic() + _PATIENCE_S
    state = ask(pid, {"command": "status"})
    while state["start_at"] is not None or state["stop_at"] is not None:
        if monotonic() > deadline:
            raise ProfilerStateError(
                f"process {pid} has not come to the step at which it is to {action} within {_PATIENCE_S:.0f} s; "
                "it will when it gets there"
            )
        sleep(0.05)
        state = ask(pid, {"command": "status"})
    if state["failure"]:
        raise ProfilerStateError(f"process {pid} cannot record: {state['failure']}")
    return state
