from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from ascend_sn.analysis.steps.module_tree import _prefixes, module_tree
from tests.unit.analysis.traces import Row, kernel, numbered, operator, results


def span(name: str, ts_ns: int, dur_ns: int, **more: Any) -> Row:
    return ("span", {"name": name, "domain": "python", "thread": "main", "ts_ns": ts_ns, "dur_ns": dur_ns, **more})


def by_path(rows: list[Row]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["phase"], row["path"]): row for row in results(module_tree, numbered(rows))}


def net() -> list[Row]:
    """Net with a Linear of 4 x 8 by 8 x 16 (20 ns on the device) and a ReLU (5 ns), and 2 ns of its own."""
    return [
        operator("aten::linear", 10, 10, phase="forward", module="Net.fc"),
        operator("aten::relu", 30, 5, phase="forward", module="Net.act"),
        operator("aten::add", 40, 3, phase="forward", module="Net"),
        kernel(50, 20, "MatMul", operator_id=0, input_shapes="4,8;8,16", output_shapes="4,16"),
        kernel(70, 5, "Relu", operator_id=1),
        kernel(75, 2, "Add", operator_id=2),
    ]


def test_a_module_holds_what_its_modules_hold() -> None:
    tree = by_path(net())

    assert list(tree) == [("forward", ""), ("forward", "Net"), ("forward", "Net.act"), ("forward", "Net.fc")]
    whole = tree["forward", "Net"]
    assert (whole["device_self_ns"], whole["device_ns"], whole["kernels"], whole["operators"]) == (2, 27, 3, 3)
    assert (whole["host_self_ns"], whole["host_ns"], whole["share_ratio"]) == (3, 18, 1.0)
    linear = tree["forward", "Net.fc"]
    assert (linear["name"], linear["depth"], linear["device_ns"], linear["flops"]) == ("fc", 2, 20, 2 * 4 * 8 * 16)
    root = tree["forward", ""]
    assert (root["name"], root["depth"], root["device_ns"], root["flops"]) == ("forward", 0, 27, 2 * 4 * 8 * 16)


def test_python_frames_tell_the_module_where_nothing_else_does() -> None:
    tree = by_path([
        span("nn.Module: Net_0", 0, 50), span("nn.Module: Linear_0", 10, 10), span("main.py(3): f", 0, 60),
        operator("aten::mm", 12, 5, phase="forward"), operator("aten::add", 30, 5, phase="forward"),
        operator("aten::sum", 55, 5, phase="forward"), kernel(60, 7, operator_id=0),
    ])  # fmt: skip

    assert list(tree) == [("forward", ""), ("forward", "Net_0"), ("forward", "Net_0.Linear_0")]
    assert tree["forward", "Net_0.Linear_0"]["device_ns"] == 7
    assert [row["host_ns"] for row in tree.values()] == [15, 10, 5]  # the sum belongs to no module


def test_backward_operators_belong_to_the_module_of_their_forward_operator() -> None:
    flow: Row = ("flow", {"src_table": "operator", "src_id": 0, "dst_table": "operator", "dst_id": 1, "kind": "fwdbwd"})
    tree = by_path([
        operator("aten::mm", 0, 5, phase="forward", module="Net.fc"),
        operator("MmBackward0", 20, 10, thread="autograd", phase="backward"),
        operator("aten::mm", 22, 5, thread="autograd", phase="backward", parent_id=1, depth=1),
        kernel(40, 9, operator_id=2), flow,
    ])  # fmt: skip

    assert tree["backward", "Net.fc"]["device_ns"] == 9
    assert tree["backward", "Net.fc"]["operators"] == 2


def test_memory_counts_with_the_module_that_asked_for_it() -> None:
    block = {"kind": "alloc", "size_bytes": 64, "ts_ns": 12, "address": "a", "operator_id": 0}
    tree = by_path([*net(), ("memory_event", block)])

    assert [row["allocated_bytes"] for row in tree.values()] == [64, 64, 0, 64]


def test_without_modules_there_is_no_tree_and_unknown_figures_are_null() -> None:
    assert by_path([operator("aten::mm", 0, 5), span("main.py(3): f", 0, 60)]) == {}
    bare = by_path([operator("aten::mm", 0, 5, module="Net")])["other", "Net"]
    assert (bare["share_ratio"], bare["flops"], bare["allocated_bytes"]) == (None, None, None)


@given(st.lists(st.sampled_from("abc"), max_size=5))
def test_the_prefixes_of_a_path_grow_by_one(parts: list[str]) -> None:
    prefixes = _prefixes(".".join(parts))

    assert prefixes[0] == ""
    assert prefixes[-1] == ".".join(parts)
    assert len(prefixes) == len(parts) + 1
