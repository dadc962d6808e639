"""Which framework operator launched a kernel: through calls, threads and task queues."""

from __future__ import annotations

from typing import Any

from ascend_sn.derive.links import link_kernels
from tests.unit.derive.captures import capture, column, slices


def kernel(host_call_id: int | None, operator_id: int | None = None) -> dict[str, Any]:
    return {"kind": "compute", "ts_ns": 1_000, "dur_ns": 1, "host_call_id": host_call_id, "operator_id": operator_id}


def test_the_innermost_operator_around_the_launch_launched_the_kernel() -> None:
    made = capture(
        operator=slices("main", ("linear", 0, 100), ("addmm", 20, 60)),
        host_call=slices("main", ("launch", 30, 40), ("launch", 70, 80), ("launch", 120, 130)),
        kernel=[kernel(0), kernel(1), kernel(2), kernel(None)],
    )

    link_kernels(made)

    assert column(made, "kernel", "operator_id") == [1, 0, None, None]


def test_an_operator_of_another_thread_did_not_launch_it() -> None:
    made = capture(
        operator=slices("worker", ("addmm", 0, 100)),
        host_call=slices("main", ("launch", 30, 40)),
        kernel=[kernel(0)],
    )

    link_kernels(made)

    assert column(made, "kernel", "operator_id") == [None]


def test_a_launch_from_a_task_queue_belongs_to_the_operator_that_enqueued_it() -> None:
    made = capture(
        operator=slices("main", ("add", 0, 20), ("mul", 20, 40)),
        host_call=[
            *slices("main", ("Enqueue", 5, 6), ("Enqueue", 25, 26), level="queue"),
            *slices("acl", ("Dequeue", 50, 70), ("Dequeue", 80, 99), level="queue"),
            *slices("acl", ("launch", 85, 90), ("launch", 55, 60), ("launch", 75, 76), level="node"),
        ],
        flow=[
            {"src_table": "host_call", "src_id": 0, "dst_table": "host_call", "dst_id": 2, "kind": "queue"},
            {"src_table": "host_call", "src_id": 1, "dst_table": "host_call", "dst_id": 3, "kind": "queue"},
        ],
        kernel=[kernel(4), kernel(5), kernel(6)],
    )

    link_kernels(made)

    assert column(made, "kernel", "operator_id") == [1, 0, None]


def test_flows_of_another_kind_are_not_queues() -> None:
    made = capture(
        operator=slices("main", ("add", 0, 20)),
        host_call=[*slices("main", ("Enqueue", 5, 6)), *slices("acl", ("Dequeue", 50, 70), ("launch", 55, 60))],
        flow=[{"src_table": "host_call", "src_id": 0, "dst_table": "host_call", "dst_id": 1, "kind": "event"}],
        kernel=[kernel(2)],
    )

    link_kernels(made)

    assert column(made, "kernel", "operator_id") == [None]


def test_a_link_that_the_reader_gave_is_kept() -> None:
    made = capture(
        operator=slices("main", ("linear", 0, 100), ("addmm", 20, 60)),
        host_call=slices("main", ("launch", 30, 40)),
        kernel=[kernel(0, operator_id=0), kernel(0)],
    )

    link_kernels(made)

    assert column(made, "kernel", "operator_id") == [0, 1]


def test_ids_need_not_be_dense_nor_in_order() -> None:
    made = capture(
        operator=slices("main", ("add", 0, 20), ("mul", 20, 40)),
        host_call=slices("main", ("launch", 5, 6), ("launch", 25, 26)),
        kernel=[kernel(900), kernel(17)],
    )
    made.tables["host_call"] = made.rows("host_call").replace(host_call_id=[900, 17])
    made.tables["operator"] = made.rows("operator").replace(operator_id=[31, 30])

    link_kernels(made)

    assert column(made, "kernel", "operator_id") == [31, 30]


def test_a_kernel_that_names_a_call_which_is_not_there_stays_unlinked() -> None:
    made = capture(
        operator=slices("main", ("add", 0, 20), ("mul", 20, 40)),
        host_call=slices("main", ("launch", 5, 6), ("launch", 25, 26)),
        kernel=[kernel(99), kernel(-4), kernel(1)],
    )

    link_kernels(made)

    assert column(made, "kernel", "operator_id") == [None, None, 1]


def test_without_operators_or_calls_nothing_is_guessed() -> None:
    lone = capture(kernel=[kernel(0)])
    without_calls = capture(operator=slices("main", ("add", 0, 20)), kernel=[kernel(None)])

    link_kernels(lone)
    link_kernels(without_calls)

    assert column(lone, "kernel", "operator_id") == [None]
    assert column(without_calls, "kernel", "operator_id") == [None]
