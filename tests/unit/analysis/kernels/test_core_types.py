from __future__ import annotations

import pytest

from ascend_sn.analysis.kernels.core_types import core_types, metadata_operators
from ascend_sn.store import open_run
from tests.shared_data import requires_shared, shared_path
from tests.unit.analysis.traces import Row, call, dicts, kernel, numbered, operator, results, step

MS = 1_000_000


def test_one_operator_of_2_ms_on_the_ai_cpu() -> None:
    rows = numbered([
        step(0, 10 * MS), operator("aten::index", 0, MS),
        kernel(0, 2 * MS, "Index", core_type="AI_CPU", input_dtypes="INT64;FLOAT", operator_id=0),
        kernel(2 * MS, 6 * MS, "MatMul", core_type="AI_CORE"),
    ])  # fmt: skip

    (row,) = results(core_types, rows)

    assert (row["issue"], row["op_type"], row["operator_name"]) == ("ai_cpu", "Index", "aten::index")
    assert (row["calls"], row["total_ns"], row["ns_per_step"], row["steps"]) == (1, 2 * MS, 2.0 * MS, 1)
    assert (row["share_ratio"], row["dtype_cause"]) == (0.25, "int64")


def test_a_matrix_product_on_a_vector_core_is_named_and_an_addition_there_is_not() -> None:
    rows = numbered(
        [kernel(0, 4, "MatMulV2", core_type="AI_VECTOR_CORE"), kernel(4, 4, "Add", core_type="AI_VECTOR_CORE")]
    )

    (row,) = results(core_types, rows)

    assert (row["issue"], row["op_type"], row["total_ns"], row["share_ratio"]) == ("vector_core", "MatMulV2", 4, 0.5)


def fallback(*more: Row) -> list[Row]:
    """A kernel at [0, 10) and [30, 40); aten::isin on the host from 8 to 20, with an inner operator."""
    return numbered([
        operator("aten::mm", 0, 2), operator("aten::isin", 8, 12), operator("aten::sort", 9, 5, parent_id=1, depth=1),
        operator("aten::view", 21, 4), operator("aten::mm", 25, 2), kernel(0, 10, operator_id=0),
        kernel(30, 10, operator_id=4), *more,
    ])  # fmt: skip


def test_an_operator_without_a_kernel_counts_while_the_device_is_free() -> None:
    (row,) = results(core_types, fallback())

    assert (row["issue"], row["operator_name"], row["core_type"]) == ("host_fallback", "aten::isin", "host")
    assert (row["calls"], row["total_ns"], row["idle_ns"], row["share_ratio"]) == (1, 12, 10, None)


def test_an_operator_that_waits_for_the_device_is_no_fallback() -> None:
    assert results(core_types, fallback(call("aclrtSynchronizeStream", 10, 2))) == []


def test_an_operator_that_spends_its_time_on_allocation_is_no_fallback() -> None:
    rows = numbered([
        operator("aten::mm", 0, 2), operator("aten::ones", 12, 10),
        operator("aten::empty", 12, 9, parent_id=1, depth=1), operator("aten::mm", 25, 2),
        kernel(0, 10, operator_id=0), kernel(30, 10, operator_id=3),
    ])  # fmt: skip

    assert results(core_types, rows) == []


@pytest.mark.parametrize("name", ["aten::copy_", "aten::_to_copy"])
def test_a_copy_that_was_not_recorded_is_no_fallback(name: str) -> None:
    rows = numbered([
        operator("aten::mm", 0, 2), operator(name, 12, 10), operator("aten::mm", 25, 2),
        kernel(0, 10, operator_id=0), kernel(30, 10, operator_id=2),
    ])  # fmt: skip

    assert results(core_types, rows) == []


def test_an_operator_whose_child_launched_is_no_fallback() -> None:
    assert results(core_types, fallback(kernel(12, 2, operator_id=2))) == []


def test_a_short_launch_inside_does_not_make_it_device_work() -> None:
    rows = numbered([
        operator("aten::mm", 0, 2), operator("aten::isin", 10, 100),
        operator("aten::cast", 100, 10, parent_id=1, depth=1),
        kernel(0, 10, operator_id=0), kernel(120, 10, operator_id=2),
    ])  # fmt: skip

    (row,) = results(core_types, rows)

    assert (row["operator_name"], row["total_ns"], row["idle_ns"]) == ("aten::isin", 100, 100)


def test_without_links_nothing_is_said_about_operators() -> None:
    rows = numbered([operator("aten::isin", 0, 10), kernel(20, 5), kernel(30, 5)])

    assert results(core_types, rows) == []


def test_the_metadata_operators_are_named_once_each() -> None:
    assert len(metadata_operators()) == len(set(metadata_operators())) > 50


@requires_shared
def test_field_case_16_names_both_operators() -> None:
    with open_run(shared_path("cases", "dv16_fallback_op")) as run:
        rows = dicts(core_types(run.db))

    by_issue = {row["issue"]: row for row in rows}
    assert (by_issue["ai_cpu"]["op_type"], by_issue["ai_cpu"]["ns_per_step"]) == ("Index", 4_000_000)
    assert by_issue["ai_cpu"]["share_ratio"] == pytest.approx(0.3922, abs=1e-4)
    fallback_row = by_issue["host_fallback"]
    assert (fallback_row["operator_name"], fallback_row["ns_per_step"]) == ("aten::isin", 2_000_000)
