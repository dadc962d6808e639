"""The snippets of the two guides, as a user writes them."""

from __future__ import annotations

import sys
import time
import types
from pathlib import Path

import pytest

from ascend_sn.model.trace_schema import METRIC, SESSION_END, SPAN
from tests.unit.collect.recorded import rows, run_script

A_3_1 = """
import sys, time
from ascend.profiler import Profiler
profiler = Profiler(output_path=sys.argv[1])
for batch_idx, batch in enumerate(range(200)):
    data_start = time.time()
    data = batch
    data_time = time.time() - data_start
    profiler.start_op("forward")
    loss = data * 2
    profiler.stop_op("forward")
    profiler.start_op("backward")
    grad = loss * 2
    profiler.stop_op("backward")
    profiler.start_op("optimizer")
    grad -= 1
    profiler.stop_op("optimizer")
    profiler.log_metric("data_time", data_time)
    if batch_idx % 100 == 0:
        print(profiler.summary())
"""


def test_guide_a_3_1_without_start_stop_or_save(tmp_path: Path) -> None:
    done = run_script(A_3_1, tmp_path / "profiling")

    spans = rows(tmp_path / "profiling", SPAN)
    assert [row.name for row in spans[:3]] == ["forward", "backward", "optimizer"]
    assert len(spans) == 600
    assert len([row for row in rows(tmp_path / "profiling", METRIC) if row.name == "data_time"]) == 200
    assert len(rows(tmp_path / "profiling", SESSION_END)) == 1
    assert done.stdout.count("forward") >= 2
    assert done.stderr == ""


def test_guide_a_2_2_one_session_per_epoch(tmp_path: Path) -> None:
    from ascend.profiler import Profiler, ProfilerConfig

    config = ProfilerConfig(
        output_path=str(tmp_path / "profiling"),
        trace_ops=["MatMul", "Conv2d", "LayerNorm", "Softmax"],
        enable通信=True,
        enable_memory=True,
        sample_interval=100,
    )
    profiler = Profiler(config)

    for _ in range(3):
        profiler.start()
        for _ in range(5):
            with profiler.op("forward"):
                pass
        profiler.stop()
    profiler.save()

    assert config.output_path == str(tmp_path / "profiling")
    assert len(rows(config.output_path, SPAN)) == 15
    assert [row.value for row in rows(config.output_path, SESSION_END)] == [0, 1, 2]


def test_guide_b_with_its_runtime_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("acl")
    fake.init = lambda: 0  # type: ignore[attr-defined]
    fake.rt = types.SimpleNamespace(create_context=lambda device: (object(), 0))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "acl", fake)
    monkeypatch.chdir(tmp_path)

    import acl  # type: ignore[import-not-found]

    from asc_tools.profiler import Profiler

    acl.init()
    _context, _ret = acl.rt.create_context(0)
    profiler = Profiler(device_id=0)
    profiler.start(
        output_dir="./profiler_data",
        collect_ops=True,
        collect_memory=True,
        collect_comm=True,
        sample_interval_us=100,
    )
    profiler.start_op("forward")
    profiler.stop_op("forward")
    profiler.stop()

    folder = tmp_path / "profiler_data"
    assert [row.name for row in rows(folder, SPAN)] == ["forward"]
    # Final without save(): an Arrow stream ends with this mark.
    assert (folder / "train.trace").read_bytes().endswith(b"\xff\xff\xff\xff\0\0\0\0")
    assert profiler.config.device_id == 0
    assert profiler.config.sample_interval == 100


def test_the_guide_measures_seconds_and_they_count_as_the_data_phase(tmp_path: Path) -> None:
    from ascend.profiler import Profiler

    profiler = Profiler(output_path=tmp_path)
    begin = time.perf_counter()
    with profiler.op("forward"):
        pass
    profiler.log_metric("data_time", (time.perf_counter() - begin) + 1.0)

    table = profiler.summary()
    profiler.stop()

    assert "bottleneck: data" in table
