"""Kernels and operators, by type, shape and name."""

from __future__ import annotations

import msgspec

from ascend_sn.report.documents.section import Section

__all__ = [
    "KernelShape",
    "KernelType",
    "Operator",
    "Operators",
]


class KernelType(msgspec.Struct, kw_only=True):
    """Kernels of one type and core, summed over the profiles; shares are of the summed compute time."""

    op_type: str | None
    kind: str
    core_type: str | None
    calls: int
    total_ns: int
    mean_ns: int
    min_ns: int
    max_ns: int
    share_ratio: float | None
    cumulative_ratio: float | None


class KernelShape(msgspec.Struct, kw_only=True):
    """Kernels of one type, core, and shapes and types of inputs, summed over the profiles.

    Tensors are parted by `;`, dimensions by commas; shares are of the summed compute time.
    """

    op_type: str
    kind: str
    core_type: str | None
    input_shapes: str
    input_dtypes: str | None
    calls: int
    total_ns: int
    mean_ns: int
    min_ns: int
    max_ns: int
    share_ratio: float | None


class Operator(msgspec.Struct, kw_only=True):
    """A framework operator, summed over the profiles: device time it launched, host time of its own."""

    name: str
    calls: int
    device_ns: int | None
    host_ns: int
    mean_device_ns: int | None
    input_bytes: int | None
    output_bytes: int | None
    share_ratio: float | None


class Operators(Section, kw_only=True):
    """The largest kernel types and operators; the time limit, if any, is on a row's total."""

    op_time_threshold_ns: int | None = None
    kernel_time_ns: int | None = None
    kernel_type_count: int = 0
    kernels: list[KernelType] = []
    operator_count: int = 0
    operators: list[Operator] = []
    kernel_calls: int | None = None
    operator_calls: int | None = None
    shape_count: int = 0
    shapes: list[KernelShape] = []
