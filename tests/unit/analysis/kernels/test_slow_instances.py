from __future__ import annotations

from ascend_sn.analysis.kernels.slow_instances import slow_instances
from tests.unit.analysis.traces import Row, kernel, numbered, results


def cohort(durations: list[int], **more: str) -> list[Row]:
    return [kernel(at * 1000, dur, "MatMul", **more) for at, dur in enumerate(durations)]


def test_one_of_30_among_nine_of_10_is_slow() -> None:
    (row,) = results(slow_instances, numbered(cohort([10] * 4 + [30] + [10] * 5)))

    assert (row["kernel_id"], row["dur_ns"], row["median_ns"], row["excess_ns"]) == (4, 30, 10, 20)
    assert row["cohort_count"] == 10
    assert row["cohort_share_ratio"] == 20 / 120
    assert row["robust_z"] > 3.5


def test_other_shapes_are_another_cohort() -> None:
    rows = cohort([10] * 5, input_shapes="8,8;8,8") + cohort([30] * 5, input_shapes="16,16;16,16")

    assert results(slow_instances, numbered(rows)) == []


def test_other_outputs_are_another_cohort_and_kernels_without_shapes_have_none_beside_others_with_shapes() -> None:
    to_wide = cohort([10] * 5, input_shapes="8,8", output_shapes="1,8,16")
    to_narrow = cohort([30] * 5, input_shapes="8,8", output_shapes="2,8,8")

    assert results(slow_instances, numbered(to_wide + to_narrow)) == []
    assert results(slow_instances, numbered(to_wide + cohort([10, 10, 10, 90]))) == []


def test_what_spreads_widely_or_is_within_30_percent_of_the_median_is_not_slow() -> None:
    assert results(slow_instances, numbered(cohort([10, 14, 18, 22, 26, 30]))) == []
    assert results(slow_instances, numbered(cohort([100] * 9 + [130]))) == []
    assert len(results(slow_instances, numbered(cohort([100] * 9 + [131])))) == 1


def test_two_instances_have_no_median_to_hold_one_against() -> None:
    assert results(slow_instances, numbered(cohort([10, 100]))) == []
