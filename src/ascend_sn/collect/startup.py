"""Recording without a change to the program: what the start-up file of the package calls.

`ascend_sn_startup.pth`, which every interpreter reads at its start, looks for our variables and calls `begin`
when one is set. Nothing is recorded before the program takes a step.
"""

from __future__ import annotations

import atexit
import os
import sys

from ascend_sn.collect.automatic import LAUNCHERS, AutomaticRun
from ascend_sn.collect.environment import STARTED
from ascend_sn.collect.environment_recording import recording_of_environment
from ascend_sn.collect.imports import call_after_import
from ascend_sn.collect.neighbours import is_alone

__all__ = ["begin"]

_runs: list[AutomaticRun] = []
"""The one recording of this process: an interpreter of a virtual environment reads its start-up files twice."""

_OPTIMIZER = "torch.optim.optimizer"
_DATA_LOADER = "torch.utils.data.dataloader"


def begin() -> None:
    """Arm the recording that the variables ask for; whatever goes wrong is said and the program goes on."""
    try:
        asked = None if _runs else recording_of_environment(os.environ, _say)
        if asked is None:
            return
        config, is_standby = asked
        run = AutomaticRun(config, starts_by_step=not is_standby)
        _runs.append(run)
        call_after_import({_OPTIMIZER: run.watch_optimizers, _DATA_LOADER: run.watch_data_loaders})
        if is_standby:
            from ascend_sn.collect.standby import listen

            listen(run)
        elif _is_meant():
            atexit.register(_say_when_unused, run)
    except Exception as error:  # noqa: BLE001 - the boundary to the user's program
        _say(f"not recording: {error!r}")


def _is_meant() -> bool:
    """Whether this is a program that somebody wants recorded, and not a tool that starts with the same variables."""
    if sys.argv[0].endswith(LAUNCHERS):
        return False
    return sys.argv[0].endswith(".py") or os.environ.get(STARTED) == str(os.getpid())


def _say_when_unused(run: AutomaticRun) -> None:
    """End a program in which nothing was found to record with a word about it, never in silence."""
    if not run.has_started and is_alone(run.profiler):
        _say(
            "nothing recorded: no optimizer step and no data loader batch of PyTorch was seen; "
            "mark steps with ascend.profiler.Profiler instead"
        )


def _say(text: str) -> None:
    sys.stderr.write(f"ascend-sn: {text}\n")
