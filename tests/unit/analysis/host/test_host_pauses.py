from __future__ import annotations

from typing import Any

import pytest

from ascend_sn.analysis.host.host_pauses import host_pauses
from tests.unit.analysis.traces import Row, call, kernel, numbered, operator, results, step


def by_kind(rows: list[Row]) -> dict[str, dict[str, Any]]:
    return {row["kind"]: row for row in results(host_pauses, numbered(rows))}


def test_a_wait_for_the_device_is_laid_to_the_line_that_asked_for_it() -> None:
    stack: Row = ("stack", {"stack_id": 3, "frames": "train.py(40): log_loss\ntrain.py(99): main"})
    rows = [
        step(0, 100),
        operator("aten::item", 10, 60, stack_id=3),
        call("aclrtSynchronizeStream", 20, 40),
        kernel(0, 45),
        stack,
    ]

    (row,) = by_kind(rows).values()

    assert (row["kind"], row["name"], row["operator_name"]) == ("sync", "aclrtSynchronizeStream", "aten::item")
    assert row["site"] == "train.py(40): log_loss"
    assert (row["total_ns"], row["waited_ns"], row["device_free_ns"]) == (40, 25, 15)
    assert (row["calls"], row["calls_per_step"], row["share_ratio"]) == (1, 1.0, 0.4)


def test_collections_copies_and_compilations_have_kinds_of_their_own() -> None:
    found = by_kind([call("GC", 0, 30, level="gc"), call("aclrtMemcpy", 40, 10), call("aclrtMemcpyAsync", 60, 10),
                     call("aclopCompileAndExecute", 80, 50)])  # fmt: skip

    assert {kind: row["total_ns"] for kind, row in found.items()} == {"gc": 30, "blocking_copy": 10, "compile": 50}
    assert found["gc"]["waited_ns"] is None  # no kernels: not known


def test_one_row_per_call_site() -> None:
    rows = [operator("aten::item", 0, 10), operator("aten::copy_", 20, 10), call("cudaStreamSynchronize", 2, 5),
            call("cudaStreamSynchronize", 22, 7), call("cudaStreamSynchronize", 50, 1)]  # fmt: skip

    found = results(host_pauses, numbered(rows))

    assert [(row["operator_name"], row["total_ns"]) for row in found] == [
        ("aten::copy_", 7),
        ("aten::item", 5),
        (None, 1),
    ]


def test_without_host_calls_the_operators_that_wait_stand_for_the_waits() -> None:
    rows = [operator("aten::item", 0, 20), operator("aten::_local_scalar_dense", 1, 18, parent_id=0, depth=1),
            operator("aten::item", 30, 5), operator("aten::add", 50, 5), kernel(0, 15)]  # fmt: skip

    (row,) = by_kind(rows).values()

    assert (row["kind"], row["name"], row["calls"], row["total_ns"], row["max_ns"]) == (
        "implicit_sync",
        "aten::item",
        2,
        25,
        20,
    )
    assert row["waited_ns"] == 15


@pytest.mark.parametrize(
    ("other", "expected"),
    [("Enqueue", {"implicit_sync": 20}), ("aclrtSynchronizeStream", {"sync": 15})],
    ids=["no call that waits was recorded", "calls that wait were recorded"],
)
def test_operators_stand_for_waits_where_the_level_leaves_calls_that_wait_out(
    other: str, expected: dict[str, int]
) -> None:
    found = by_kind([operator("aten::item", 0, 20), call(other, 2, 15), kernel(0, 15)])

    assert {kind: row["total_ns"] for kind, row in found.items()} == expected


def test_launches_followed_by_a_synchronisation_are_blocking() -> None:
    rows = [call("launch", 0, 5), call("aclrtSynchronizeStream", 6, 20), call("launch", 30, 5),
            call("aclrtSynchronizeStream", 36, 10), call("launch", 50, 5), call("launch", 60, 5),
            call("aclrtSynchronizeStream", 66, 10, thread="other")]  # fmt: skip

    row = by_kind(rows)["launch_blocking"]

    assert (row["calls"], row["share_ratio"], row["total_ns"], row["max_ns"]) == (2, 0.5, 30, 20)
