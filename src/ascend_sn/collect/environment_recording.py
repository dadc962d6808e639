"""What the environment variables ask to record: their values, read and checked."""

from __future__ import annotations

from ascend_sn.collect.config import DEFAULT_OUTPUT_PATH, DEFAULT_SAMPLE_INTERVAL_US, ProfilerConfig
from ascend_sn.collect.environment import (
    COMM_ENABLE,
    COMM_LEVEL,
    COMM_OUTPUT,
    ENABLE,
    FREQUENCY,
    MAX_SIZE,
    MEMORY_ENABLE,
    OP_LIST,
    OUTPUT_PATH,
    SCHEDULE,
    SWITCHES,
    TRACE_LEVEL,
    asked_output_path,
)
from ascend_sn.collect.schedule import Schedule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["recording_of_environment"]

_PREFIX = "ASCEND_PROFILING_"
_STANDBY = "standby"
_OFF = ("", "0", "false", "off", "no")
_RECORDED = (*SWITCHES, OUTPUT_PATH, FREQUENCY, TRACE_LEVEL, OP_LIST, SCHEDULE, MAX_SIZE)


def recording_of_environment(
    environment: Mapping[str, str], warn: Callable[[str], None]
) -> tuple[ProfilerConfig, bool] | None:
    """Return what the variables ask for: the settings, and whether to wait for a command (standby).

    A value without meaning is said and the default taken, so that a typing error does not cost the training.

    Args:
        environment: The variables.
        warn: Gets a sentence for every value that cannot be used.

    Returns:
        None when no switch is on.
    """
    _say_misspelt(environment, warn)
    is_on = {name: environment.get(name, "").strip().lower() not in _OFF for name in SWITCHES}
    if not any(is_on.values()):
        return None

    def number(name: str, lowest: float, highest: float, default: float) -> float:
        text = environment.get(name, "").strip()
        if not text:
            return default
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if lowest <= value <= highest:
            return value
        warn(f"{name}={text!r} is no number from {lowest:g} to {highest:g}; {default:g} is used")
        return default

    # 0 turns a level off; the switch above has seen to that.
    comm_level = number(COMM_LEVEL, 1, 3, 3) if is_on[COMM_LEVEL] else 3
    frequency = number(FREQUENCY, 0.001, 1e6, 1e6 / DEFAULT_SAMPLE_INTERVAL_US)
    config = ProfilerConfig(
        output_path=asked_output_path(environment) or DEFAULT_OUTPUT_PATH,
        trace_ops=environment.get(OP_LIST) or None,
        enable_comm=is_on[COMM_ENABLE] or is_on[COMM_LEVEL] or is_on[COMM_OUTPUT],
        enable_memory=is_on[MEMORY_ENABLE],
        sample_interval=1e6 / frequency,
        trace_level=int(number(TRACE_LEVEL, 1, 3, 2)),
        comm_level=int(comm_level),
        schedule=_schedule(environment.get(SCHEDULE, ""), warn),
    )
    if environment.get(MAX_SIZE):
        config.max_size = int(number(MAX_SIZE, 1, 1 << 62, config.max_size))
    config.environment = {name: environment[name] for name in _RECORDED if name in environment}
    return config, environment.get(ENABLE, "").strip().lower() == _STANDBY


def _say_misspelt(environment: Mapping[str, str], warn: Callable[[str], None]) -> None:
    """Name the variables that are nearly ours: they would be ignored in silence."""
    known = _RECORDED
    for name in environment:
        if name.startswith(_PREFIX) and name not in known:
            from difflib import get_close_matches

            for nearest in get_close_matches(name, known, n=1, cutoff=0.8):
                warn(f"{name} is not a variable of ascend-sn and is ignored; did you mean {nearest}?")


def _schedule(text: str, warn: Callable[[str], None]) -> Schedule | None:
    """Read `wait=1,warmup=1,active=3,repeat=1`."""
    if not text.strip():
        return None
    try:
        parts = dict(part.split("=") for part in text.replace(" ", "").split(","))
        return Schedule(**{name: int(count) for name, count in parts.items()})
    except (TypeError, ValueError):
        warn(f"{SCHEDULE}={text!r} is not of the form skip=0,wait=1,warmup=1,active=3,repeat=1")
        return None
