from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.kernels.affinity_matches import _apis, affinity_matches, matched_operators
from tests.unit.analysis.traces import Row, database, kernel, numbered, operator, results


def sequence(*names: str, phase: str = "forward", **more: Any) -> list[Row]:
    return [operator(f"aten::{name}", 10 * at, 5, phase=phase, **more) for at, name in enumerate(names)]


def found(rows: list[Row]) -> dict[str, str]:
    return {row["api"]: row["sequence"] for row in results(affinity_matches, numbered(rows))}


@pytest.mark.parametrize(
    ("names", "api"),
    [
        (["softmax", "mul", "masked_fill"], "torch_npu.npu_scaled_masked_softmax"),
        (["mul", "masked_fill", "softmax"], "torch_npu.npu_scaled_masked_softmax"),
        (["matmul", "div", "masked_fill", "softmax", "dropout", "matmul"], "torch_npu.npu_fusion_attention"),
        (["bmm", "softmax", "bmm"], "torch_npu.npu_fusion_attention"),
        (["slice", "slice", "neg", "cat", "mul", "mul", "add"], "torch_npu.npu_rotary_mul"),
        (["to", "pow", "mean", "add", "rsqrt", "mul", "to", "mul"], "torch_npu.npu_rms_norm"),
        (["chunk", "silu", "mul"], "torch_npu.npu_swiglu"),
        (["chunk", "gelu", "mul"], "torch_npu.npu_geglu"),
        (["gelu", "add"], "torch_npu.fast_gelu"),
        (["permute", "contiguous", "view", "add"], "torch_npu.npu_confusion_transpose"),
    ],
)
def test_a_sequence_names_the_call(names: list[str], api: str) -> None:
    assert api in found(sequence(*names))


@pytest.mark.parametrize(
    "names", [["softmax", "add_x", "mul"], ["log_softmax", "mul", "masked_fill"], ["silu", "add", "mul"]]
)
def test_what_only_resembles_one_does_not(names: list[str]) -> None:
    assert found(sequence(*names)) == {}


def test_views_do_not_part_a_sequence_and_operators_inside_others_do_not_count() -> None:
    rows = [
        operator("aten::silu", 0, 10, phase="forward"),
        operator("aten::sigmoid", 2, 5, phase="forward", parent_id=0, depth=1),
        operator("aten::view", 12, 2, phase="forward"),
        operator("aten::mul", 20, 5, phase="forward"),
    ]

    assert found(rows) == {"torch_npu.npu_swiglu": "silu mul"}


def test_matches_are_counted_with_the_kernels_of_their_operators() -> None:
    rows = sequence("chunk", "silu", "mul", "add", "silu", "mul", module="Mlp")
    rows += [
        kernel(0, 7, operator_id=1),
        kernel(10, 3, operator_id=2),
        kernel(20, 90, operator_id=3),
        kernel(30, 5, operator_id=4),
    ]

    (row,) = results(affinity_matches, numbered(rows))

    assert (row["matches"], row["operators"], row["host_ns"]) == (2, 2, 20)
    assert (row["device_ns"], row["kernels"]) == (15, 3)
    assert row["share_ratio"] == 15 / 105
    assert (row["example_operator_id"], row["module"], row["since"]) == (1, "Mlp", "7.0.0")


def test_other_threads_and_phases_are_apart() -> None:
    apart = [
        operator("aten::silu", 0, 5, phase="forward"),
        operator("aten::mul", 6, 5, thread="other", phase="forward"),
    ]

    assert found(apart) == {}
    assert found(sequence("silu", "mul", phase="backward")) == {}


def test_an_optimizer_that_is_not_fused_is_a_range() -> None:
    rows = [
        operator("Optimizer.step#AdamW.step", 0, 100, phase="optimizer"),
        operator("aten::mul_", 1, 5, depth=1, parent_id=0),
        operator("aten::add_", 10, 5, depth=1, parent_id=0),
        kernel(0, 8, operator_id=1),
        kernel(20, 2, operator_id=2),
    ]

    (row,) = results(affinity_matches, numbered(rows))

    assert (row["api"], row["matches"], row["operators"]) == ("torch_npu.optim.NpuFusedAdamW", 1, 2)
    assert (row["device_ns"], row["kernels"], row["host_ns"]) == (10, 2, 100)


def test_captures_of_other_devices_have_no_ascend_calls() -> None:
    profile: Row = ("profile", {"device_kind": "cuda"})

    assert found([profile, *sequence("silu", "mul")]) == {}


def test_without_links_device_time_is_not_known() -> None:
    (row,) = results(affinity_matches, numbered(sequence("silu", "mul")))

    assert (row["device_ns"], row["kernels"], row["share_ratio"]) == (None, None, None)


def test_every_entry_has_a_sequence_or_a_range_and_matches_something() -> None:
    for api, pattern in _apis():
        assert (api.sequence is None) != (api.range is None)
        assert pattern.search("") is None


def test_the_operators_of_each_match_are_listed_for_pricing() -> None:
    rows = sequence("chunk", "silu", "mul", "add", "silu", "mul")
    rows.append(operator("aten::sigmoid", 11, 2, phase="forward", parent_id=1, depth=1))

    matches = matched_operators(database(numbered(rows)), 0, "torch_npu.npu_swiglu")

    assert [sorted(match.tolist()) for match in matches] == [[1, 2, 6], [4, 5]]
