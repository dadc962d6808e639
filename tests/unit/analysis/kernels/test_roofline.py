from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.kernels.chips import Chip
from ascend_sn.analysis.kernels.roofline import roofline
from tests.unit.analysis.traces import Row, database, dicts, kernel, numbered, operator

CHIP = Chip("test chip", ("TestChip",), ("made up",), {"float16": 320e12, "float32": 80e12, "tf32": 160e12}, 1.6e12)


def rated(rows: list[Row], device_name: str | None = "TestChip") -> list[dict[str, Any]]:
    profile: Row = ("profile", {"device_name": device_name})
    return dicts(roofline(database([profile, *numbered(rows)]), [CHIP]))


def matmul(dur_ns: int, **more: Any) -> Row:
    shapes = {"input_shapes": "4096,4096;4096,4096", "input_dtypes": "FLOAT16;FLOAT16"}
    return kernel(0, dur_ns, "MatMulV2", **shapes, output_shapes="4096,4096", output_dtypes="FLOAT16", **more)


def add(dur_ns: int, **more: Any) -> Row:
    shapes = {"input_shapes": "4096,4096;4096,4096", "input_dtypes": "FLOAT16;FLOAT16"}
    return kernel(0, dur_ns, "Add", **shapes, output_shapes="4096,4096", output_dtypes="FLOAT16", **more)


def metric(kernel_id: int, name: str, value: float) -> Row:
    return ("kernel_metric", {"kernel_id": kernel_id, "metric": name, "value": value})


def test_a_product_of_4096_in_859_us_reaches_half_of_320_tflops() -> None:
    (row,) = rated([matmul(859_000)])

    assert row["flops"] == 2 * 4096**3
    assert row["bytes"] == 3 * 4096**2 * 2
    assert row["flops_per_s"] == pytest.approx(160e12, rel=1e-3)
    assert row["efficiency_ratio"] == pytest.approx(0.5, rel=1e-3)
    assert row["flops_per_byte"] == pytest.approx(1365, abs=0.5)
    assert row["ridge_flops_per_byte"] == 200
    assert (row["bound"], row["bound_source"], row["is_anomaly"], row["chip"]) == (
        "compute",
        "roofline",
        False,
        "test chip",
    )


def test_an_addition_of_4096_squared_in_83900_ns_reaches_three_quarters_of_the_bandwidth() -> None:
    (row,) = rated([add(83_900)])

    assert row["bytes_per_s"] == pytest.approx(1.2e12, rel=1e-3)
    assert row["efficiency_ratio"] == pytest.approx(0.75, rel=1e-3)
    assert (row["flops"], row["bound"], row["utilisation_source"]) == (None, "memory", "efficiency")


def test_without_a_known_chip_no_utilisation_is_shown() -> None:
    (row,) = rated([matmul(859_000)], device_name="Ascend910B")
    hidden = ("chip", "ridge_flops_per_byte", "roof_ns", "efficiency_ratio", "is_anomaly", "utilisation_ratio", "bound")

    assert [row[name] for name in hidden] == [None] * len(hidden)
    assert row["flops_per_s"] == pytest.approx(160e12, rel=1e-3)  # measured, not rated


def test_faster_than_the_roof_is_an_anomaly() -> None:
    (row,) = rated([add(50_000)])

    assert row["is_anomaly"] is True
    assert row["efficiency_ratio"] == pytest.approx(1.258, abs=1e-3)


@pytest.mark.parametrize(
    ("mac", "mte2", "bound"),
    [(0.85, 0.99, "compute"), (0.8, 0.96, "memory"), (0.49, 0.49, "latency"), (0.5, 0.4, "mixed"), (0.3, 0.9, "mixed")],
)
def test_the_hardware_ratios_decide_where_they_were_collected(mac: float, mte2: float, bound: str) -> None:
    rows = [
        matmul(859_000),
        metric(0, "aic_mac_ratio", mac),
        metric(0, "aic_mte2_ratio", mte2),
        metric(0, "aiv_vec_ratio", 0),
    ]
    (row,) = rated(rows, device_name=None)

    assert (row["bound"], row["bound_source"]) == (bound, "hardware")
    assert (row["utilisation_ratio"], row["utilisation_source"]) == (mac, "mac_ratio")


def test_70_percent_of_the_memory_bandwidth_is_memory_bound_too() -> None:
    rows = [add(83_900), metric(0, "aiv_vec_ratio", 0.2), metric(0, "aiv_mte2_ratio", 0.6)]
    (row,) = rated(rows)

    assert (row["bound"], row["bound_source"], row["utilisation_source"]) == ("memory", "hardware", "vec_ratio")


def test_equal_calls_are_one_row_and_metrics_are_weighted_by_duration() -> None:
    rows = [matmul(100), matmul(300), metric(0, "aic_mac_ratio", 0.4), metric(1, "aic_mac_ratio", 0.8)]
    (row,) = rated(rows)

    assert (row["calls"], row["total_ns"], row["mean_ns"], row["share_ratio"]) == (2, 400, 200.0, 1.0)
    assert row["mac_ratio"] == pytest.approx(0.7)


def test_kernels_without_shapes_count_with_the_operator_that_launched_them() -> None:
    op = operator("aten::mm", 0, 5, input_shapes="64,32;32,16", input_dtypes="c10::Half;c10::Half")
    (row,) = rated([op, kernel(0, 60, "splitK", operator_id=0), kernel(60, 40, "reduce", operator_id=0)])

    assert (row["op_type"], row["calls"], row["total_ns"], row["flops"]) == ("aten::mm", 1, 100, 2 * 64 * 32 * 16)
    assert row["bytes"] is None  # the output was not recorded


def test_float32_convolutions_are_held_against_the_shorter_format() -> None:
    shapes = {"input_shapes": "1,16,10,10;16,16,3,3", "input_dtypes": "FLOAT;FLOAT", "output_dtypes": "FLOAT"}
    flops = 2 * 16 * 64 * 16 * 9
    (row,) = rated([kernel(0, 1000, "Conv2D", output_shapes="1,16,8,8", **shapes)])

    assert row["flops"] == flops
    assert row["ridge_flops_per_byte"] == 100  # 160e12 / 1.6e12


def test_a_blocked_convolution_counts_the_operators_own_weight() -> None:
    op = operator("aten::convolution", 0, 5, input_shapes="1,3,10,10;16,3,3,3")
    shapes = {"input_shapes": "1,1,10,10,8;9,1,16,8", "input_dtypes": "FLOAT;FLOAT", "output_dtypes": "FLOAT"}
    (row,) = rated([op, kernel(0, 1000, "Conv2D", output_shapes="1,2,8,8,8", operator_id=0, **shapes)])

    assert row["flops"] == 2 * 16 * 64 * 27
