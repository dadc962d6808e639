from __future__ import annotations

import pytest

from ascend_sn.collect.environment import job_place


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, (None, None, None, False)),
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, (3, 8, 1, True)),
        ({"RANK": "0", "WORLD_SIZE": "1"}, (0, 1, None, False)),
        ({"RANK": "0"}, (0, None, None, True)),
        ({"WORLD_SIZE": "8"}, (None, None, None, False)),
        ({"RANK_ID": "5", "RANK_SIZE": "16", "DEVICE_ID": "5"}, (5, 16, 5, True)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2, None, True)),
        ({"PMI_RANK": "1", "PMI_SIZE": "4"}, (1, 4, None, True)),
        ({"SLURM_PROCID": "2", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "0"}, (2, 4, 0, True)),
        # A batch script that srun did not start is one process, however many tasks the job may start.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, (None, None, None, False)),
        # torchrun inside a SLURM step: the inner launcher is believed.
        (
            {"RANK": "6", "WORLD_SIZE": "8", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"},
            (6, 8, None, True),
        ),
        ({"RANK": "main", "WORLD_SIZE": "8"}, (None, None, None, False)),
    ],
)
def test_the_place_in_the_job(
    environment: dict[str, str], expected: tuple[int | None, int | None, int | None, bool]
) -> None:
    place = job_place(environment)

    assert (place.rank, place.world_size, place.local_rank, place.is_one_of_several) == expected
