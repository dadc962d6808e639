from __future__ import annotations

from ascend_sn.analysis.host.launch_statistics import launch_statistics
from tests.unit.analysis.traces import call, kernel, numbered, results


def test_a_kernel_of_3_us_behind_a_call_of_6_us_is_short() -> None:
    rows = numbered([call("launch", 0, 6_000), kernel(8_000, 3_000, "Add", host_call_id=0)])

    (row,) = results(launch_statistics, rows)

    assert (row["op_type"], row["calls"], row["short_count"], row["long_count"]) == ("Add", 1, 1, 0)
    assert (row["launch_p50_ns"], row["kernel_p50_ns"], row["delay_max_ns"]) == (6_000, 3_000, 8_000)


def test_long_launches_and_delays_are_counted_by_type() -> None:
    rows = numbered([call("launch", 0, 50_000), call("launch", 60_000, 50_001), call("launch", 200_000, 10),
                     kernel(55_000, 60_000, host_call_id=0), kernel(120_000, 60_000, host_call_id=1),
                     kernel(199_000, 60_000, host_call_id=2), kernel(300_000, 1)])  # fmt: skip

    (row,) = results(launch_statistics, rows)

    assert (row["calls"], row["long_count"], row["short_count"], row["early_count"]) == (3, 1, 0, 1)
    assert (row["delay_p50_ns"], row["delay_max_ns"], row["total_delay_ns"]) == (55_000, 60_000, 115_000)
