from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.communication.alpha_beta import ANALYSIS
from tests.unit.analysis.traces import Row, collective, numbered, results

MB = 1_000_000


def recorded(size_bytes: int, transit_ns: int, **more: Any) -> Row:
    parts: dict[str, Any] = {"transit_ns": transit_ns, "wait_ns": 0, "idle_ns": 0, "method": "recorded"}
    return collective(0, transit_ns, size_bytes=size_bytes, **parts, **more)


def test_20_us_and_100_us_per_megabyte_are_a_start_of_20_us_and_10_gb_per_s() -> None:
    rows = numbered([recorded(size * MB, 20_000 + 100_000 * size) for size in (1, 2, 4)])

    (row,) = results(ANALYSIS, rows)

    assert (row["fitted"], row["reason"], row["sizes"], row["calls"]) == (True, None, 3, 3)
    assert row["alpha_ns"] == pytest.approx(20_000)
    assert row["bandwidth_bytes_per_s"] == pytest.approx(10e9)
    assert row["knee_bytes"] == pytest.approx(200_000)
    assert (row["small_calls_ratio"], row["small_bytes_ratio"]) == (0.0, 0.0)
    assert row["alpha_time_ratio"] == pytest.approx(60 / 760)


def test_calls_below_the_knee_are_small() -> None:
    sizes = (10_000, 50_000, 1_000_000)
    rows = numbered([recorded(size, 20_000 + size // 10) for size in sizes])

    (row,) = results(ANALYSIS, rows)

    assert row["knee_bytes"] == pytest.approx(200_000)
    assert row["small_calls_ratio"] == pytest.approx(2 / 3)
    assert row["small_bytes_ratio"] == pytest.approx(60_000 / 1_060_000)


@pytest.mark.parametrize(
    ("messages", "reason"),
    [([(1, 10), (4, 40)], "sizes"), ([(1, 10), (2, 20), (3, 30)], "range"), ([(1, 30), (2, 20), (4, 10)], "slope")],
)
def test_too_few_sizes_too_narrow_a_range_and_falling_times_are_not_fitted(
    messages: list[tuple[int, int]], reason: str
) -> None:
    (row,) = results(ANALYSIS, numbered([recorded(size * MB, us * 1000) for size, us in messages]))

    assert (row["fitted"], row["reason"], row["alpha_ns"], row["bandwidth_bytes_per_s"]) == (False, reason, None, None)


def test_transports_are_fitted_apart_and_local_copies_do_not_count() -> None:
    def link(collective_id: int, transport: str, size_bytes: int) -> Row:
        return ("link", {"collective_id": collective_id, "transport": transport, "size_bytes": size_bytes, "dur_ns": 1})

    rows = numbered([recorded(size * MB, 20_000 + 100_000 * size) for size in (1, 2, 4)])
    rows += [link(at, "LOCAL", 9 * MB) for at in range(3)] + [
        link(0, "RDMA", 2),
        link(0, "HCCS", 5),
        link(1, "RDMA", 5),
    ]

    assert {(row["transport"], row["calls"]) for row in results(ANALYSIS, rows)} == {
        ("HCCS", 1),
        ("RDMA", 1),
        (None, 1),
    }


def test_calls_without_a_known_transit_are_left_out() -> None:
    assert results(ANALYSIS, numbered([collective(0, 10, size_bytes=MB)])) == []
