"""Phase of every operator: by its name, by what encloses it, by its thread, by its place in the step."""

from __future__ import annotations

import pytest

from ascend_sn.derive import derive
from ascend_sn.derive.phases import phase_of_name
from tests.unit.derive.captures import capture, column, slices


@pytest.mark.parametrize(
    ("name", "phase"),
    [
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "data"),
        ("## data_loading ##", "data"),
        ("dataloader", "data"),
        ("Optimizer.step#AdamW.step", "optimizer"),
        ("Optimizer.zero_grad#SGD.zero_grad", "optimizer"),
        ("autograd::engine::evaluate_function: AddmmBackward0", "backward"),
        ("MmBackward0", "backward"),
        ("torch::autograd::AccumulateGrad", "backward"),
        ("## backward ##", "backward"),
        ("## forward ##", "forward"),
        ("loss", "forward"),
        ("aten::mm", None),
        ("aten::_foreach_add_", None),
        ("metadata", None),
        ("update_data", None),
        ("nn.Module: Loss_0", None),
    ],
)
def test_a_name_may_state_its_phase(name: str, phase: str | None) -> None:
    assert phase_of_name(name) == phase


def test_one_step_with_everything() -> None:
    made = capture(
        step=[{"ts_ns": 0, "dur_ns": 100, "origin": "mark"}],
        operator=[
            *slices(
                "main",
                ("enumerate(DataLoader)#_Iter.__next__", 0, 10),  # 0
                ("aten::stack", 2, 8),  # 1: inside the loader
                ("aten::linear", 10, 30),  # 2: before the first backward operator
                ("aten::addmm", 12, 20),  # 3
                ("Optimizer.step#SGD.step", 70, 90),  # 4
                ("aten::_foreach_add_", 72, 80),  # 5
                ("aten::item", 92, 95),  # 6: after it, on no stated thread
            ),
            *slices(
                "autograd",
                ("autograd::engine::evaluate_function: AddmmBackward0", 40, 60),  # 7
                ("AddmmBackward0", 42, 58),  # 8
                ("aten::mm", 45, 55),  # 9
                ("aten::detach", 62, 64),  # 10: alone on the thread of the engine
            ),
        ],
        flow=[{"src_table": "operator", "src_id": 3, "dst_table": "operator", "dst_id": 8, "kind": "fwdbwd"}],
    )

    derive(made)

    assert column(made, "operator", "phase") == [
        "data",
        "data",
        "forward",
        "forward",
        "optimizer",
        "optimizer",
        "other",
        "backward",
        "backward",
        "backward",
        "backward",
    ]


def test_forward_is_told_step_by_step() -> None:
    made = capture(
        step=[{"ts_ns": 0, "dur_ns": 50, "origin": "mark"}, {"ts_ns": 50, "dur_ns": 50, "origin": "mark"}],
        operator=slices(
            "main",
            ("aten::mm", 0, 10),
            ("MmBackward0", 20, 30),
            ("aten::add", 35, 40),
            ("aten::mm", 55, 60),
            ("MmBackward0", 70, 80),
            ("aten::add", 85, 90),
        ),
    )

    derive(made)

    assert column(made, "operator", "phase") == ["forward", "backward", "other", "forward", "backward", "other"]


def test_a_step_without_backward_is_forward_only() -> None:
    made = capture(
        step=[{"ts_ns": 0, "dur_ns": 50, "origin": "mark"}],
        operator=slices("main", ("aten::mm", 0, 10), ("aten::softmax", 20, 30)),
    )

    derive(made)

    assert column(made, "operator", "phase") == ["forward", "forward"]


def test_an_operator_outside_every_step_is_other() -> None:
    made = capture(
        step=[{"ts_ns": 20, "dur_ns": 50, "origin": "mark"}],
        operator=slices("main", ("aten::randn", 0, 10), ("aten::mm", 30, 40), ("aten::cat", 80, 90)),
    )

    derive(made)

    assert column(made, "operator", "phase") == ["other", "forward", "other"]


def test_a_backward_on_the_callers_own_thread_does_not_make_the_whole_thread_backward() -> None:
    made = capture(
        operator=slices("main", ("aten::mm", 0, 10), ("MmBackward0", 20, 30), ("aten::add", 40, 50)),
        flow=[{"src_table": "operator", "src_id": 0, "dst_table": "operator", "dst_id": 1, "kind": "fwdbwd"}],
    )

    derive(made)

    assert column(made, "operator", "phase") == ["forward", "backward", "other"]


def test_a_phase_that_the_reader_gave_is_kept_and_handed_down() -> None:
    made = capture(operator=slices("main", ("my_range", 0, 50), ("aten::mm", 10, 20)))
    made.tables["operator"] = made.rows("operator").replace(phase=["optimizer", None])

    derive(made)

    assert column(made, "operator", "phase") == ["optimizer", "optimizer"]


def test_an_inner_name_decides_over_the_outer_one() -> None:
    made = capture(operator=slices("main", ("## forward ##", 0, 50), ("dataloader", 10, 20), ("aten::mm", 12, 14)))

    derive(made)

    assert column(made, "operator", "phase") == ["forward", "data", "data"]


def test_a_flow_to_an_operator_that_is_not_there_is_passed_over() -> None:
    made = capture(
        operator=slices("main", ("aten::mm", 0, 10)),
        flow=[{"src_table": "operator", "src_id": 0, "dst_table": "operator", "dst_id": 9, "kind": "fwdbwd"}],
    )

    derive(made)

    assert column(made, "operator", "phase") == ["forward"]
