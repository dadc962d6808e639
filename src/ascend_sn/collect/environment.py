"""Environment variables of the recorder: their names, and what they say of the job and of the place for files."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "COMM_ENABLE",
    "COMM_LEVEL",
    "COMM_OUTPUT",
    "ENABLE",
    "FREQUENCY",
    "MAX_SIZE",
    "MEMORY_ENABLE",
    "OP_LIST",
    "OUTPUT_PATH",
    "SCHEDULE",
    "STARTED",
    "SWITCHES",
    "TRACE_LEVEL",
    "JobPlace",
    "asked_output_path",
    "job_place",
]

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

STARTED = "_ASCEND_SN_STARTED"
"""Holds the number of the process that `ascend-sn run` became: whoever started it waits for a recording."""

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


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() else None
