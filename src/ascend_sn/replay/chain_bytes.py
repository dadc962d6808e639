"""What a chain of kernels reads and writes, and what of that lies between its kernels."""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn.analysis.operator_names import plain_name
from ascend_sn.analysis.shapes import plain_dtypes, shapes_of, tensor_bytes, total_bytes
from ascend_sn.model.rows import Int64, Text
from ascend_sn.replay.graph import StepGraph
from ascend_sn.replay.tasks import Tasks

__all__ = ["Moved", "moved_by"]

_REDUCTIONS: Final = frozenset(
    ("all", "amax", "amin", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var")
)


class Moved(msgspec.Struct, frozen=True):
    """Bytes of a chain.

    Attributes:
        total_bytes: All that its kernels read and write.
        intermediate_bytes: What they write for the next one.
        longest_ns: Time of the longest of its kernels.
        kernel_count: How many kernels it has.
        is_inferred: Whether outputs were not recorded.
        fixed_ns: What a kernel of it takes whatever it moves, by the line through its kernels.
        ns_per_byte: What each byte adds to that.
    """

    total_bytes: int
    intermediate_bytes: int
    longest_ns: int
    kernel_count: int
    is_inferred: bool
    fixed_ns: float
    ns_per_byte: float


def moved_by(graph: StepGraph, chain: Int64) -> Moved | None:
    """Return what a chain moves; None for a single kernel, and where the inputs of one are not known."""
    nodes, tasks = graph.nodes, graph.tasks
    of_node = nodes.kernel[chain]
    kernels, place = np.unique(of_node, return_inverse=True)
    times = np.bincount(place, weights=nodes.dur[chain]).astype(np.float64)
    ordered = list(dict.fromkeys(of_node.tolist()))
    if len(kernels) < 2:
        return None
    total = intermediate = 0
    moved: dict[int, int] = {}
    is_inferred = False
    for kernel, behind in zip(ordered, [*ordered[1:], None], strict=True):
        read = total_bytes(_text(tasks.input_shapes, kernel), _text(tasks.input_dtypes, kernel))
        written = total_bytes(_text(tasks.output_shapes, kernel), _text(tasks.output_dtypes, kernel))
        if written is None:
            written = _inferred(tasks, kernel, behind)
            is_inferred = True
        if read is None or written is None:
            return None
        total += read + written
        moved[kernel] = read + written
        if behind is not None:
            intermediate += written
    fixed, per_byte = _line(np.array([moved[kernel] for kernel in kernels.tolist()], np.float64), times)
    return Moved(total, intermediate, int(times.max()), len(kernels), is_inferred, fixed, per_byte)


def _line(moved: npt.NDArray[np.float64], times: npt.NDArray[np.float64]) -> tuple[float, float]:
    """Return what a kernel of the chain takes whatever it moves, and per byte: least squares over its kernels."""
    spread = moved - moved.mean()
    slope = float((spread * times).sum() / (spread**2).sum()) if bool(spread.any()) else 0.0
    slope = max(slope, 0.0)
    fixed = float(times.mean() - slope * moved.mean())
    if fixed < 0:  # larger ones take more than in proportion: no time is fixed
        return 0.0, float(times.sum() / moved.sum())
    return fixed, slope


def _inferred(tasks: Tasks, kernel: int, behind: int | None) -> int | None:
    """Return the bytes that a kernel writes, as far as its inputs and those of the next one tell; 0 without tensors."""
    name = _text(tasks.op_type, kernel) or _text(tasks.name, kernel) or ""
    if plain_name(name).removeprefix("reduce") in _REDUCTIONS or "reduce_kernel" in name:
        sizes = _tensors(tasks, kernel if behind is None else behind)
        return None if sizes is None else min(sizes, default=0)
    sizes = _tensors(tasks, kernel)
    return None if sizes is None else max(sizes, default=0)


def _tensors(tasks: Tasks, kernel: int) -> list[int] | None:
    """Return the bytes of each input that is a tensor of a known type; None where inputs were not recorded."""
    shapes = shapes_of(_text(tasks.input_shapes, kernel))
    types = plain_dtypes(_text(tasks.input_dtypes, kernel))
    if shapes is None or types is None or len(shapes) != len(types):
        return None
    sizes = (tensor_bytes(shape, dtype) for shape, dtype in zip(shapes, types, strict=True) if dtype is not None)
    return [size for size in sizes if size]


def _text(column: Text, at: int) -> str | None:
    code = int(column.codes[at])
    return None if code < 0 else column.values[code]
