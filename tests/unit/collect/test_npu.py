"""The torch_npu backend against a stand-in with the documented interface. No device has run this yet."""

from __future__ import annotations

import gc
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import ascend_sn
from ascend.profiler import Profiler
from ascend_sn.collect import garbage
from tests.shared_data import requires_shared, shared_path
from tests.unit.collect.fake_torch_npu import fake_torch_npu

EXPORT = shared_path("data", "torch_npu", "text", "level1", "rank0_ascend_pt")


@pytest.fixture
def torch_npu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    (tmp_path / "nothing").mkdir()
    module = fake_torch_npu(EXPORT if EXPORT.is_dir() else tmp_path / "nothing")
    monkeypatch.setitem(sys.modules, "torch_npu", module)
    return module


@pytest.mark.parametrize(
    ("settings", "level", "metrics", "shapes", "stacks"),
    [
        ({"trace_level": 1, "enable_comm": False}, "Level0", "ACL_AICORE_NONE", False, False),
        ({"trace_level": 1, "comm_level": 1}, "Level0", "ACL_AICORE_NONE", False, False),
        ({"trace_level": 1, "comm_level": 2}, "Level1", "ACL_AICORE_PIPE_UTILIZATION", False, False),
        ({"trace_level": 2}, "Level1", "ACL_AICORE_PIPE_UTILIZATION", True, False),
        ({"trace_level": 3}, "Level2", "ACL_AICORE_PIPE_UTILIZATION", True, True),
    ],
)
def test_levels_become_those_of_torch_npu(
    torch_npu: Any, tmp_path: Path, settings: dict[str, Any], level: str, metrics: str, shapes: bool, stacks: bool
) -> None:
    profiler = Profiler(output_path=tmp_path / "run", enable_memory=True, **settings)

    profiler.start()
    profiler.stop()

    (profile,) = torch_npu.profiles
    asked, config = profile.asked, profile.asked["experimental_config"]
    assert profile.calls == ["start", "stop"]
    assert (config.profiler_level, config.aic_metrics, config.export_type) == (level, metrics, "text")
    assert (asked["record_shapes"], asked["with_stack"], asked["with_modules"]) == (shapes, stacks, stacks)
    assert asked["profile_memory"] is True
    assert [activity.name for activity in asked["activities"]] == ["CPU", "NPU"]
    assert profiler.fault_counts == {}


@requires_shared
def test_the_export_and_the_marks_of_the_program_are_one_profile(torch_npu: Any, tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "run")

    profiler.start()
    for _ in range(3):
        with profiler.op("forward"):
            profiler.log_metric("loss", 0.5)
        profiler.step()
    profiler.stop()

    with ascend_sn.open(EXPORT) as run:
        ((kernels,),) = run.sql("select count(*) from kernel").fetchall()
    with ascend_sn.open(tmp_path / "run") as run:
        found = run.sql("select device_kind, pid is not null, (select count(*) from kernel) from profile").fetchall()
        steps = run.sql("select step, origin from step order by step").fetchall()
        spans = run.sql("select count(*) from span where name = 'forward' and domain = 'user'").fetchall()
        losses = run.sql("select count(*) from metric where name = 'loss'").fetchall()
        capacity = run.sql("select value from metric where name = 'memory_capacity_bytes'").fetchall()
    assert found == [("npu", True, kernels)]
    assert steps == [(0, "mark"), (1, "mark"), (2, "mark")]
    assert (spans, losses) == ([(3,)], [(3,)])
    assert capacity == [(1 << 36,)]


@requires_shared
def test_collections_stand_behind_the_calls_of_the_export(
    torch_npu: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(garbage, "SHORTEST_NS", 0)
    gc.disable()
    try:
        with Profiler(output_path=tmp_path / "run") as profiler:
            gc.collect()
            profiler.step()
    finally:
        gc.enable()

    with ascend_sn.open(EXPORT) as run:
        ((theirs,),) = run.sql("select count(*) from host_call").fetchall()
    with ascend_sn.open(tmp_path / "run") as run:
        collected = run.sql("select host_call_id from host_call where level = 'gc'").fetchall()
        launches = run.sql("select count(*) from kernel join host_call using (profile_id, host_call_id)").fetchall()
    with ascend_sn.open(EXPORT) as run:
        assert (
            launches
            == run.sql("select count(*) from kernel join host_call using (profile_id, host_call_id)").fetchall()
        )
    assert collected[0] == (theirs,)


@requires_shared
def test_each_session_is_a_capture_with_its_own_marks(torch_npu: Any, tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "run")

    for steps in (1, 2):
        profiler.start()
        for _ in range(steps):
            with profiler.op("forward"):
                pass
            profiler.step()
        profiler.stop()

    with ascend_sn.open(tmp_path / "run") as run:
        counted = run.sql("select profile_id, count(*) from step group by 1 order by 1").fetchall()
    assert counted == [(0, 1), (1, 2)]


def test_without_an_export_the_spans_are_used_and_it_is_said(torch_npu: Any, tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "run")
    profiler.start()
    with profiler.op("forward"):
        pass
    profiler.stop()
    shutil.rmtree(tmp_path / "run" / "torch_npu")

    with ascend_sn.open(tmp_path / "run") as run:
        assert run.sql("select device_kind from profile").fetchall() == [("host",)]
        assert run.sql("select count(*) from damage where kind = 'missing_export'").fetchall() == [(1,)]


def test_a_failing_device_leaves_the_training_and_its_spans_alone(
    torch_npu: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise RuntimeError("device lost")

    monkeypatch.setattr(torch_npu.npu, "synchronize", fail)
    profiler = Profiler(output_path=tmp_path / "run", backend="torch_npu")
    profiler.start()
    with profiler.op("forward"):
        pass
    profiler.stop()

    assert "device lost" in caplog.text
    with ascend_sn.open(tmp_path / "run") as run:
        assert run.sql("select name from span").fetchall() == [("forward",)]
