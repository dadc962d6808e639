"""A recording that finds the steps of the program itself."""

from __future__ import annotations

import os
import sys
import threading

from ascend_sn.collect.exit_hook import ExitHook
from ascend_sn.collect.faults import FaultLog
from ascend_sn.collect.neighbours import is_alone, stand_aside_by
from ascend_sn.collect.profiler import Profiler
from ascend_sn.model.trace_schema import STEP_ORIGINS, WORKERS_METRIC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ascend_sn.collect.config import ProfilerConfig

__all__ = ["LAUNCHERS", "AutomaticRun"]

_OPTIMIZER, _DATA_LOADER = STEP_ORIGINS

BATCHES_WITHOUT_OPTIMIZER = 64
"""A program that has taken so many batches with gradients on, and no optimizer step, counts by batches."""

LAUNCHERS = ("torchrun", "torch/distributed/run.py", "torch/distributed/launch.py")
"""Ends of the names of programs that only start others."""


class _StepFinder(Profiler):
    """A profiler whose steps are found, not marked by the program."""

    def mark_found(self, n: int, origin: str) -> None:
        """End step `n`; `origin` says what showed it."""
        try:
            self._mark_step(n, origin)
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("step")


class AutomaticRun:
    """Starts at the first batch or optimizer step, and marks steps from then on.

    An optimizer's step ends a training step; with several optimizers, the one that stepped first counts. While
    no optimizer has stepped, every batch taken from a data loader ends one when gradients are off (inference).

    Args:
        config: Settings of the recording.
        starts_by_step: False for standby: only a command starts it, at a step.
    """

    def __init__(self, config: ProfilerConfig, *, starts_by_step: bool = True) -> None:
        self.profiler = _StepFinder(config)
        self._starts_by_step = starts_by_step
        self._faults = FaultLog()
        self._lock = threading.RLock()
        self._optimizer: int | None = None
        self._batch_count = 0
        self._workers: int | None = None
        self._is_watching = False
        self._has_started = False
        self._is_child = False
        self._has_said = False
        self._step = 0
        self._start_at: int | None = None
        self._stop_at: int | None = None
        self._failure: str | None = None

    @property
    def has_started(self) -> bool:
        """Whether a step or a batch was ever seen."""
        return self._has_started

    def watch_optimizers(self) -> None:
        """Hear of every optimizer's steps; called when torch has them."""
        from ascend_sn.collect.backends.torch_steps import watch_optimizers

        self._watch()
        watch_optimizers(self.optimizer_stepped)

    def watch_data_loaders(self) -> None:
        """Hear of every batch that is asked for; called when torch has data loaders."""
        from ascend_sn.collect.backends.torch_steps import watch_data_loaders

        self._watch()
        watch_data_loaders(self.batch_asked)

    def optimizer_stepped(self, optimizer: object) -> None:
        """Take note that an optimizer has updated the weights."""
        try:
            with self._lock:
                if self._optimizer is None:
                    self._optimizer = id(optimizer)
                if self._optimizer != id(optimizer):
                    return
                self._start_with_the_first()
                self._step_ended(_OPTIMIZER)
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("an optimizer's step")

    def batch_asked(self, with_gradients: bool, workers: int | None = None) -> None:
        """Take note that the program asks for its next batch, of a loader with so many worker processes."""
        try:
            with self._lock:
                self._batch_count += 1
                self._start_with_the_first()
                is_new = with_gradients and workers is not None and workers != self._workers
                if is_new and workers is not None and self.profiler.is_recording:
                    self._workers = workers
                    self.profiler.log_metric(WORKERS_METRIC, workers)
                counts = not with_gradients or self._batch_count > BATCHES_WITHOUT_OPTIMIZER
                if self._batch_count > 1 and self._optimizer is None and counts:
                    self._step_ended(_DATA_LOADER)
        except Exception:  # noqa: BLE001 - the boundary to the user's program
            self._faults.exception("a batch of a data loader")

    def command(self, request: dict[str, Any]) -> dict[str, Any]:
        """Obey `start`, `stop` or `status` (key `command`; `step` and `output` for a start) and say how things are.

        A start or stop is carried out when the step of that number begins; without a number, at the next one.
        """
        with self._lock:
            at = request.get("step")
            at = at if isinstance(at, int) else self._step + 1
            if request.get("command") == "start":
                self._failure = None
                if isinstance(request.get("output"), str):
                    self.profiler.config = self.profiler.config.replaced(output_path=request["output"])
                self._start_at, self._stop_at = at, None
            elif request.get("command") == "stop":
                self._start_at, self._stop_at = None, at
            return {
                "is_recording": self.profiler.is_recording,
                "step": self._step,
                "start_at": self._start_at,
                "stop_at": self._stop_at,
                "folder": self.profiler.output_folder,
                "failure": self._failure,
            }

    def _start_with_the_first(self) -> None:
        if not self._has_started:
            self._has_started = True
            if self._is_child:  # it may end without the functions that its parent had registered for that
                ExitHook(self._at_exit)
            if self._starts_by_step:
                if is_alone(self.profiler):  # else the program records itself, into the same folder
                    self._start()
            elif self._is_child:
                from ascend_sn.collect.standby import listen

                listen(self)

    def _step_ended(self, origin: str) -> None:
        self._step += 1
        self.profiler.mark_found(self._step - 1, origin)
        if self._stop_at is not None and self._step >= self._stop_at:
            self._stop_at = None
            self.profiler.stop()
        if self._start_at is not None and self._step >= self._start_at:
            self._start_at = None
            if not self.profiler.is_recording:
                self._start()

    def _start(self) -> None:
        try:
            self.profiler.start()
        except Exception as error:  # noqa: BLE001 - not started by the program: it only says so
            self._failure = str(error)
            self._say(f"not recording: {error}")

    def _stand_aside(self, other: Profiler) -> None:
        """End where the program begins to record itself: the framework tells its operators to one recording only."""
        if self._starts_by_step and other is not self.profiler and self.profiler.is_recording:
            self.profiler.stop()
            self._say("the program records itself from here on; the recording that was started for it has ended")

    def _watch(self) -> None:
        if self._is_watching:
            return
        self._is_watching = True
        ExitHook(self._at_exit)
        stand_aside_by(self._stand_aside)
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        """A forked child that takes steps is recorded on its own."""
        self._lock = threading.RLock()
        self.profiler = _StepFinder(self.profiler.config)
        self._optimizer, self._batch_count, self._step, self._has_started = None, 0, 0, False
        self._start_at = self._stop_at = self._workers = None
        self._is_child, self._has_said = True, False

    def _at_exit(self) -> None:
        if self._has_said:
            return
        self._has_said = True
        folder = self.profiler.output_folder
        if self.profiler.is_recording:
            self.profiler.stop()
            folder = self.profiler.output_folder  # None when a schedule was too long for anything to be kept
        if folder is not None:
            self._say(f"recorded into {folder}")
        elif (
            not self._has_started
            and is_alone(self.profiler)
            and self._starts_by_step
            and not sys.argv[0].endswith(LAUNCHERS)
        ):
            self._say(
                "nothing recorded: the program took no batch from a DataLoader and no optimizer stepped; "
                "call ascend.profiler.Profiler().start() in it"
            )

    def _say(self, text: str) -> None:
        sys.stderr.write(f"ascend-sn: {text}\n")
