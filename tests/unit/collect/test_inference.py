"""Latency by parts and throughput by batch size, on anything that can be called."""

from __future__ import annotations

import sys
import types
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest

from ascend.profiler import InferenceProfiler, add_arguments, measure_throughput
from ascend_sn.collect.inference import PARTS


class Model:
    """Has a `predict`, as the guide's models do."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []

    def predict(self, data: Any) -> Any:
        self.inputs.append(data)
        return data


class Moving:
    """Data that notes where it was moved to."""

    def __init__(self, moves: list[str]) -> None:
        self.moves = moves

    def npu(self) -> Moving:
        self.moves.append("in")
        return self

    def cpu(self) -> Moving:
        self.moves.append("out")
        return self


def test_ten_warm_up_runs_and_the_asked_number(capsys: pytest.CaptureFixture[str]) -> None:
    model = Model()

    table = InferenceProfiler(model).profile([1, 2], num_runs=7)

    assert len(model.inputs) == 17
    assert tuple(table) == PARTS
    assert str(table) in capsys.readouterr().out


def test_the_parts_share_the_total() -> None:
    table = InferenceProfiler(lambda data: data).profile(1, num_runs=5)

    assert sum(table[part]["share_ratio"] for part in PARTS[:3]) == pytest.approx(1)
    assert table["total"]["share_ratio"] == 1
    assert sum(table[part]["mean_ms"] for part in PARTS[:3]) == pytest.approx(table["total"]["mean_ms"])
    for row in table.values():
        assert row["p50_ms"] <= row["p90_ms"] <= row["p99_ms"]


def test_where_a_device_exists_the_copies_are_made_and_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[None] = []
    npu = types.SimpleNamespace(is_available=lambda: True, synchronize=lambda: waits.append(None))
    module = type("Module", (), {})
    fake = types.SimpleNamespace(npu=npu, nn=types.SimpleNamespace(Module=module), no_grad=nullcontext)
    monkeypatch.setitem(sys.modules, "torch", fake)
    moves: list[str] = []

    table = InferenceProfiler(lambda data: data["x"][0]).profile({"x": [Moving(moves)]}, num_runs=2)

    assert moves == ["in", "out"] * 12
    assert len(waits) == 8
    assert table.has_device


def test_a_number_of_runs_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="num_runs"):
        InferenceProfiler(Model()).profile(1, num_runs=0)


def test_the_throughput_of_every_batch_size(capsys: pytest.CaptureFixture[str]) -> None:
    model = Model()

    results = measure_throughput(model, (3, 2), [1, 4], num_runs=3)

    assert [row["batch_size"] for row in results] == [1, 4]
    assert [data.shape for data in model.inputs] == [(1, 3, 2)] * 13 + [(4, 3, 2)] * 13
    assert {data.dtype for data in model.inputs} == {np.dtype(np.float32)}
    for row in results:
        assert row["throughput"] == pytest.approx(row["batch_size"] / row["avg_latency"] * 1000)
        assert row["p50_latency"] <= row["p99_latency"]
    best = max(results, key=lambda x: x["throughput"])
    assert [row["is_best"] for row in results] == [row is best for row in results]
    assert capsys.readouterr().out.count("Batch ") == 2


def test_a_limit_that_nothing_keeps_picks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    results = measure_throughput(Model(), (1,), [1], num_runs=2, latency_limit_ms=0)

    assert [row["is_best"] for row in results] == [False]
    assert "no batch size" in capsys.readouterr().out


def test_memory_by_module_follows_the_allocations(capsys: pytest.CaptureFixture[str]) -> None:
    import torch
    from torch import nn

    from ascend.profiler import memory_by_module

    model = nn.Sequential(nn.Linear(10, 1000), nn.ReLU(), nn.Linear(1000, 5))

    rows = memory_by_module(model, torch.ones(100, 10))

    figures = {row["name"]: (row["type"], row["retained_bytes"], row["peak_bytes"]) for row in rows}
    hidden, result = 4 * 100 * 1000, 4 * 100 * 5
    assert figures == {
        "": ("Sequential", hidden + result, 2 * hidden),
        "0": ("Linear", hidden, hidden),
        "1": ("ReLU", hidden, hidden),
        "2": ("Linear", result, result),
    }
    assert all(row["call_count"] == 1 for row in rows)
    assert "0: 0.40MB held" in capsys.readouterr().out


def test_memory_by_module_takes_modules_only() -> None:
    from ascend.profiler import memory_by_module

    with pytest.raises(TypeError, match="Module"):
        memory_by_module(lambda x: x, 1)


def test_a_script_takes_profile_as_its_own_argument(tmp_path: Any) -> None:
    from argparse import ArgumentParser

    from ascend.profiler import Profiler

    parser = ArgumentParser()
    add_arguments(parser)
    off = Profiler.from_args(parser.parse_args([]))
    words = ["--profile", "--profile-output", str(tmp_path / "on"), "--profile-ops", "MatMul", "--profile-memory"]
    on = Profiler.from_args(parser.parse_args([*words, "--profile-level", "3"]))

    for profiler in (off, on):
        profiler.start()
        with profiler.op("forward"):
            profiler.step()
        profiler.stop()

    assert off.output_folder is None
    assert on.output_folder == str(tmp_path / "on")
    assert (on.config.trace_ops, on.config.enable_memory, on.config.trace_level) == (("MatMul",), True, 3)
    assert off.summary() == "ascend-sn: nothing recorded yet"
