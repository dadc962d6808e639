from __future__ import annotations

from typing import Any

from ascend_sn.analysis.ranks.stage_imbalance import ANALYSIS
from tests.unit.analysis.traces import Row, kernel, numbered, results, step


def stage(profile_id: int, number: int, *kernels: Row, count: int = 3) -> list[Row]:
    member = {"kind": "pp", "group_id": "pp", "group_size": count, "size_is_exact": True}
    rows: list[Row] = [
        step(0, 1000),
        ("comm_group_member", {**member, "group_rank": number, "member_rank": profile_id}),
        *kernels,
    ]
    return numbered([(table, {"profile_id": profile_id, **values}) for table, values in rows])


def layer(dur_ns: int = 100) -> Row:
    return kernel(0, dur_ns, "MatMul", input_shapes="512,4096;4096,4096", step_id=0)


def head() -> Row:
    return kernel(200, 60, "MatMul", input_shapes="512,4096;4096,128000", step_id=0)


def loss() -> Row:
    return kernel(300, 20, "CrossEntropy", input_shapes="512,128000;512", step_id=0)


def found(*parts: list[Row]) -> list[dict[str, Any]]:
    return results(ANALYSIS, [row for part in parts for row in part])


def test_the_output_layer_and_the_loss_make_the_last_stage_longer() -> None:
    rows = found(stage(0, 0, layer()), stage(1, 1, layer()), stage(2, 2, layer(), head(), loss()))

    assert [(row["op_type"], row["op_excess_ns"], row["vocabulary_sized"]) for row in rows] == [
        ("MatMul", 60, True),
        ("CrossEntropy", 20, True),
    ]
    assert {(row["stage"], row["is_last"], row["compute_ns"], row["other_compute_ns"]) for row in rows} == {
        (2, True, 180, 100)
    }
    assert [row["share_of_excess_ratio"] for row in rows] == [0.75, 0.25]
    assert [row["largest_dimension"] for row in rows] == [128_000, 128_000]


def test_more_of_the_same_layers_is_an_imbalance_without_a_vocabulary() -> None:
    (row,) = found(stage(0, 0, layer(150)), stage(1, 1, layer()), stage(2, 2, layer()))

    assert (row["stage"], row["is_last"], row["excess_ratio"], row["vocabulary_sized"]) == (0, False, 0.5, False)


def test_a_stage_stands_for_the_median_of_its_ranks() -> None:
    slow_rank = stage(4, 1, layer(500))

    rows = found(stage(0, 0, layer()), stage(1, 0, layer()), stage(2, 1, layer()), stage(3, 1, layer()), slow_rank)

    assert rows == []


def test_without_pipeline_groups_there_are_no_stages() -> None:
    assert results(ANALYSIS, numbered([kernel(0, 10), step(0, 10)])) == []
