from __future__ import annotations

import pytest

from ascend_sn.analysis.kernels.format_waste import format_waste, waste_kind
from ascend_sn.store import open_run
from tests.shared_data import requires_shared, shared_path
from tests.unit.analysis.traces import Row, dicts, kernel, numbered, results


def convert(ts_ns: int, dur_ns: int, source: str, target: str, name: str = "TransData") -> Row:
    shapes = {"NCHW": "32,64,55,55", "NC1HWC0": "32,4,55,55,16", "ND": "8,4"}
    formats = {"input_formats": source, "output_formats": target, "input_dtypes": "FLOAT", "output_dtypes": "FLOAT"}
    return kernel(ts_ns, dur_ns, name, input_shapes=shapes[source], output_shapes=shapes[target], **formats)


def test_a_conversion_that_is_undone_at_once_is_an_inverse_pair() -> None:
    (row,) = results(format_waste, numbered([convert(0, 20, "NCHW", "NC1HWC0"), convert(20, 30, "NC1HWC0", "NCHW")]))

    assert (row["kind"], row["op_type"], row["calls"], row["total_ns"]) == ("format", "TransData", 2, 50)
    assert (row["inverse_pairs"], row["inverse_ns"], row["share_ratio"], row["inverse_share_ratio"]) == (
        1,
        50,
        1.0,
        1.0,
    )


def test_work_between_them_gives_the_conversion_a_reason_and_a_cast_does_not() -> None:
    there, back = convert(0, 20, "NCHW", "NC1HWC0"), convert(60, 20, "NC1HWC0", "NCHW")
    cast = kernel(30, 5, "Cast", input_shapes="8", output_shapes="8", input_dtypes="FLOAT", output_dtypes="FLOAT16")

    worked = results(format_waste, numbered([there, kernel(30, 10, "Conv2D", input_shapes="1"), back]))
    idle = results(format_waste, numbered([there, cast, back]))

    assert [row["inverse_pairs"] for row in worked] == [0]
    assert [(row["op_type"], row["inverse_pairs"]) for row in idle] == [("TransData", 1), ("Cast", 0)]


def test_three_conversions_hold_one_pair_and_the_same_direction_none() -> None:
    three = [convert(0, 9, "NCHW", "NC1HWC0"), convert(10, 9, "NC1HWC0", "NCHW"), convert(20, 9, "NCHW", "NC1HWC0")]
    same = [convert(0, 9, "NCHW", "NC1HWC0"), convert(10, 9, "NCHW", "NC1HWC0")]

    assert [row["inverse_pairs"] for row in results(format_waste, numbered(three))] == [1]
    assert [row["inverse_pairs"] for row in results(format_waste, numbered(same))] == [0]


def test_without_shapes_pairs_are_not_known() -> None:
    (row,) = results(format_waste, numbered([kernel(0, 5, "TransData"), kernel(5, 5, "TransData")]))

    assert (row["calls"], row["inverse_pairs"], row["inverse_ns"]) == (2, None, None)


@pytest.mark.parametrize(
    ("op_type", "kind"),
    [("TransData", "format"), ("Transpose", "transpose"), ("TransposeD", "transpose"), ("Cast", "cast"),
     ("TensorMove", "copy"), ("aten::contiguous", "copy"), ("MatMulV2", None), (None, None)],
)  # fmt: skip
def test_kinds_by_type(op_type: str | None, kind: str | None) -> None:
    assert waste_kind(op_type) == kind


@requires_shared
def test_on_the_sample_57_conversions_take_16_percent() -> None:
    path = shared_path("data", "torch_npu", "text", "level1", "rank0_ascend_pt")
    with open_run(path) as run:
        by_type = {row["op_type"]: row for row in dicts(format_waste(run.db))}

    assert (by_type["TransData"]["calls"], by_type["TransData"]["total_ns"]) == (57, pytest.approx(1_423_208, abs=100))
    assert by_type["TransData"]["share_ratio"] == pytest.approx(0.160, abs=1e-3)
    assert (by_type["TensorMove"]["calls"], by_type["TensorMove"]["total_ns"]) == (11, pytest.approx(573_791, abs=100))
