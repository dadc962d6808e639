"""Floating point operations of matrix products, convolutions and attention, from shapes (A12)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Final

from ascend_sn.analysis.shapes import Shape

__all__ = ["family_of", "flops_of"]

_FAMILIES: Final = (
    ("attention", r"(flash|fused|fusion|prompt|incre|infer)\w*attention\w*|npu_fusion_attention\w*|"
                  r"_?scaled_dot_product\w*attention\w*|_flash_attention\w*|_efficient_attention\w*"),
    ("grouped_matmul", r"\w*grouped_?matmul\w*|npu_grouped_matmul\w*"),
    ("convolution", r"(depthwise|deformable|thnn_|cudnn_|miopen_|mkldnn_|slow_|_)?conv(?!ert)\w*"),
    ("matmul", r"(quant)?(batch)?mat_?mul\w*|mm|bmm|addmm|baddbmm|addbmm|linear|\w*gemm\w*|transposebatchmatmul\w*|"
               r"addmm_|_scaled_mm|mmv?|mv"),
)  # fmt: skip
_PATTERNS: Final = tuple((family, re.compile(pattern, re.IGNORECASE)) for family, pattern in _FAMILIES)

_BLOCKED: Final = re.compile(r"FRACTAL_NZ", re.IGNORECASE)


def family_of(op: str | None) -> str | None:
    """Return the family that an operator's type or framework name belongs to.

    One of matmul, grouped_matmul, convolution, attention; None for anything else.
    """
    if op is None:
        return None
    plain = op.rsplit("::", 1)[-1]
    return next((family for family, pattern in _PATTERNS if pattern.fullmatch(plain)), None)


def flops_of(
    op: str,
    inputs: Sequence[Shape],
    outputs: Sequence[Shape] | None,
    input_formats: str | None = None,
    weight: Shape | None = None,
) -> int | None:
    """Return the operations of one call, a multiply-add counted as two; None where the shapes do not tell.

    Attention is counted without halving for a causal mask, and its backward pass as 2.5 forward passes (five matrix
    products against two). A blocked memory format is counted as it is stored, with its padding.

    Args:
        op: Operator type of a kernel, or name of a framework operator.
        inputs: Shapes of the inputs, in order.
        outputs: Shapes of the outputs; None where only the inputs were recorded.
        input_formats: Memory formats of the inputs by ';'.
        weight: Logical shape (output channels, input channels, kernel) of a convolution's weight, where it is known
            and `inputs` has it blocked.
    """
    family = family_of(op)
    if family is not None and any(0 in shape for shape in (*inputs, *(outputs or ()))):
        return 0
    tensors = [shape for shape in inputs if shape]
    out = outputs[0] if outputs else None
    if family == "matmul":
        formats = (input_formats or "").split(";")
        return _matmul(op, tensors, out, bool(formats and _BLOCKED.match(formats[0].strip())))
    if family == "grouped_matmul":
        return _grouped(tensors, out)
    if family == "convolution":
        return _convolution(op, inputs, out, weight)
    if family == "attention":
        return _attention(op, tensors, outputs)
    return None


def _matmul(op: str, tensors: list[Shape], out: Shape | None, blocked: bool) -> int | None:
    if op.rsplit("::", 1)[-1].lower() in ("addmm", "addmm_", "baddbmm", "addbmm") and len(tensors) > 2:
        tensors = tensors[1:]
    if len(tensors) < 2 or len(tensors[0]) < 2:
        return None
    a, b = tensors[0], tensors[1]
    if blocked and len(a) >= 4 and len(b) >= 4:
        a, b = _unblocked(a), _unblocked(b)
        if out is not None and len(out) >= 4:
            out = _unblocked(out)
    if out is None:
        return _inferred(op, a, b)
    if len(out) < 2:
        return 2 * prod(a) if len(b) == 1 else None
    rows, columns = out[-2], out[-1]
    if rows in a[-2:]:
        inner = a[-2] * a[-1] // rows
        # A square first matrix fits any reading; the second one then says the same.
    elif len(b) >= 2 and columns in b[-2:]:
        inner = b[-2] * b[-1] // columns
    else:
        return None
    return 2 * prod(out) * inner


def _unblocked(shape: Shape) -> Shape:
    """(..., n1, m1, m0, n0) of FRACTAL_NZ as (..., m, n)."""
    return (*shape[:-4], shape[-3] * shape[-2], shape[-4] * shape[-1])


def _inferred(op: str, a: Shape, b: Shape) -> int | None:
    """Without the output: a framework passes logical shapes, (..., m, k) with (..., k, n), or (n, k) for linear."""
    plain = op.rsplit("::", 1)[-1].lower()
    if plain == "linear":
        return 2 * prod(a) * b[0] if len(b) == 2 and a[-1] == b[1] else None
    if len(b) == 1:
        return 2 * prod(a) if a[-1] == b[0] else None
    if a[-1] != b[-2]:
        return None
    batch = max(prod(a[:-2]), prod(b[:-2]))
    return 2 * batch * a[-2] * a[-1] * b[-1]


def _grouped(tensors: list[Shape], out: Shape | None) -> int | None:
    if not tensors or len(tensors[0]) < 2:
        return None
    if out is not None and len(out) >= 2:
        return 2 * prod(tensors[0]) * out[-1]
    weight = tensors[1] if len(tensors) > 1 else ()
    return 2 * prod(tensors[0]) * weight[-1] if len(weight) == 3 and weight[1] == tensors[0][-1] else None


def _convolution(op: str, inputs: Sequence[Shape], out: Shape | None, weight: Shape | None) -> int | None:
    """Operations = 2 x positions of the output side x elements of the kernel over its output channels."""
    plain = op.rsplit("::", 1)[-1].lower()
    tensors = [shape for shape in inputs if len(shape) >= 3]
    if "backward" in plain and "backprop" not in plain:
        # aten: (grad_output, input, weight): the gradients of input and weight are a convolution each.
        if len(tensors) < 3:
            return None
        grad, kernel = tensors[0], tensors[2]
        return 2 * 2 * prod(grad) * prod(kernel) // kernel[0]
    if len(tensors) < 1 or out is None:
        return None
    if "backpropfilter" in plain:
        # (x, filter sizes, gradient) -> weight
        return _of_sides(tensors[-1], weight or out) if len(tensors) > 1 else None
    if "backpropinput" in plain:
        # (input sizes, weight, gradient) -> x
        return _of_sides(tensors[-1], weight or tensors[-2]) if len(tensors) > 1 else None
    return _of_sides(out, weight or tensors[1]) if len(tensors) > 1 else None


def _of_sides(side: Shape, weight: Shape) -> int | None:
    """Operations from the side with the output channels and the weight, logical or blocked (NC1HWC0, FRACTAL_Z)."""
    if len(side) == 5 and len(weight) == 4 and weight[2] == 16:
        # FRACTAL_Z: (input blocks x kernel, output blocks, 16, block)
        return 2 * prod(side) * weight[0] * weight[3]
    return 2 * prod(side) * (prod(weight) // weight[0]) if weight[0] else None


def _attention(op: str, tensors: list[Shape], outputs: Sequence[Shape] | None) -> int | None:
    backward = re.search(r"grad|backward", op, re.IGNORECASE) is not None
    if len(tensors) < 3:
        return None
    query, key = tensors[0], tensors[1]
    statistics = next((shape for shape in outputs or () if len(shape) == 4 and shape[-1] == 8), None)
    if statistics is None and backward:
        statistics = next((shape for shape in tensors[3:] if len(shape) == 4 and shape[-1] == 8), None)
    forward = _products(query, key, statistics)
    if forward is None:
        return None
    return forward * 5 // 2 if backward else forward


def _products(query: Shape, key: Shape, statistics: Shape | None) -> int | None:
    """Two matrix products: 2 x 2 x elements of the query x length of the keys."""
    if statistics is not None:
        batch, heads, length = statistics[0], statistics[1], statistics[2]
        if len(key) == 3 and batch in key[:2]:
            keys = key[1] if key[0] == batch else key[0]
            return 4 * prod(query) * keys
        if len(query) == 4 and len(key) == 4 and query[0] == batch:
            return 4 * prod(query) * (key[2] if query[1] == heads and query[2] == length else key[1])
        return None
    if len(query) == 4 and len(key) == 4 and query[0] == key[0] and query[3] == key[3]:
        return 4 * prod(query) * key[2]
    return None
