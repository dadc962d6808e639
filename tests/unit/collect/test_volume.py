"""The estimate of a recording's size: figures by hand."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ascend.profiler import Profiler
from ascend_sn.collect.schedule import Schedule
from ascend_sn.collect.volume import expected_text, forecast_text, planned_steps

MB = 1_000_000


def test_before_the_start_the_schedule_is_told_with_an_assumed_program() -> None:
    text, fits = expected_text(100, 2000 * MB, with_memory=False)  # 20,000 operators of 41 bytes, a hundred times

    assert fits
    assert text == (
        "about 82 MB for the 100 steps of the schedule, if a step has 20,000 operators; there is room for 2 GB, "
        "which is 2,439 such steps"
    )


def test_before_the_start_a_schedule_that_may_not_fit_is_found() -> None:
    text, fits = expected_text(100, 200 * MB, with_memory=True)  # three rows to an operator: 2.46 MB a step

    assert not fits
    assert "about 246 MB for the 100 steps" in text
    assert "81 such steps" in text


def test_before_the_start_an_open_end_is_told_by_the_step() -> None:
    assert expected_text(None, 82 * MB, with_memory=False) == (
        "about 820 kB a step, with no planned end, if a step has 20,000 operators; there is room for 82 MB, which is "
        "100 such steps",
        True,
    )


def test_what_fits_is_not_spoken_of() -> None:
    assert forecast_text(2 * MB, 10, 5.0, planned=100, room_bytes=20 * MB) is None
    assert forecast_text(2 * MB, 10, 5.0, planned=None, room_bytes=2000 * MB) is None


def test_a_schedule_that_will_not_fit_is_told_with_its_size() -> None:
    text = forecast_text(2 * MB, 10, 5.0, planned=1000, room_bytes=100 * MB)

    assert text is not None
    assert text.startswith("about 200 kB a step: the 1000 steps of the schedule would take 200 MB")
    assert "there is room for 100 MB; recording will end after about 500 steps" in text


def test_an_open_end_is_told_when_the_room_lasts_for_minutes_only() -> None:
    text = forecast_text(20 * MB, 10, 5.0, planned=None, room_bytes=2000 * MB)

    assert text is not None
    assert "the room of 2 GB lasts for about 1000 steps or 500 s" in text


def test_no_room_at_all_is_told() -> None:
    text = forecast_text(0, 1, 1.0, planned=3, room_bytes=0)

    assert text is not None
    assert "after about 0 steps" in text


@pytest.mark.parametrize(
    ("schedule", "steps"),
    [
        (None, None),
        (Schedule(active=3, repeat=0), None),
        (Schedule(active=3, wait=5), 3),
        (Schedule(active=3, repeat=4), 12),
    ],
)
def test_planned_steps(schedule: Schedule | None, steps: int | None) -> None:
    assert planned_steps(schedule) == steps


@pytest.mark.parametrize(("max_size", "is_said"), [(1 << 30, False), (50_000, True)])
def test_the_first_steps_are_held_against_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, max_size: int, is_said: bool
) -> None:
    monkeypatch.setattr("ascend_sn.collect.volume.FORECAST_AFTER_S", 0.0)
    one = Profiler(output_path=tmp_path, backend="host", schedule={"active": 1000}, max_size=max_size)

    with caplog.at_level(logging.WARNING), one:
        for _ in range(5):
            for _ in range(20):
                with one.op("forward"):
                    pass
            one.step()
        for _ in range(2):  # the writing thread does it by itself, a moment later
            trace = one._trace
            assert trace is not None
            trace._flush_at_s = 0.0
            trace.tick()

    assert ("the 1000 steps of the schedule would take" in caplog.text) == is_said
    assert caplog.text.count("a step:") == is_said
