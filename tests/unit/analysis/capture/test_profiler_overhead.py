from __future__ import annotations

import pytest

from ascend_sn.analysis.capture.profiler_overhead import profiler_overhead
from tests.unit.analysis.traces import Row, call, numbered, results, step


def metric(name: str, value: float) -> Row:
    return ("metric", {"name": name, "ts_ns": 0, "value": value})


def span(ts_ns: int, dur_ns: int, domain: str = "user") -> Row:
    return ("span", {"name": "s", "domain": domain, "ts_ns": ts_ns, "dur_ns": dur_ns})


def test_the_recorders_own_figures_are_added_up() -> None:
    rows = numbered([step(0, 10_000), metric("profiler.span_cost_ns", 200.0), metric("profiler.flush_ns", 300.0),
                     metric("profiler.flush_ns", 100.0), span(0, 10), span(20, 10), span(40, 10)])  # fmt: skip

    (row,) = results(profiler_overhead, rows)

    assert (row["spans"], row["span_total_ns"], row["flush_ns"]) == (3, 600.0, 400.0)
    assert (row["overhead_ns"], row["window_ns"], row["overhead_ratio"]) == (1000.0, 10_000, 0.1)
    assert (row["calls_ns"], row["step_overhead_ratio"]) == (None, None)


def test_ranges_and_calls_of_other_profilers_are_overhead() -> None:
    rows = numbered([step(0, 1000), span(0, 30, "overhead"), span(50, 10), call("Activity Buffer Request", 100, 20)])

    (row,) = results(profiler_overhead, rows)

    assert (row["calls_ns"], row["overhead_ratio"], row["spans"], row["span_cost_ns"]) == (50, 0.05, 1, None)


def test_against_a_step_without_the_profiler() -> None:
    rows = numbered([step(0, 105), step(105, 110, 2), step(215, 130, 3), metric("unprofiled_step_ns", 100.0)])

    (row,) = results(profiler_overhead, rows)

    assert (row["step_ns"], row["unprofiled_step_ns"]) == (110.0, 100.0)
    assert row["step_overhead_ratio"] == pytest.approx(0.1)


def test_a_profile_of_which_nothing_is_known_has_no_row() -> None:
    assert results(profiler_overhead, numbered([step(0, 100), span(0, 10), metric("loss", 1.0)])) == []
