from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.kernels.frequency import frequency
from tests.unit.analysis.traces import Row, kernel, numbered, results


def sample(ts_ns: int, mhz: float, **more: Any) -> Row:
    return ("counter", {"name": "AI Core Freq", "unit": "MHz", "ts_ns": ts_ns, "value": mhz, **more})


def test_time_below_the_highest_sample_is_weighed_by_what_was_computed() -> None:
    rows = numbered([sample(0, 1800.0), sample(50, 900.0), sample(80, 1800.0), kernel(10, 30), kernel(60, 40)])

    (row,) = results(frequency, rows)

    # busy 30 + 40, of which [60, 80) at 900
    assert (row["rated_mhz"], row["rated_source"], row["samples"]) == (1800.0, "highest sample", 3)
    assert (row["busy_ns"], row["low_ns"], row["min_mhz"]) == (70, 20, 900.0)
    assert row["low_ratio"] == pytest.approx(2 / 7)
    assert row["busy_mean_mhz"] == pytest.approx((50 * 1800 + 20 * 900) / 70)


def test_a_known_chip_tells_the_rated_frequency() -> None:
    profile: Row = ("profile", {"device_name": "Ascend910B3"})

    (row,) = results(frequency, [profile, *numbered([sample(0, 1500.0), kernel(10, 30)])])

    assert (row["rated_mhz"], row["rated_source"], row["low_ratio"]) == (1800.0, "chip", 1.0)


def test_slow_kernels_are_held_against_the_frequency() -> None:
    kernels = [kernel(20 * at, 10, "MatMul") for at in range(9)] + [
        kernel(200, 30, "MatMul"),
        kernel(240, 30, "MatMul"),
    ]
    rows = numbered([sample(0, 1800.0), sample(195, 900.0), sample(235, 1800.0), *kernels])

    (row,) = results(frequency, rows)

    assert (row["slow_kernels"], row["slow_while_low"]) == (2, 1)


def test_time_before_the_first_sample_is_not_known_and_idle_low_does_not_matter() -> None:
    (row,) = results(frequency, numbered([kernel(0, 40), sample(30, 1800.0), sample(50, 800.0)]))

    assert (row["busy_ns"], row["low_ns"], row["low_ratio"]) == (10, 0, 0.0)


def test_other_counters_are_no_frequency() -> None:
    assert results(frequency, numbered([sample(0, 5.0, name="HBM", unit="bytes/s"), kernel(0, 40)])) == []
