"""The trials of predictions: every cell names programs that exist, and the simulated device is recorded as it ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from ascend_sn.collect import Profiler
from ascend_sn.replay import Replay
from ascend_sn.store import open_run
from benchmarks import prediction_device
from benchmarks.prediction import CELLS
from benchmarks.simulated_device import SimulatedDevice

STEPS = 6


def test_cells_have_names_of_their_own() -> None:
    assert len({cell.name for cell in CELLS}) == len(CELLS) > 12


def test_device_cells_name_trainings() -> None:
    named = {name for cell in CELLS if cell.program == "prediction_device" for name in (cell.before, cell.after)}

    assert named == set(prediction_device.TRAININGS)


def test_torch_cells_name_trainings() -> None:
    pytest.importorskip("torch")
    from benchmarks import prediction_torch

    named = {name for cell in CELLS if cell.program == "prediction_torch" for name in (cell.before, cell.after)}

    assert named == prediction_torch.LOADERS.keys() | prediction_torch.NORMALISED.keys()


def test_the_simulated_device_is_recorded_as_it_ran(tmp_path: Path) -> None:
    train, waits = prediction_device.TRAININGS["loss read"]
    device = SimulatedDevice()
    profiler = Profiler(output_path=str(tmp_path / "run"))
    with device.recorded(), profiler:
        for _ in range(STEPS):
            train(device, profiler, waits)
            profiler.step()
    device.close()

    with open_run(tmp_path / "run", cache_dir=tmp_path / "cache") as run:
        (kernels,) = run.sql("""
            select count(*), count(host_call_id), count(operator_id), min(dur_ns) >= 2000000, count(distinct stream)
            from kernel
        """).fetchall()
        calls = run.sql("select name, count(*) from host_call group by 1 order by 1").fetchall()
        replay = Replay.of(run)

    assert profiler.fault_counts == {}
    assert kernels == (12 * STEPS, 12 * STEPS, 12 * STEPS, True, 1)
    assert calls == [("cudaDeviceSynchronize", STEPS), ("cudaLaunchKernel", 12 * STEPS)]
    assert isinstance(replay, Replay)
    assert (replay.violations, replay.identity_error_ratio) == (0, 0)
