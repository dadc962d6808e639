from __future__ import annotations

import pytest

from ascend_sn.formats.torch_npu.groups import (
    dtype_bytes,
    group_hash,
    group_kind,
    is_fused,
    op_of,
    op_type_of,
    parse_op_name,
)


def test_the_hash_of_two_characters_counted_by_hand() -> None:
    # h1 = 97 * 29 + 98 = 2911, h2 = 97 * 131 + 98 = 12805
    assert group_hash("ab") == str((2911 << 32) + 12805)


def test_a_long_id_stays_within_64_bits() -> None:
    assert int(group_hash("192.0.2.9%eth0_60000_0_17000000000000" * 9)) < 1 << 64


@pytest.mark.parametrize(
    ("name", "op", "digits", "index"),
    [
        ("hcom_allReduce__210_3_1@513616803227540210", "allreduce", "210", 3),
        ("hcom_reduceScatter__456_12_1", "reducescatter", "456", 12),
        ("hcom_batchSendRecv__7_0_1", "batchsendrecv", "7", 0),
        ("hcom_alltoallvc__001_0_1", "alltoallvc", "001", 0),
        ("hcom_receive__789_1_1", "receive", "789", 1),
        ("MoeDistributeDispatchAicpu", "moedistributedispatchaicpu", None, None),
    ],
)
def test_parts_of_an_operator_name(name: str, op: str, digits: str | None, index: int | None) -> None:
    parsed = parse_op_name(name)

    assert (parsed.op, parsed.digits, parsed.index) == (op, digits, index)


def test_recv_is_receive() -> None:
    assert op_of("HcclRecv") == "receive"
    assert op_of("hcom_recv_") == "receive"


@pytest.mark.parametrize(
    ("op_type", "fused"),
    [
        ("MoeDistributeDispatch", True),
        ("MoeDistributeCombineV2", True),
        ("MatmulAllReduce", True),
        ("AllGatherMatmul", True),
        ("GroupedMatMulAlltoAllv", True),
        ("BroadcastTo", False),
        ("ReduceSum", False),
        ("ScatterUpdate", False),
        ("MatMulV2", False),
        ("MoeGatingTopK", False),
    ],
)
def test_fused_kernels_are_known_by_their_type(op_type: str, fused: bool) -> None:
    assert is_fused(op_type) is fused


def test_types_and_sizes() -> None:
    assert op_type_of("hcom_allReduce__210_3_1") == "hcom_allReduce_"
    assert op_type_of("MoeDistributeDispatch") == "MoeDistributeDispatch"
    assert (dtype_bytes("FP16"), dtype_bytes("bfp16"), dtype_bytes("INVALID_TYPE")) == (2, 2, None)
    assert (group_kind("default_group"), group_kind(""), group_kind("tp")) == ("default", None, "tp")
