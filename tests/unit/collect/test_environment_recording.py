"""What the variables ask for."""

from __future__ import annotations

import pytest

from ascend_sn.collect.config import ProfilerConfig
from ascend_sn.collect.environment_recording import recording_of_environment
from ascend_sn.collect.schedule import Schedule


def asked(**environment: str) -> ProfilerConfig:
    complaints: list[str] = []
    found = recording_of_environment(environment, complaints.append)
    assert complaints == []
    assert found is not None
    return found[0]


def test_without_a_switch_nothing_is_asked_for() -> None:
    others = {"ASCEND_PROFILING_OUTPUT_PATH": "x", "ASCEND_PROFILING_FREQ": "10", "ASCEND_PROFILING_ENABLE": "0"}

    assert recording_of_environment(others, pytest.fail) is None
    assert recording_of_environment({"HCCL_TRACE_LEVEL": "0"}, pytest.fail) is None


def test_the_first_switch_alone_records_operators_only() -> None:
    config = asked(ASCEND_PROFILING_ENABLE="1")

    assert (config.enable_ops, config.enable_comm, config.enable_memory) == (True, False, False)
    assert config.output_path == "./ascend_profiling"


def test_every_variable_of_the_guide() -> None:
    config = asked(
        ASCEND_PROFILING_ENABLE="1",
        ASCEND_PROFILING_OUTPUT_PATH="/somewhere",
        ASCEND_PROFILING_FREQ="1000",
        ASCEND_PROFILING_TRACE_LEVEL="3",
        ASCEND_PROFILING_OP_LIST="MatMul,Conv2d,LayerNorm",
        ASCEND_HCCL_PROFILING_ENABLE="1",
        ASCEND_MEMORY_PROFILING_ENABLE="1",
    )

    assert (config.output_path, config.sample_interval, config.trace_level) == ("/somewhere", 1000, 3)
    assert config.trace_ops == ("MatMul", "Conv2d", "LayerNorm")
    assert (config.enable_comm, config.enable_memory) == (True, True)
    assert config.as_json_object()["environment"] == {
        "ASCEND_PROFILING_ENABLE": "1",
        "ASCEND_PROFILING_OUTPUT_PATH": "/somewhere",
        "ASCEND_PROFILING_FREQ": "1000",
        "ASCEND_PROFILING_TRACE_LEVEL": "3",
        "ASCEND_PROFILING_OP_LIST": "MatMul,Conv2d,LayerNorm",
        "ASCEND_HCCL_PROFILING_ENABLE": "1",
        "ASCEND_MEMORY_PROFILING_ENABLE": "1",
    }


def test_each_other_switch_starts_by_itself_and_adds_its_part() -> None:
    memory = asked(ASCEND_MEMORY_PROFILING_ENABLE="1")
    level = asked(HCCL_TRACE_LEVEL="1")
    folder = asked(HCCL_TRACE_LEVEL="3", HCCL_PROFILING_OUTPUT="/comm")

    assert (memory.enable_memory, memory.enable_comm) == (True, False)
    assert (level.enable_comm, level.comm_level, level.enable_memory) == (True, 1, False)
    assert (folder.comm_level, folder.output_path) == (3, "/comm")


def test_the_path_of_the_recording_comes_before_that_of_communication() -> None:
    assert asked(HCCL_PROFILING_OUTPUT="/b", ASCEND_PROFILING_OUTPUT_PATH="/a").output_path == "/a"


def test_a_schedule_and_a_limit() -> None:
    config = asked(
        ASCEND_PROFILING_ENABLE="1",
        ASCEND_PROFILING_SCHEDULE="wait=5, active=3",
        ASCEND_PROFILING_MAX_SIZE="1000000",
    )

    assert config.schedule == Schedule(wait=5, active=3)
    assert config.max_size == 1_000_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ASCEND_PROFILING_FREQ", "fast"),
        ("ASCEND_PROFILING_FREQ", "0"),
        ("ASCEND_PROFILING_TRACE_LEVEL", "7"),
        ("HCCL_TRACE_LEVEL", "9"),
        ("ASCEND_PROFILING_SCHEDULE", "often"),
        ("ASCEND_PROFILING_SCHEDULE", "active=0"),
        ("ASCEND_PROFILING_MAX_SIZE", "nan"),
    ],
)
def test_a_value_without_meaning_is_said_and_the_default_taken(name: str, value: str) -> None:
    complaints: list[str] = []

    found = recording_of_environment({"ASCEND_PROFILING_ENABLE": "1", name: value}, complaints.append)

    assert found is not None
    config = found[0]
    assert len(complaints) == 1
    assert name in complaints[0]
    assert repr(value) in complaints[0]
    assert (config.trace_level, config.comm_level, config.schedule, config.sample_interval) == (2, 3, None, 1000)


def test_standby_waits_for_a_command() -> None:
    assert recording_of_environment({"ASCEND_PROFILING_ENABLE": "standby"}, pytest.fail) is not None
    found = recording_of_environment({"ASCEND_PROFILING_ENABLE": "standby"}, pytest.fail)
    assert found is not None
    assert found[1] is True


def test_a_misspelt_variable_is_said() -> None:
    complaints: list[str] = []

    found = recording_of_environment({"ASCEND_PROFILING_ENABLED": "1"}, complaints.append)

    assert found is None
    assert complaints == [
        "ASCEND_PROFILING_ENABLED is not a variable of ascend-sn and is ignored; did you mean ASCEND_PROFILING_ENABLE?"
    ]


def test_a_variable_like_none_of_ours_is_left_alone() -> None:
    assert recording_of_environment({"ASCEND_PROFILING_ANYTHING_ELSE": "1"}, pytest.fail) is None
