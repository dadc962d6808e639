"""Transformations of kernels: W10 to roofline or cohort, W12 lower precision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import numpy as np

from ascend_sn.analysis.kernels.op_flops import family_of
from ascend_sn.analysis.shapes import plain_dtypes
from ascend_sn.model.rows import Int64
from ascend_sn.replay.edits import Scale, SetDur
from ascend_sn.replay.graph import StepGraph, TimeClass
from ascend_sn.replay.prices import Bound, Confidence, Remark, Transform, Unpriced
from ascend_sn.replay.selectors import Where, device_nodes

__all__ = ["lower_precision", "operators_to", "operators_to_cohort"]

MATMUL_RATIOS: Final = (0.7, 0.5, 0.35)
"""Time of a float32 matrix product in half precision, where no pair of the capture tells: low, expected, high."""

MEMORY_RATIOS: Final = (0.7, 0.5, 0.5)
"""The same of kernels that move memory."""


def operators_to(
    where: Where,
    low_ns: int | Int64,
    expected_ns: int | Int64,
    high_ns: int | Int64,
    *,
    confidence: Confidence = "high",
) -> Transform:
    """W10: chosen kernels take no longer than given, one time for all or each its own, ns (roofline / efficiency)."""
    return Transform(
        "W10",
        Bound((SetDur(where, low_ns),)),
        Bound((SetDur(where, expected_ns),)),
        Bound((SetDur(where, high_ns),)),
        confidence=confidence,
    )


def operators_to_cohort(graph: StepGraph, where: Where) -> Transform | Unpriced:
    """W10: chosen kernels take no longer than those of the same type and shapes in the step.

    No longer than the third quartile, the median, and the quickest of the cohort.
    """
    chosen = np.flatnonzero(where.mask(graph) & device_nodes(graph))
    cohorts = _cohorts(graph)
    targets = np.zeros((3, len(chosen)), np.int64)
    alone = 0
    for at, node in enumerate(chosen.tolist()):
        peers = graph.nodes.dur[cohorts[_cohort_key(graph, node)]]
        alone += len(peers) < 2
        targets[:, at] = np.percentile(peers, [75, 50, 0]).astype(np.int64)
    if alone == len(chosen):
        return Unpriced(Remark("replay.no-cohort"))
    bounds = (Bound((SetDur(chosen, target),)) for target in targets)
    return Transform.of("W10", bounds)


def lower_precision(graph: StepGraph) -> Transform | Unpriced:
    """W12: float32 kernels in half precision.

    Matrix products take the time that the same shapes take in half precision in this capture; where none do, 0.7,
    0.5 or 0.35 of theirs. Other computing kernels move half the bytes.
    """
    nodes, tasks = graph.nodes, graph.tasks
    chosen = np.flatnonzero(device_nodes(graph) & (nodes.time_class == TimeClass.COMPUTE))
    dtypes, types = tasks.input_dtypes.decode(), tasks.op_type.decode()
    single = [node for node in chosen.tolist() if "float32" in (plain_dtypes(dtypes[int(nodes.kernel[node])]) or ())]
    products = [node for node in single if family_of(types[int(nodes.kernel[node])]) is not None]
    if not single:
        return Unpriced(Remark("replay.no-float32-kernels"))
    others = np.array(sorted(set(single) - set(products)), np.int64)
    measured = _precision_ratio(graph, chosen, products)
    ratios = MATMUL_RATIOS if measured is None else (min(1.0, measured * 1.2), measured, measured)
    bounds = (
        Bound((Scale(np.array(products, np.int64), matmul), Scale(others, memory)))
        for matmul, memory in zip(ratios, MEMORY_RATIOS, strict=True)
    )
    confidence: Confidence = "low" if measured is None else "high"
    remarks = (Remark("replay.precision-not-measured"),) if measured is None else ()
    return Transform.of("W12", bounds, remarks=remarks, confidence=confidence)


def _cohort_key(graph: StepGraph, node: int) -> tuple[int, int, int]:
    kernel, tasks = int(graph.nodes.kernel[node]), graph.tasks
    return (
        int(tasks.op_type.codes[kernel]),
        int(tasks.input_shapes.codes[kernel]),
        int(tasks.input_dtypes.codes[kernel]),
    )


def _cohorts(graph: StepGraph) -> dict[tuple[int, int, int], list[int]]:
    found: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for node in np.flatnonzero(device_nodes(graph)).tolist():
        found[_cohort_key(graph, node)].append(node)
    return found


def _precision_ratio(graph: StepGraph, chosen: Int64, products: Sequence[int]) -> float | None:
    """Return the time of half precision over that of float32 for matrix products of equal shapes, if both ran."""
    tasks, nodes = graph.tasks, graph.nodes
    half: dict[tuple[int, int], list[int]] = defaultdict(list)
    dtypes = tasks.input_dtypes.decode()
    for node in chosen.tolist():
        kernel = int(nodes.kernel[node])
        plain = plain_dtypes(dtypes[kernel]) or ()
        if "float32" not in plain and ("float16" in plain or "bfloat16" in plain):
            half[int(tasks.op_type.codes[kernel]), int(tasks.input_shapes.codes[kernel])].append(int(nodes.dur[node]))
    ratios = []
    for node in products:
        kernel = int(nodes.kernel[node])
        peers = half.get((int(tasks.op_type.codes[kernel]), int(tasks.input_shapes.codes[kernel])))
        if peers and nodes.dur[node] > 0:
            ratios.append(float(np.median(peers)) / int(nodes.dur[node]))
    return float(np.median(ratios)) if ratios else None
