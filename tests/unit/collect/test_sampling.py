"""Samples of load and memory: what is asked, how often, and what is left out."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ascend.profiler import Profiler
from ascend_sn.collect import sampling
from ascend_sn.collect.recorder import int64_as_double
from ascend_sn.collect.sampling import Sampler, utilisation_source
from ascend_sn.collect.trace import scratch_recorder
from ascend_sn.model.trace_schema import COUNTER
from tests.unit.collect.recorded import names, rows


class Heard:
    """Takes samples and values as a recorder does."""

    def __init__(self) -> None:
        self.counters: list[tuple[str, str, float]] = []
        self.metrics: dict[str, float] = {}

    def counter(self, name: str, unit: str, value: float) -> None:
        self.counters.append((name, unit, value))

    def metric(self, name: str, value: float) -> None:
        self.metrics[name] = value


def sampler(heard: Heard, interval_us: float, **sources: Any) -> Sampler:
    return Sampler(heard, interval_us, sources.get("memory", dict), sources.get("load"))  # type: ignore[arg-type]


def test_the_host_gives_memory_and_load() -> None:
    heard = Heard()
    one = sampler(heard, 100)

    one.start()
    one.sample()
    one.stop()

    found = {name: (unit, value) for name, unit, value in heard.counters}
    assert set(found) == {"process.resident_bytes", "process.cpu_ratio", "host.cpu_ratio"}
    assert found["process.resident_bytes"][1] > 1_000_000
    assert 0 <= found["host.cpu_ratio"][1] <= 1
    assert found["process.cpu_ratio"][1] >= 0


def test_what_the_allocator_holds_is_sampled_too() -> None:
    heard = Heard()
    one = sampler(heard, 100, memory=lambda: {"npu:0.allocated_bytes": 4096})

    one.start()
    one.sample()
    one.stop()

    assert ("npu:0.allocated_bytes", "bytes", 4096) in heard.counters


@pytest.mark.parametrize(("asked_us", "interval_s"), [(100, 0.01), (10_000, 0.01), (500_000, 0.5)])
def test_no_source_is_asked_more_often_than_its_floor(asked_us: float, interval_s: float) -> None:
    assert sampler(Heard(), asked_us).interval_s == interval_s


def test_the_interval_asked_for_and_the_one_reached_are_told() -> None:
    heard = Heard()
    one = sampler(heard, 100)

    one.start()
    for _ in range(4):
        one.sample()
    one.stop()

    assert heard.metrics["profiler.sample_interval_us.requested"] == 100
    assert set(heard.metrics) == {"profiler.sample_interval_us.requested", "profiler.sample_interval_us.host"}


def test_the_tool_of_a_device_is_asked_on_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "DEVICE_FLOOR_S", 0.001)
    heard = Heard()
    asked: list[Sampler] = []

    def load() -> dict[str, float]:
        asked.append(one)
        return {"npu:0.utilisation_ratio": 0.5}

    one = sampler(heard, 1, load=load)
    one.start()
    while len(asked) < 2:
        time.sleep(0.001)
    one.stop()

    assert ("npu:0.utilisation_ratio", "ratio", 0.5) in heard.counters
    assert heard.metrics["profiler.sample_interval_us.device"] > 0


@pytest.mark.parametrize(
    ("tool", "said", "expected"),
    [
        ("npu-smi", "\tNPU ID : 1\n\tAicore Usage Rate(%)           : 37\n", {"npu:1.utilisation_ratio": 0.37}),
        ("npu-smi", "no such device\n", {}),
        ("nvidia-smi", "81\n", {"cuda:1.utilisation_ratio": 0.81}),
        ("nvidia-smi", "[N/A]\n", {}),
    ],
)
def test_the_tools_of_devices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, said: str, expected: dict[str, float]
) -> None:
    (tmp_path / tool).write_text(f"#!/bin/sh\nprintf '%s' '{said}'\n")
    (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    source = utilisation_source(1)

    assert source is not None
    assert source() == expected


def test_without_a_tool_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert utilisation_source(0) is None


def test_samples_carry_their_units(tmp_path: Path) -> None:
    with Profiler(output_path=tmp_path, backend="host", enable_memory=True):
        pass

    units = {record["text"]: record["unit"] for record in names(tmp_path).values() if "unit" in record}
    sampled = {row.name for row in rows(tmp_path, COUNTER)}
    assert units["process.resident_bytes"] == "bytes"
    assert units["host.cpu_ratio"] == "ratio"
    assert sampled >= {"process.resident_bytes", "host.cpu_ratio"}
    assert all(int64_as_double(row.value) >= 0 for row in rows(tmp_path, COUNTER))


def test_a_recorder_takes_what_a_sampler_gives() -> None:
    recorder = scratch_recorder()
    one = Sampler(recorder, 100, dict, None)

    one.start()
    one.sample()
    one.stop()

    columns = recorder.buffer.peek()
    assert columns is not None
    assert len(columns[0]) >= 5
