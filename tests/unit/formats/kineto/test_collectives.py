"""Collectives: parameters, sizes, groups and numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ascend_sn
from tests.unit.formats.kineto.traces import annotation, captured, kernel, launch, operator, rows, write

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def parameters(ts: float, name: str, **args: Any) -> dict[str, Any]:
    return operator("record_param_comms", ts, 20, **{"Collective name": name, **args})


def test_parameters_come_from_the_call_that_encloses_the_launch(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        parameters(0, "allreduce", dtype="BFloat16", **{"In msg nelems": 1000, "Process Group Name": "3"}),
        launch(1, 5),
        kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 40, 10, correlation=1),
    )

    assert rows(captured(path), "collective", "op", "size_bytes", "dtype", "group_id", "sequence") == [
        ("allreduce", 2000, "BFloat16", "3", 0)
    ]


def test_the_kernels_own_parameters_come_first(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        kernel(
            ALL_REDUCE,
            40,
            10,
            **{
                "Collective name": "reduce_scatter",
                "In msg nelems": 80,
                "Out msg nelems": 10,
                "dtype": "Half",
                "Seq": 12,
                "Process Group Name": "0",
            },
        ),
    )

    assert rows(captured(path), "collective", "op", "size_bytes", "dtype", "sequence") == [
        ("reducescatter", 160, "Half", 12)
    ]


def test_without_parameters_name_and_range_tell_operation_and_type(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        kernel(ALL_REDUCE, 0, 10),
        kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 20, 10),
        kernel("nccl:all_gather", 19, 12, cat="gpu_user_annotation"),
        kernel("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", 50, 10),
    )

    assert rows(captured(path), "collective", "op", "size_bytes", "dtype", "group_id", "sequence") == [
        ("allreduce", None, "bf16", None, None),
        ("allgather", None, None, None, None),
        ("unknown", None, None, None, None),
    ]


def test_a_trace_whose_kernels_and_ranges_state_no_operation_is_read(tmp_path: Path) -> None:
    path = write(tmp_path, kernel("ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)", 50, 10))

    with ascend_sn.open(path) as run:
        assert run.sql("select op, dur_ns from collective").fetchall() == [("unknown", 10_000)]


@pytest.mark.parametrize("range_", ["c10d::allreduce_", "nccl:all_reduce", "_c10d_functional::all_reduce"])
def test_the_frameworks_call_around_the_launch_tells_the_operation(tmp_path: Path, range_: str) -> None:
    path = write(
        tmp_path,
        operator(range_, 0, 20),
        operator("aten::copy_", 2, 10),
        launch(1, 5),
        kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 40, 10, correlation=1),
        kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", 60, 10),
    )

    assert rows(captured(path), "collective", "op") == [("allreduce",), ("unknown",)]


def test_point_to_point_calls_are_counted_apart(tmp_path: Path) -> None:
    def call(ts: float, op: str) -> dict[str, Any]:
        return kernel(ALL_REDUCE, ts, 1, **{"Collective name": op, "Process Group Name": "0"})

    path = write(tmp_path, call(0, "allreduce"), call(10, "send"), call(20, "allreduce"), call(30, "recv"))

    assert rows(captured(path), "collective", "op", "sequence") == [
        ("allreduce", 0),
        ("send", 0),
        ("allreduce", 1),
        ("receive", 1),
    ]


def test_calls_of_an_unknown_operation_do_not_move_the_numbers_of_collectives(tmp_path: Path) -> None:
    def call(ts: float, op: str | None) -> dict[str, Any]:
        name = ALL_REDUCE if op else "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)"
        stated = {"Collective name": op} if op else {}
        return kernel(name, ts, 1, **stated, **{"Process Group Name": "0"})

    path = write(tmp_path, call(0, "allreduce"), call(10, None), call(20, "allreduce"), call(30, "send"))

    assert rows(captured(path), "collective", "op", "sequence") == [
        ("allreduce", 0),
        ("unknown", 0),
        ("allreduce", 1),
        ("send", 1),
    ]


def test_the_only_group_of_a_job_is_every_calls_group(tmp_path: Path) -> None:
    config = [{"pg_name": "0", "pg_desc": "default_pg", "ranks": "[0, 1]"}]
    path = write(tmp_path, kernel(ALL_REDUCE, 0, 10), distributedInfo={"rank": 1, "world_size": 2, "pg_config": config})

    capture = captured(path)

    assert rows(capture, "collective", "group_id", "sequence") == [("0", 0)]
    assert rows(capture, "comm_group_member", "group_id", "kind", "group_rank", "member_rank") == [
        ("0", "default", 0, 0),
        ("0", "default", 1, 1),
    ]


def test_groups_that_only_calls_name_have_members_too(tmp_path: Path) -> None:
    group = {"Process Group Name": "7", "Process Group Description": "TENSOR_MODEL_PARALLEL_GROUP"}
    path = write(
        tmp_path,
        kernel(ALL_REDUCE, 0, 10, **{**group, "Process Group Ranks": "[2, 3]"}),
        kernel(ALL_REDUCE, 20, 10, **{"Process Group Name": "8", "Process Group Ranks": "[0, 1, ...]"}),
    )

    assert rows(captured(path), "comm_group_member", "group_id", "kind", "group_rank", "group_size", "member_rank") == [
        ("7", "tp", 0, 2, 2),
        ("7", "tp", 1, 2, 3),
    ]


def test_host_collectives_are_numbered_in_the_order_they_were_asked_for(tmp_path: Path) -> None:
    def gloo(name: str, ts: float, tid: int, elements: int) -> dict[str, Any]:
        return annotation(f"gloo:{name}", ts, 10, tid=tid, **{"Input Dims": [[elements]], "Input type": ["float"]})

    path = write(
        tmp_path,
        operator("c10d::allreduce_", 0, 2),
        operator("c10d::broadcast_", 4, 2),
        operator("c10d::allreduce_", 8, 2),
        gloo("broadcast", 5, 3, 10),
        gloo("all_reduce", 6, 2, 100),
        gloo("all_reduce", 9, 3, 200),
        distributedInfo={
            "rank": 0,
            "world_size": 2,
            "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "ranks": [0, 1]}],
        },
    )

    assert rows(captured(path), "collective", "op", "sequence", "size_bytes", "group_id") == [
        ("broadcast", 1, 40, "0"),
        ("allreduce", 0, 400, "0"),
        ("allreduce", 2, 800, "0"),
    ]


def test_operators_that_do_the_work_are_the_kernels_of_a_processor(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        annotation("## forward ##", 0, 100),
        operator("aten::linear", 0, 50),
        operator("aten::addmm", 5, 40, **{"Input Dims": [[8]], "Input type": ["float"]}),
        operator("aten::copy_", 6, 10),
        operator("c10d::allreduce_", 60, 5),
        annotation("gloo:all_reduce", 62, 30, tid=2),
        operator("aten::copy_", 70, 5, tid=2),
        operator("enumerate(DataLoader)#_Iter.__next__", 110, 50),
        operator("aten::stack", 120, 5),
    )

    assert rows(captured(path), "kernel", "name", "kind", "stream", "op_type", "operator_id", "input_shapes") == [
        ("aten::addmm", "compute", "1", "aten::addmm", 2, "8"),
        ("gloo:all_reduce", "communication", "2", "allreduce", 5, None),
        ("aten::stack", "compute", "1", "aten::stack", 8, None),
    ]


def test_operators_that_touch_are_beside_each_other(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        operator("aten::outer", 0, 20),
        operator("aten::a", 5, 10),
        operator("aten::b", 15, 0),
        operator("aten::c", 16, 3),
    )

    assert rows(captured(path), "kernel", "name") == [("aten::a",), ("aten::b",), ("aten::c",)]


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("void tensorrt_llm::kernels::oneShotAllReduceKernel<__half, 8>(int)", ["communication"]),
        ("twoShotAllReduceKernel", ["communication"]),
        ("oneccl_allreduce_kernel", ["communication"]),
        ("mscclpp::allreduce_kernel", ["communication"]),
        ("triton_poi_fused_all_reduce_wait_tensor_0", ["compute"]),
        ("cutlass_gemm_allreduce_kernel", ["compute"]),
    ],
)
def test_kernels_of_engines_that_bypass_the_libraries(tmp_path: Path, name: str, kinds: list[str]) -> None:
    capture = captured(write(tmp_path, kernel(name, 0, 10)))

    assert [kind for (kind,) in rows(capture, "kernel", "kind")] == kinds
