from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ascend_sn.analysis.kernels.op_flops import family_of, flops_of

SIZES = st.integers(1, 64)


@pytest.mark.parametrize(
    ("op", "family"),
    [
        ("MatMulV2", "matmul"), ("BatchMatMulV2", "matmul"), ("aten::mm", "matmul"), ("aten::addmm", "matmul"),
        ("aten::linear", "matmul"), ("GroupedMatmul", "grouped_matmul"), ("Conv2D", "convolution"),
        ("Conv2DBackpropFilter", "convolution"), ("aten::convolution_backward", "convolution"),
        ("aten::cudnn_convolution", "convolution"), ("FlashAttentionScore", "attention"),
        ("aten::_scaled_dot_product_flash_attention", "attention"), ("npu::npu_fusion_attention", "attention"),
        ("Add", None), ("Convert", None), ("ConvertTensor", None), ("Softmax", None), (None, None),
    ],
)  # fmt: skip
def test_families_by_name(op: str | None, family: str | None) -> None:
    assert family_of(op) == family


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "flops"),
    [
        # 2 m n k, whichever of the matrices is stored transposed
        ("MatMulV2", [(32, 9216), (4096, 9216), (4096,)], [(32, 4096)], 2 * 32 * 9216 * 4096),
        ("MatMulV2", [(32, 1000), (32, 4096)], [(1000, 4096)], 2 * 1000 * 32 * 4096),
        ("MatMulV3", [(32, 4096), (4096, 9216)], [(32, 9216)], 2 * 32 * 4096 * 9216),
        ("MatMulV2", [(8, 8), (8, 8)], [(8, 8)], 2 * 8**3),
        ("BatchMatMul", [(4, 16, 8), (4, 8, 32)], [(4, 16, 32)], 4 * 2 * 16 * 8 * 32),
        ("aten::mm", [(16, 8), (8, 32)], None, 2 * 16 * 8 * 32),
        ("aten::addmm", [(32,), (16, 8), (8, 32)], None, 2 * 16 * 8 * 32),
        ("aten::bmm", [(4, 16, 8), (4, 8, 32)], None, 4 * 2 * 16 * 8 * 32),
        ("aten::linear", [(2, 3, 8), (5, 8)], None, 2 * 6 * 8 * 5),
        ("GroupedMatmul", [(100, 64), (4, 64, 256)], [(100, 256)], 2 * 100 * 64 * 256),
        # 2 x output x input channels x kernel
        ("Conv2D", [(32, 3, 224, 224), (64, 3, 11, 11), (64,)], [(32, 64, 55, 55)], 2 * 32 * 64 * 55 * 55 * 3 * 121),
        ("Conv2D", [(1, 8, 9, 9), (8, 1, 3, 3)], [(1, 8, 7, 7)], 2 * 8 * 49 * 9),  # depthwise
        # the gradient of the weight and of the input cost what the forward pass costs
        ("Conv2DBackpropFilter", [(2, 3, 8, 8), (4,), (2, 5, 6, 6)], [(5, 3, 3, 3)], 2 * 2 * 5 * 36 * 27),
        ("Conv2DBackpropInput", [(4,), (5, 3, 3, 3), (2, 5, 6, 6)], [(2, 3, 8, 8)], 2 * 2 * 5 * 36 * 27),
        ("aten::convolution_backward", [(2, 5, 6, 6), (2, 3, 8, 8), (5, 3, 3, 3)], None, 2 * 2 * 2 * 5 * 36 * 27),
        # blocked: 8 channels per block, 3 padded to 8
        ("Conv2D", [(32, 1, 224, 224, 8), (121, 4, 16, 8)], [(32, 8, 55, 55, 8)], 2 * 32 * 64 * 55 * 55 * 8 * 121),
        # two products of 2 B N S S D each
        ("aten::scaled_dot_product_attention", [(2, 4, 128, 64)] * 3, None, 4 * 2 * 4 * 128 * 128 * 64),
        ("FlashAttentionScore", [(2, 128, 256)] * 3, [(2, 4, 128, 8)], 4 * 2 * 128 * 256 * 128),  # B S H
        ("FlashAttentionScore", [(128, 2, 256)] * 3, [(2, 4, 128, 8)], 4 * 2 * 128 * 256 * 128),  # S B H
        ("FlashAttentionScore", [(2, 4, 128, 64)] * 3, [(2, 4, 128, 8)], 4 * 2 * 4 * 128 * 128 * 64),  # B N S D
        ("FlashAttentionScore", [(2, 128, 4, 64)] * 3, [(2, 4, 128, 8)], 4 * 2 * 4 * 128 * 128 * 64),  # B S N D
        ("FlashAttentionScoreGrad", [(2, 128, 256)] * 4 + [(2, 4, 128, 8)], [(2, 128, 256)], 10 * 2 * 128 * 256 * 128),
    ],
)  # fmt: skip
def test_counted_by_hand(
    op: str, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]] | None, flops: int
) -> None:
    assert flops_of(op, inputs, outputs) == flops


def test_the_logical_weight_takes_the_padding_out() -> None:
    inputs = [(32, 1, 224, 224, 8), (121, 4, 16, 8), (64,)]

    assert flops_of("Conv2D", inputs, [(32, 8, 55, 55, 8)], None, (64, 3, 11, 11)) == 2 * 32 * 64 * 55 * 55 * 3 * 121


def test_blocked_matrices_count_as_stored() -> None:
    # (n1, m1, 16, 16): 32 x 64 with 64 x 48
    assert (
        flops_of("MatMulV2", [(4, 2, 16, 16), (3, 4, 16, 16)], [(3, 2, 16, 16)], "FRACTAL_NZ;FRACTAL_NZ")
        == 2 * 32 * 64 * 48
    )


@pytest.mark.parametrize(
    ("op", "inputs", "outputs"),
    [("Add", [(8, 8), (8, 8)], [(8, 8)]), ("MatMulV2", [(8,)], [(8,)]), ("MatMulV2", [], None),
     ("Conv2D", [(1, 3, 8, 8)], None),
     ("FlashAttentionScore", [(100, 4, 64)] * 3, [(100, 4, 8)]), ("aten::mm", [(3, 4), (5, 6)], None)],
)  # fmt: skip
def test_what_the_shapes_do_not_tell_is_none(
    op: str, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]] | None
) -> None:
    assert flops_of(op, inputs, outputs) is None


def test_empty_tensors_need_no_operation() -> None:
    assert flops_of("aten::mm", [(0, 4), (4, 5)], None) == 0


@given(SIZES, SIZES, SIZES, SIZES)
def test_a_batch_costs_as_much_as_its_members(batch: int, m: int, k: int, n: int) -> None:
    one = flops_of("aten::mm", [(m, k), (k, n)], None)
    all_of_them = flops_of("aten::bmm", [(batch, m, k), (batch, k, n)], None)

    assert one is not None
    assert all_of_them == batch * one


@given(st.text(max_size=20), st.lists(st.lists(st.integers(0, 9), max_size=5).map(tuple), max_size=5))
def test_no_operator_and_shape_raises(op: str, shapes: list[tuple[int, ...]]) -> None:
    for name in (
        op,
        "MatMulV2",
        "aten::addmm",
        "Conv2D",
        "Conv2DBackpropInput",
        "FlashAttentionScoreGrad",
        "GroupedMatmul",
    ):
        flops_of(name, shapes, shapes[:1])
        flops_of(name, shapes, None, "FRACTAL_NZ")
