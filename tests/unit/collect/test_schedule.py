"""Schedules: which steps are kept, and what is said when the program ends before they do."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ascend.profiler import Profiler
from ascend_sn.collect.schedule import ACTIVE, DONE, IDLE, WARMUP, Schedule
from ascend_sn.model.trace_schema import METRIC, MISSING_STEPS_METRIC, SESSION_END, SPAN, STEP
from tests.unit.collect.recorded import rows

SHORT = {"wait": 1, "warmup": 1, "active": 3, "repeat": 1}


def train(profiler: Profiler, steps: int) -> None:
    for _ in range(steps):
        profiler.start_op("forward")
        profiler.stop_op("forward")
        profiler.step()


def test_the_phase_of_every_step() -> None:
    schedule = Schedule(skip=2, wait=1, warmup=1, active=2, repeat=2)

    phases = [schedule.phase_of(step) for step in range(12)]

    cycle = [IDLE, WARMUP, ACTIVE, ACTIVE]
    assert phases == [IDLE, IDLE, *cycle, *cycle, DONE, DONE]
    assert schedule.needed_steps == 10


def test_only_active_steps_are_recorded_each_cycle_as_a_session(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path, schedule={"skip": 1, "wait": 1, "active": 2, "repeat": 2})

    profiler.start()
    train(profiler, 9)
    profiler.stop()

    assert [row.value for row in rows(tmp_path, STEP)] == [2, 3, 5, 6]
    assert len(rows(tmp_path, SPAN)) == 4
    assert len(rows(tmp_path, SESSION_END)) == 2
    assert profiler.fault_counts == {}


def test_cycles_without_a_pause_are_sessions_of_their_own(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path, schedule=Schedule(active=2, repeat=0))

    profiler.start()
    train(profiler, 4)
    profiler.stop()

    assert [row.value for row in rows(tmp_path, STEP)] == [0, 1, 2, 3]
    assert len(rows(tmp_path, SESSION_END)) == 3


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_program_that_never_gets_to_the_active_part_leaves_a_message_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, steps: int
) -> None:
    profiler = Profiler(output_path=tmp_path / "run", schedule=SHORT)

    with caplog.at_level(logging.WARNING):
        profiler.start()
        train(profiler, steps)
        profiler.stop()

    assert f"schedule needs 5 steps, saw {steps}; nothing recorded" in caplog.text
    assert not (tmp_path / "run").exists()
    assert profiler.output_folder is None


def test_what_the_active_part_has_is_kept_and_marked_as_incomplete(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    profiler = Profiler(output_path=tmp_path, schedule=SHORT)

    with caplog.at_level(logging.WARNING):
        profiler.start()
        train(profiler, 3)
        profiler.stop()

    assert "schedule needs 5 steps, saw 3; 1 of 3 steps recorded" in caplog.text
    assert [row.value for row in rows(tmp_path, STEP)] == [2]
    assert [row.name for row in rows(tmp_path, METRIC)].count(MISSING_STEPS_METRIC) == 1


def test_after_a_short_schedule_the_same_profiler_starts_anew(tmp_path: Path) -> None:
    profiler = Profiler(output_path=tmp_path / "run", schedule=SHORT)
    profiler.start()
    profiler.stop()

    profiler.start()
    train(profiler, 5)
    profiler.stop()

    assert [row.value for row in rows(tmp_path / "run", STEP)] == [2, 3, 4]


def test_start_while_the_schedule_waits_is_refused(tmp_path: Path) -> None:
    from ascend_sn.errors import ProfilerStateError

    profiler = Profiler(output_path=tmp_path, schedule=SHORT)
    profiler.start()

    with pytest.raises(ProfilerStateError):
        profiler.start()
    profiler.stop()


@pytest.mark.parametrize("wrong", [{"active": 0}, {"active": 1, "wait": -1}, {"active": 2, "repeat": -1}])
def test_a_schedule_without_meaning_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="steps from"):
        Profiler(schedule=wrong)


def test_a_full_trace_counts_what_it_does_not_take(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from ascend_sn.model.trace_schema import LOST

    profiler = Profiler(output_path=tmp_path, max_size=20_000)

    with caplog.at_level(logging.WARNING):
        profiler.start()
        for _ in range(50):
            train(profiler, 20)
            profiler.save()
        profiler.stop()

    kept = len(rows(tmp_path, SPAN))
    lost = sum(row.value for row in rows(tmp_path, LOST))
    assert "has reached its limit" in caplog.text
    assert 0 < kept < 1000
    assert kept + len(rows(tmp_path, STEP)) + lost >= 2000
    assert len(rows(tmp_path, SESSION_END)) == 1
    assert (tmp_path / "train.trace").stat().st_size < 30_000
