"""Environment variables of the recorder: everything that is read from the environment is read here."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["JobPlace", "job_place"]

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
    return JobPlace()


def _count(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() else None
