from __future__ import annotations

from pathlib import Path

import pytest

from ascend.profiler import ProfilerConfig


def test_every_argument_is_readable_under_its_name(tmp_path: Path) -> None:
    config = ProfilerConfig(
        output_path=tmp_path,
        trace_ops=["MatMul", "Conv2d"],
        enable_ops=False,
        enable通信=False,
        enable_memory=True,
        sample_interval=100,
        device_id=1,
    )

    assert config.output_path == tmp_path
    assert config.trace_ops == ("MatMul", "Conv2d")
    assert (config.enable_ops, config.enable_memory) == (False, True)
    assert (config.enable_comm, config.enable通信) == (False, False)
    assert (config.sample_interval, config.device_id) == (100, 1)


def test_operator_types_as_a_comma_list_are_the_same() -> None:
    assert ProfilerConfig(trace_ops="MatMul, Conv2d,").trace_ops == ("MatMul", "Conv2d")


@pytest.mark.parametrize(
    ("wrong", "nearest"),
    [
        ("output", "output_path"),
        ("trace_op", "trace_ops"),
        ("enable_communication", "enable_comm"),
        ("enable通讯", "enable通信"),
        ("sample_interval_us", "sample_interval"),
    ],
)
def test_an_unknown_argument_names_the_nearest_one(wrong: str, nearest: str) -> None:
    with pytest.raises(TypeError) as raised:
        ProfilerConfig(**{wrong: 1})  # type: ignore[arg-type]

    assert repr(wrong) in str(raised.value)
    assert repr(nearest) in str(raised.value)


@pytest.mark.parametrize("interval", [0, -1, float("nan")])
def test_an_interval_without_meaning_is_refused(interval: float) -> None:
    with pytest.raises(ValueError, match="sample_interval"):
        ProfilerConfig(sample_interval=interval)


def test_an_empty_path_is_refused() -> None:
    with pytest.raises(ValueError, match="output_path"):
        ProfilerConfig(output_path="")


def test_the_two_spellings_of_one_argument_must_agree() -> None:
    assert ProfilerConfig(enable_comm=True, enable通信=True).enable_comm

    with pytest.raises(ValueError, match="enable_comm"):
        ProfilerConfig(enable_comm=True, enable通信=False)
