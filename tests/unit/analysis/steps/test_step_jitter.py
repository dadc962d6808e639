from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.steps.step_jitter import step_changes, step_jitter
from tests.unit.analysis.traces import Row, call, kernel, numbered, results, step


def steps(durations: list[int], *more: Row) -> list[Row]:
    rows: list[Row] = []
    at = 0
    for number, dur in enumerate(durations):
        rows.append(step(at, dur, number))
        at += dur
    return numbered([*rows, *more])


def test_ten_steps_of_100_and_ten_of_120() -> None:
    durations = [100] * 10 + [120] * 10

    (jitter,) = results(step_jitter, steps(durations))
    (change,) = results(step_changes, steps(durations))

    assert (jitter["steps"], jitter["mean_ns"], jitter["p50_ns"], jitter["changes"]) == (20, 110.0, 110.0, 1)
    assert jitter["cv_ratio"] == pytest.approx(10 * (20 / 19) ** 0.5 / 110)
    assert jitter["p99_over_p50"] == pytest.approx(120 / 110)
    assert (change["place"], change["step_id"], change["step"], change["ts_ns"]) == (10, 10, 10, 1000)
    assert (change["change_ns"], change["change_ratio"], change["cause"]) == (20.0, 0.2, None)


def growing(part: str) -> list[Row]:
    """From step 10 on 20 ns more of one part; a step begins with a launch of 5 and ends with 95 of compute."""
    rows: list[Row] = []
    at = 0
    for number in range(20):
        extra = 20 if number >= 10 else 0
        rows.append(step(at, 100 + extra, number))
        begin = at + (extra if part in ("gc", "python") else 0)
        if part == "gc" and extra:
            rows.append(call("GC", at, extra, level="gc"))
        busy = 95 + (extra if part == "compute" else 0)
        linked: dict[str, Any] = {"step_id": number, "host_call_id": sum(table == "host_call" for table, _ in rows)}
        rows += [call("launch", begin, 5), kernel(begin + 5, busy, **linked)]
        if part == "comm" and extra:
            rows.append(kernel(begin + 100, extra, "R", "communication", stream="2", step_id=number))
        at += 100 + extra
    return numbered(rows)


@pytest.mark.parametrize(
    ("part", "cause"),
    [("compute", "compute"), ("comm", "exposed_comm"), ("gc", "free: gc"), ("python", "free: host_python")],
)
def test_the_cause_is_the_part_that_grew(part: str, cause: str) -> None:
    (change,) = results(step_changes, growing(part))

    assert (change["place"], change["cause"], change["cause_change_ns"]) == (10, cause, 20.0)


def test_a_single_step_has_no_spread() -> None:
    (row,) = results(step_jitter, steps([100]))

    assert (row["steps"], row["cv_ratio"], row["p99_over_p50"], row["changes"]) == (1, None, 1.0, 0)
