from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ascend_sn.analysis.steps.throughput_sweep import sweep, throughput_sweep
from tests.unit.analysis.traces import Row, numbered, results

MS = 1_000_000.0


def run(name: str, dur_ns: int) -> Row:
    return ("span", {"name": name, "ts_ns": 0, "dur_ns": dur_ns})


def test_2_ms_for_one_and_3_75_for_eight_are_1_75_plus_a_quarter_each() -> None:
    found = sweep({1: [2 * MS], 8: [3.75 * MS]})

    assert found is not None
    assert [found.fixed_ns, found.per_sample_ns] == pytest.approx([1.75 * MS, 0.25 * MS])
    assert [point.samples_per_s for point in found.points] == pytest.approx([500, 8 / 3.75e-3])


def test_the_knee_is_the_smallest_batch_near_the_highest_throughput() -> None:
    found = sweep({1: [1.0 * MS], 8: [2.0 * MS], 16: [3.2 * MS], 32: [6.3 * MS], 64: [12.5 * MS]})

    assert found is not None
    # per ms: 1, 4, 5, 5.08, 5.12
    assert (found.knee, found.highest, found.best) == (16, 64, None)


def test_the_best_batch_under_a_limit_keeps_it_with_its_slow_runs_too() -> None:
    latencies = {1: [1 * MS] * 10, 8: [2 * MS] * 10, 16: [3 * MS] * 9 + [50 * MS]}

    limited, impossible = sweep(latencies, limit_ns=4 * MS), sweep(latencies, limit_ns=0.5 * MS)

    assert limited is not None
    assert impossible is not None
    assert (limited.best, impossible.best) == (8, None)


def test_one_size_has_no_line_and_nothing_gives_nothing() -> None:
    found = sweep({4: [1.0, 3.0]})

    assert found is not None
    assert (found.fixed_ns, found.knee, found.points[0].runs, found.points[0].mean_ns) == (None, 4, 2, 2.0)
    assert sweep({}) is None
    assert sweep({0: [1.0], 4: []}) is None


def test_ranges_that_name_a_batch_size_are_runs() -> None:
    rows = [
        run("batch_size=1", 2_000_000),
        run("batch 8", 3_750_000),
        run("batch 8", 3_750_000),
        run("batch of data", 5),
    ]

    one, eight = results(throughput_sweep, numbered(rows))

    assert (one["batch_size"], one["runs"], one["is_knee"], one["is_highest"]) == (1, 1, False, False)
    assert (eight["batch_size"], eight["runs"], eight["is_knee"], eight["is_highest"]) == (8, 2, True, True)
    assert (eight["fixed_ns"], eight["per_sample_ns"]) == (pytest.approx(1.75 * MS), pytest.approx(0.25 * MS))


@given(st.dictionaries(st.integers(1, 64), st.lists(st.floats(1, 1e9), min_size=1, max_size=5), min_size=1, max_size=8))
def test_the_knee_is_no_larger_than_the_highest_and_reaches_95_percent(latencies: dict[int, list[float]]) -> None:
    found = sweep(latencies)

    assert found is not None
    rates = {point.batch_size: point.samples_per_s for point in found.points}
    assert found.knee <= found.highest
    assert rates[found.knee] >= 0.95 * rates[found.highest]
    assert rates[found.highest] == max(rates.values())
