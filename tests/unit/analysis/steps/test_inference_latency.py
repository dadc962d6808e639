from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from ascend_sn.analysis.steps.inference_latency import STAGES, inference_latency
from tests.unit.analysis.traces import Row, captures, collective, kernel, numbered, operator, results, step


def request(ts_ns: int, dur_ns: int) -> Row:
    return ("span", {"name": "run", "domain": "request", "thread": "main", "ts_ns": ts_ns, "dur_ns": dur_ns})


def served(begin: int, copy_in: int, work: int, copy_out: int, gap: int = 0) -> list[Row]:
    total = copy_in + work + copy_out + gap
    return [
        request(begin, total),
        kernel(begin, copy_in, "copy", "copy", copy_direction="h2d"),
        kernel(begin + copy_in, work, "MatMul"),
        kernel(begin + copy_in + work, copy_out, "copy", "copy", copy_direction="d2h"),
    ]


def by_stage(rows: list[Row]) -> dict[str, dict[str, Any]]:
    return {row["stage"]: row for row in results(inference_latency, numbered(rows))}


def test_1_8_1_are_10_80_and_10_percent_of_the_total() -> None:
    found = by_stage(served(0, 1, 8, 1))

    assert {stage: row["share_ratio"] for stage, row in found.items()} == {
        "total": 1.0, "copy_in": 0.1, "inference": 0.8, "copy_out": 0.1, "gap": 0.0,
    }  # fmt: skip
    assert tuple(found) == STAGES


def test_the_first_request_is_told_from_the_steady_ones_and_percentiles_are_over_requests() -> None:
    rows = served(0, 10, 100, 10) + [row for at in range(1, 10) for row in served(1000 * at, 10, 20, 10, 5)]

    total = by_stage(rows)["total"]

    assert (total["requests"], total["first_ns"], total["steady_mean_ns"], total["max_ns"]) == (10, 120, 45.0, 120)
    assert (total["p50_ns"], total["mean_ns"]) == (45.0, 52.5)
    assert total["p99_ns"] == pytest.approx(45 + 0.91 * 75)
    assert by_stage(rows)["gap"]["mean_ns"] == 4.5


def test_copies_without_a_direction_go_in_before_the_work_and_out_after_it() -> None:
    rows = [request(0, 10), kernel(0, 2, "copy", "copy"), kernel(2, 5), kernel(7, 3, "copy", "copy")]

    found = by_stage(rows)

    assert (found["copy_in"]["max_ns"], found["copy_out"]["max_ns"]) == (2, 3)


def test_copies_under_work_take_no_time_of_their_own() -> None:
    rows = [request(0, 10), kernel(0, 8), kernel(2, 4, "copy", "copy", copy_direction="h2d", stream="2")]

    assert by_stage(rows)["copy_in"]["max_ns"] == 0


def test_steps_are_requests_unless_the_profile_trains() -> None:
    work = [step(0, 10), kernel(0, 8)]

    assert by_stage(work)["total"]["source"] == "step"
    assert by_stage([*work, operator("backward", 0, 5, phase="backward")]) == {}
    assert by_stage([*work, collective(0, 5)]) == {}


@settings(max_examples=20, deadline=None)
@given(captures())
def test_the_stages_sum_to_the_total(rows: list[Row]) -> None:
    found = by_stage([*rows, request(0, 40)])

    assert sum(found[stage]["max_ns"] for stage in STAGES[1:]) == found["total"]["max_ns"] == 40
