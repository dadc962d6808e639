"""The snippets of both guides as a user writes them, on a real network; the tests bring what the guides leave out."""

from __future__ import annotations

import runpy
import sys
import time
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader

import ascend_sn
from ascend_sn.cli.main import main

EXAMPLE = Path(__file__).parents[2] / "examples" / "profiling.py"


@pytest.fixture(autouse=True)
def _npu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """`.npu()`, `torch.npu` and `acl`, which do nothing here; and no profiler is left running."""
    for kind in (torch.Tensor, nn.Module):
        monkeypatch.setattr(kind, "npu", lambda self: self, raising=False)
    npu = types.SimpleNamespace(max_memory_allocated=lambda: 0, is_available=lambda: True, synchronize=lambda: None)
    monkeypatch.setattr(torch, "npu", npu, raising=False)
    acl = types.SimpleNamespace(init=lambda: 0, rt=types.SimpleNamespace(create_context=lambda device: (object(), 0)))
    monkeypatch.setitem(sys.modules, "acl", acl)
    yield
    monkeypatch.undo()
    autograd: Any = torch.autograd
    assert not autograd._profiler_enabled()


@pytest.fixture
def training() -> dict[str, Any]:
    """What the guides take for granted."""
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 6 * 6, 4), nn.LayerNorm(4))
    samples = [{"input": torch.full((1, 8, 8), index / 8), "label": index % 4} for index in range(8)]
    return {
        "model": model,
        "loss_fn": nn.CrossEntropyLoss(),
        "optimizer": torch.optim.SGD(model.parameters(), 0.1),
        "dataloader": DataLoader(samples, batch_size=2),  # type: ignore[arg-type]
        "target": torch.zeros(2, dtype=torch.int64),
        "num_epochs": 2,
    }


def run(snippet: str, **names: Any) -> dict[str, Any]:
    exec(compile(snippet, "<guide>", "exec"), names)
    return names


def tables(folder: str | Path, sql: str) -> list[Any]:
    with ascend_sn.open(folder) as opened:
        rows: list[Any] = opened.sql(sql).fetchall()
    return rows


def test_a_2_2(training: dict[str, Any], tmp_path: Path) -> None:
    snippet = """
from ascend.profiler import Profiler, ProfilerConfig
config = ProfilerConfig(
    output_path=PATH,
    trace_ops=["MatMul", "Conv2d", "LayerNorm", "Softmax"],
    enable通信=True,
    enable_memory=True,
    sample_interval=100
)
profiler = Profiler(config)
for epoch in range(num_epochs):
    profiler.start()
    for batch in dataloader:
        output = model(batch)
        loss = loss_fn(output, target)
        loss.backward()
        optimizer.step()
    profiler.stop()
profiler.save()
print(f"Profiling data saved to {config.output_path}")
"""
    network = training["model"]
    training["model"] = lambda batch: network(batch["input"])

    run(snippet, PATH=str(tmp_path / "run"), **training)

    kernels = dict(tables(tmp_path / "run", "select name, count(*) from kernel group by 1"))
    ((sessions, kind),) = tables(tmp_path / "run", "select session_count, device_kind from profile")
    assert (sessions, kind) == (2, "cpu")
    assert kernels["aten::native_layer_norm"] == 8
    assert "aten::threshold_backward" not in kernels
    assert tables(tmp_path / "run", "select count(*) > 0 from memory_event") == [(True,)]


