"""Where a program stands in its schedule, and what is missing when it ends before the schedule does."""

from __future__ import annotations

from ascend_sn.collect.schedule import ACTIVE, DONE, WARMUP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.schedule import Schedule

__all__ = ["ScheduledRun"]


class ScheduledRun:
    """Counts the steps of one run of the program against its schedule.

    Attributes:
        step: Number of the step that is running, from 0.
        kept_steps: Steps that were recorded from their beginning to their end.
    """

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._last_phase: int | None = None
        self.step = 0
        self.kept_steps = 0

    @property
    def is_active(self) -> bool:
        """Whether the running step is to be recorded."""
        return self._schedule.phase_of(self.step) == ACTIVE

    @property
    def begins_warmup(self) -> bool:
        """Whether the running step is the first one of a warm-up."""
        return self._schedule.phase_of(self.step) == WARMUP and self._last_phase != WARMUP

    @property
    def is_cycle_over(self) -> bool:
        """Whether the step that ended was the last one of its cycle."""
        schedule = self._schedule
        return not self.is_active or schedule.cycle_of(self.step) != schedule.cycle_of(self.step - 1)

    @property
    def missing_steps(self) -> int:
        """Steps that should have been recorded and were not."""
        schedule = self._schedule
        if schedule.repeat == 0:
            return 0 if self.kept_steps else schedule.active
        return schedule.active * schedule.repeat - self.kept_steps

    @property
    def missing_text(self) -> str | None:
        """What to say of a schedule that was not fulfilled; None when it was."""
        if not self.missing_steps:
            return None
        wanted = self.kept_steps + self.missing_steps
        came = f"{self.kept_steps} of {wanted} steps recorded" if self.kept_steps else "nothing recorded"
        return (
            f"schedule needs {self._schedule.needed_steps} steps, saw {self.step}; {came}. "
            "Shorten the schedule, or call step() in a longer loop"
        )

    def step_ended(self) -> None:
        """Go on to the next step."""
        phase = self._schedule.phase_of(self.step)
        self.kept_steps += phase == ACTIVE
        self._last_phase = phase if phase != DONE else None
        self.step += 1
