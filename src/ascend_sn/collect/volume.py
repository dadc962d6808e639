"""How large a recording is going to be: an estimate from its first steps, held against what there is room for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ascend_sn.collect.schedule import Schedule

__all__ = ["SHORT_S", "forecast_text", "planned_steps"]

SHORT_S = 600.0
"""A recording without a planned end is spoken of when its room lasts no longer than this."""


def planned_steps(schedule: Schedule | None) -> int | None:
    """Return how many steps are to be recorded; None where the end is open."""
    if schedule is None or schedule.repeat == 0:
        return None
    return schedule.active * schedule.repeat


def forecast_text(
    written_bytes: int, step_count: int, seconds: float, *, planned: int | None, room_bytes: int
) -> str | None:
    """Return what to say of a recording that will not fit; None of one that will.

    Args:
        written_bytes: What the first steps took.
        step_count: How many these were, at least 1.
        seconds: How long they took.
        planned: Steps that are to be recorded in all; None where the end is open.
        room_bytes: What the recording may take in all.
    """
    step_bytes = max(written_bytes, 1) / step_count
    fitting = int(room_bytes / step_bytes)
    each = f"about {_size(step_bytes)} a step"
    if planned is not None:
        if fitting >= planned:
            return None
        return (
            f"{each}: the {planned} steps of the schedule would take {_size(step_bytes * planned)}, there is room for "
            f"{_size(room_bytes)}; recording will end after about {fitting} steps. Record fewer steps or operators, "
            "or raise max_size"
        )
    lasts_s = room_bytes * seconds / max(written_bytes, 1)
    if lasts_s > SHORT_S:
        return None
    return (
        f"{each}: the room of {_size(room_bytes)} lasts for about {fitting} steps or {lasts_s:.0f} s. Give a schedule, "
        "record fewer operators, or raise max_size"
    )


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"