def test_a_3_1(training: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    snippet = """
from ascend.profiler import Profiler

profiler = Profiler(output_path=PATH)

for batch_idx, batch in enumerate(dataloader):
    data_start = time.time()
    # 数据传输到 NPU
    data, target = batch["input"].npu(), batch["label"].npu()
    data_time = time.time() - data_start
    # 模型计算
    profiler.start_op("forward")
    output = model(data)
    loss = loss_fn(output, target)
    profiler.stop_op("forward")
    profiler.start_op("backward")
    loss.backward()
    profiler.stop_op("backward")
    profiler.start_op("optimizer")
    optimizer.step()
    profiler.stop_op("optimizer")
    # 记录数据加载时间
    profiler.log_metric("data_time", data_time)
    if batch_idx % 100 == 0:
        print(profiler.summary())
"""

    names = run(snippet, PATH=str(tmp_path / "run"), time=time, **training)
    names["profiler"].stop()  # the program's exit does this

    assert "bottleneck: compute" in capsys.readouterr().out
    spans = dict(tables(tmp_path / "run", "select name, count(*) from span group by 1"))
    assert spans == {"forward": 4, "backward": 4, "optimizer": 4}
    assert tables(tmp_path / "run", "select count(*) from metric where name = 'data_time'") == [(4,)]


def test_a_3_3_the_loop_over_layers_and_the_one_call(
    training: dict[str, Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    snippet = """
for name, module in model.named_modules():
    if isinstance(module, nn.Linear):
        memory_before = torch.npu.max_memory_allocated()
        output = module(input)
        memory_after = torch.npu.max_memory_allocated()
        print(f"{name}: {memory_after - memory_before:.2f}MB")
"""

    run(snippet, nn=nn, torch=torch, input=torch.ones(1, 72), **training)
    monkeypatch.undo()
    run(
        "from ascend.profiler import memory_by_module\nmemory_by_module(model, x)", x=torch.ones(1, 1, 8, 8), **training
    )

    printed = capsys.readouterr().out
    assert "3: 0.00MB\n" in printed
    assert "3: 0.00MB held" in printed


def test_a_5_1(training: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    snippet = """
from ascend.profiler import InferenceProfiler
profiler = InferenceProfiler(model)
profiler.profile(test_input)
"""

    run(snippet, test_input=torch.ones(1, 1, 8, 8), **training)

    printed = capsys.readouterr().out
    assert "latency over 100 runs" in printed
    assert [line.split()[0] for line in printed.splitlines()[2:]] == ["copy_in", "inference", "copy_out", "total"]


def test_a_5_2(capsys: pytest.CaptureFixture[str]) -> None:
    snippet = """
from ascend.profiler import measure_throughput
results = measure_throughput(model, (3, 224, 224))
best = max(results, key=lambda x: x["throughput"])
print(f"\\n最优配置: batch_size={best['batch_size']}, throughput={best['throughput']:.1f}")
"""
    model = types.SimpleNamespace(predict=lambda batch: np.shape(batch))

    names = run(snippet, model=model)

    assert [row["batch_size"] for row in names["results"]] == [1, 4, 8, 16, 32]
    assert "最优配置: batch_size=" in capsys.readouterr().out


def test_a_7(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch, "npu", None)
    monkeypatch.delattr(torch, "npu")
    options = (
        ["--output", "my_profile"],
        ["--output", "b", "--ops", "MatMul", "Conv2d", "LayerNorm", "Softmax"],
        ["--output", "c", "--epochs", "3"],
    )

    for words in options:
        monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *words])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    with pytest.raises(SystemExit) as stopped:
        main(["report", "--input", "my_profile", "--output", "my_report.html"])

    assert stopped.value.code == 0
    assert (tmp_path / "my_report.html").read_text(encoding="utf-8").count("aten::") > 0
    assert capsys.readouterr().out.count("Profiling complete. See") == 3
    assert tables(tmp_path / "c", "select session_count from profile") == [(3,)]


def test_b(training: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snippet = """
import acl
from asc_tools.profiler import Profiler

acl.init()
context, ret = acl.rt.create_context(0)

profiler = Profiler(device_id=0)
profiler.start(
    output_dir="./profiler_data",
    collect_ops=True,
    collect_memory=True,
    collect_comm=True,
    sample_interval_us=100,
)
train_one_epoch(model, dataloader, optimizer)
profiler.stop()
print(f"数据已保存至 ./profiler_data")
"""
    monkeypatch.chdir(tmp_path)

    def train_one_epoch(model: Any, dataloader: Any, optimizer: Any) -> None:
        for batch in dataloader:
            torch.autograd.backward(training["loss_fn"](model(batch["input"]), batch["label"]))
            optimizer.step()

    run(snippet, train_one_epoch=train_one_epoch, **training)

    assert (tmp_path / "profiler_data" / "train.trace").is_file()
    ((convolutions,),) = tables("profiler_data", "select count(*) from operator where name = 'aten::conv2d'")
    ((device,),) = tables("profiler_data", "select config from profile")
    assert convolutions == 4
    assert '"device_id":0' in device
