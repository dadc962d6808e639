"""Environment variables of the recorder: everything that is read from the environment is read here."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ascend_sn.collect.config import ProfilerConfig
    from ascend_sn.collect.schedule import Schedule

__all__ = ["STANDBY", "SWITCHES", "JobPlace", "asked_output_path", "job_place", "recording_of_environment"]

ENABLE = "ASCEND_PROFILING_ENABLE"
OUTPUT_PATH = "ASCEND_PROFILING_OUTPUT_PATH"
FREQUENCY = "ASCEND_PROFILING_FREQ"
TRACE_LEVEL = "ASCEND_PROFILING_TRACE_LEVEL"
OP_LIST = "ASCEND_PROFILING_OP_LIST"
SCHEDULE = "ASCEND_PROFILING_SCHEDULE"
MAX_SIZE = "ASCEND_PROFILING_MAX_SIZE"
COMM_ENABLE = "ASCEND_HCCL_PROFILING_ENABLE"
MEMORY_ENABLE = "ASCEND_MEMORY_PROFILING_ENABLE"
COMM_LEVEL = "HCCL_TRACE_LEVEL"
COMM_OUTPUT = "HCCL_PROFILING_OUTPUT"

SWITCHES = (ENABLE, COMM_ENABLE, MEMORY_ENABLE, COMM_LEVEL, COMM_OUTPUT)
"""Each of these starts recording by itself; the start-up file of the package looks for them."""

STANDBY = "standby"
_OFF = ("", "0", "false", "off", "no")

# Rank, world size, local rank, as each launcher names them; the first launcher whose rank is set is believed.
# srun sets SLURM_STEP_NUM_TASKS; inside a plain batch script only SLURM_NTASKS exists, and the script is one
# process, not one of many.
_LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "LOCAL_RANK"),  # torchrun and what imitates it
    ("RANK_ID", "RANK_SIZE", "DEVICE_ID"),  # Ascend rank table jobs
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),  # Open MPI
    ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),  # MPICH and Intel MPI
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),  # srun
)


class JobPlace:
    """Where this process stands in its job; each part is None when the launcher does not say it."""

    __slots__ = ("local_rank", "rank", "world_size")

    def __init__(self, rank: int | None = None, world_size: int | None = None, local_rank: int | None = None) -> None:
        self.rank = rank
        self.world_size = world_size
        self.local_rank = local_rank

    @property
    def is_one_of_several(self) -> bool:
        """Whether other processes of the same job may record too; a rank without a world size counts so."""
        if self.world_size is not None:
            return self.world_size > 1
        return self.rank is not None


def job_place(environment: Mapping[str, str] | None = None) -> JobPlace:
    """Read rank, world size and local rank that torchrun, Ascend, MPI or SLURM have set.

    Args:
        environment: Variables to look at; the process's own when not given.
    """
    variables = os.environ if environment is None else environment
    for rank_name, size_name, local_name in _LAUNCHERS:
        rank = _count(variables.get(rank_name))
        world_size = _count(variables.get(size_name))
        if rank is None or (world_size is None and rank_name == "SLURM_PROCID"):
            continue
        return JobPlace(rank, world_size, _count(variables.get(local_name)))
    return _place_in_torch() if environment is None else JobPlace()


def _place_in_torch() -> JobPlace:
    """Ask torch.distributed, where the program has set it up without a launcher."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return JobPlace()
    return JobPlace(distributed.get_rank(), distributed.get_world_size())


def asked_output_path(environment: Mapping[str, str] | None = None) -> str | None:
    """Return the folder that the variables name, None where they name none.

    It holds for what the variables record and for a profiler of the program's own that was given no folder.
    """
    variables = os.environ if environment is None else environment
    return variables.get(OUTPUT_PATH) or variables.get(COMM_OUTPUT) or None


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
    is_on = {name: environment.get(name, "").strip().lower() not in _OFF for name in SWITCHES}
    if not any(is_on.values()):
        return None
    from ascend_sn.collect.config import DEFAULT_OUTPUT_PATH, DEFAULT_SAMPLE_INTERVAL_US, ProfilerConfig

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
    return config, environment.get(ENABLE, "").strip().lower() == STANDBY


_RECORDED = (*SWITCHES, OUTPUT_PATH, FREQUENCY, TRACE_LEVEL, OP_LIST, SCHEDULE, MAX_SIZE)


def _schedule(text: str, warn: Callable[[str], None]) -> Schedule | None:
    """Read `wait=1,warmup=1,active=3,repeat=1`."""
    from ascend_sn.collect.schedule import Schedule

    if not text.strip():
        return None
    try:
        parts = dict(part.split("=") for part in text.replace(" ", "").split(","))
        return Schedule(**{name: int(count) for name, count in parts.items()})
    except (TypeError, ValueError):
        warn(f"{SCHEDULE}={text!r} is not of the form skip=0,wait=1,warmup=1,active=3,repeat=1; it is left out")
        return None


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() else None
