"""Which steps of a long job are recorded."""

from __future__ import annotations

__all__ = ["ACTIVE", "DONE", "IDLE", "WARMUP", "Schedule"]

IDLE, WARMUP, ACTIVE, DONE = range(4)


class Schedule:
    """Skip some steps once, then repeat: wait, warm up, record.

    Warm-up steps run under the framework's profiler, whose first steps are slow, and are not kept.

    Args:
        skip: Steps before the first cycle.
        wait: Steps of a cycle that run untouched.
        warmup: Steps of a cycle that are recorded and thrown away.
        active: Steps of a cycle that are kept.
        repeat: Cycles; 0 goes on until the program ends.

    Raises:
        ValueError: A negative count, or no active step.
    """

    __slots__ = ("active", "repeat", "skip", "wait", "warmup")

    def __init__(self, *, active: int, skip: int = 0, wait: int = 0, warmup: int = 0, repeat: int = 1) -> None:
        for name, count in (("skip", skip), ("wait", wait), ("warmup", warmup), ("repeat", repeat)):
            if count < 0:
                raise ValueError(f"{name} is a number of steps from 0, not {count!r}")
        if active < 1:
            raise ValueError(f"active is a number of steps from 1, not {active!r}")
        self.active = active
        self.skip = skip
        self.wait = wait
        self.warmup = warmup
        self.repeat = repeat

    @property
    def needed_steps(self) -> int:
        """Steps until the last cycle is complete (the first one, where cycles go on for ever)."""
        return self.skip + max(self.repeat, 1) * (self.wait + self.warmup + self.active)

    def phase_of(self, step: int) -> int:
        """Return what happens in a step, counted from 0: IDLE, WARMUP, ACTIVE or DONE."""
        step -= self.skip
        if step < 0:
            return IDLE
        cycle, place = divmod(step, self.wait + self.warmup + self.active)
        if self.repeat and cycle >= self.repeat:
            return DONE
        if place < self.wait:
            return IDLE
        return WARMUP if place < self.wait + self.warmup else ACTIVE

    def cycle_of(self, step: int) -> int:
        """Return the number of the cycle that a step belongs to, from 0."""
        return max(step - self.skip, 0) // (self.wait + self.warmup + self.active)

    def as_json_object(self) -> dict[str, int]:
        """Return the parts by name."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        return self.as_json_object() == other.as_json_object()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Schedule({', '.join(f'{name}={value}' for name, value in self.as_json_object().items())})"
