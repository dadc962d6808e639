"""Work that some ranks of a pipeline stage have more of than others: kernels on larger inputs, or more of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn.analysis.shapes import shapes_of
from ascend_sn.model.rows import Bool, Int64
from ascend_sn.replay.edits import Scale
from ascend_sn.replay.graph import NodeKind, StepGraph, TimeClass
from ascend_sn.replay.prices import Bound, Remark, Transform, Unpriced

__all__ = ["WorkExcess", "work_balanced", "work_excesses"]

_RANKS_AT_LEAST: Final = 2

Float64 = npt.NDArray[np.float64]


class WorkExcess(msgspec.Struct, frozen=True):
    """What a rank computes longer than the median of the others of its stage, and how much of it is more work.

    Attributes:
        profile_id: The rank.
        excess_ns: Its compute beyond theirs; below 0 where it is shorter.
        more_work_ns: What it has to be longer by its inputs: kernels take as long as they are large.
        op_types: Operator types of the kernels with unequal inputs, those that exceed the others' most first.
        has_shapes: Whether shapes of its kernels were collected.
    """

    profile_id: int
    excess_ns: int
    more_work_ns: int
    op_types: tuple[str, ...]
    has_shapes: bool


class _Stage(msgspec.Struct, frozen=True):
    """Compute kernels of the ranks of a stage.

    Attributes:
        ranks: Their places in the graph.
        at: Positions of the kernels' nodes.
        rank: For each kernel, which of the ranks.
        op_type: For each, a code of its type.
        is_uneven: For each, whether not all ranks have one like it.
        size: For each uneven one, elements of the inputs that differ; else 0.
    """

    ranks: Int64
    at: Int64
    rank: Int64
    op_type: Int64
    is_uneven: Bool
    size: Float64

    def summed(self, values: npt.NDArray[np.float64] | Int64, chosen: Bool | None = None) -> Float64:
        """Return sums of kernels' values by type (rows) and rank (columns)."""
        kept = np.ones(len(self.at), np.bool_) if chosen is None else chosen
        sums = np.zeros((int(self.op_type.max(initial=-1)) + 1, len(self.ranks)))
        np.add.at(sums, (self.op_type[kept], self.rank[kept]), values[kept])
        return sums


def work_excesses(graph: StepGraph) -> list[WorkExcess]:
    """Return for each rank how much longer it computes than the others of its stage, and why.

    Kernels of a stage's ranks are compared by operator type and number. What their inputs have in common (weights) does
    not count. Nothing is explained where no shapes were collected.
    """
    names = graph.tasks.op_type.values
    found = []
    for stage in _stages(graph):
        dur = graph.nodes.dur[stage.at]
        total = stage.summed(dur).sum(axis=0)
        by_type = stage.summed(dur, stage.is_uneven)
        size = stage.summed(stage.size, stage.is_uneven)
        of_all = size.sum(axis=1, keepdims=True)
        expected = np.divide(
            by_type.sum(axis=1, keepdims=True) * size, of_all, out=np.zeros_like(size), where=of_all > 0
        )
        shapes = graph.tasks.input_shapes.codes[graph.nodes.kernel[stage.at]]
        for at, rank in enumerate(stage.ranks.tolist()):
            others = np.delete(np.arange(len(stage.ranks)), at)
            more = expected.sum(axis=0)
            longer = by_type[:, at] - np.median(by_type[:, others], axis=1)
            order = [code for code in np.argsort(-longer, kind="stable").tolist() if longer[code] > 0]
            found.append(
                WorkExcess(
                    profile_id=graph.profile_ids[rank],
                    excess_ns=round(float(total[at] - np.median(total[others]))),
                    more_work_ns=round(float(more[at] - np.median(more[others]))),
                    op_types=tuple(names[code - 1] for code in order if code),
                    has_shapes=bool((shapes[stage.rank == at] >= 0).any()),
                )
            )
    return found


def work_balanced(graph: StepGraph, standing_for: Mapping[int, float] | None = None) -> Transform | Unpriced:
    """W9: ranks of a stage share the work evenly of which some have more: their kernels come to the mean time.

    Low: half of the difference goes. High: ranks that have more come down to the median, and the others do not get
    any more. What all ranks have alike stays as it is.

    Args:
        graph: The replayed step of several profiles.
        standing_for: How many ranks of the job a profile stands for, where not all are replayed; one each by default.
    """
    at: list[Int64] = []
    even: list[Float64] = []
    less: list[Float64] = []
    stages = list(_stages(graph))
    if not stages:
        return Unpriced(Remark("replay.one-rank"))
    for stage in stages:
        chosen = stage.is_uneven
        sums = stage.summed(graph.nodes.dur[stage.at], chosen)
        weight = np.array([(standing_for or {}).get(graph.profile_ids[rank], 1.0) for rank in stage.ranks.tolist()])
        key = stage.op_type[chosen], stage.rank[chosen]
        own = np.maximum(sums[key], 1.0)
        at.append(stage.at[chosen])
        even.append((sums @ weight / weight.sum())[key[0]] / own)
        less.append(np.minimum(np.median(sums, axis=1)[key[0]] / own, 1.0))
    nodes, ratio, median = np.concatenate(at), np.concatenate(even), np.concatenate(less)
    if not len(nodes):
        return Unpriced(Remark("replay.work-is-even"))
    return Transform.of("W9", [Bound((Scale(nodes, ratios),)) for ratios in ((1 + ratio) / 2, ratio, median)])


def _stages(graph: StepGraph) -> Iterator[_Stage]:
    """Return the compute kernels of every stage of two ranks or more; ranks whose stage is not known count as one."""
    nodes, tasks = graph.nodes, graph.tasks
    number = np.array([-1 if stage is None else stage for stage in graph.stages], np.int64)
    compute = np.flatnonzero(
        (nodes.kind == NodeKind.KERNEL) & (nodes.time_class == TimeClass.COMPUTE) & (nodes.dur > 0)
    )
    for one in np.unique(number).tolist():
        ranks = np.flatnonzero(number == one)
        if len(ranks) < _RANKS_AT_LEAST:
            continue
        at = compute[np.isin(nodes.profile[compute], ranks)]
        rank = np.searchsorted(ranks, nodes.profile[at])
        op_type = tasks.op_type.codes[nodes.kernel[at]].astype(np.int64) + 1
        order = np.lexsort((nodes.start[at], op_type, rank))
        at, rank, op_type = at[order], rank[order], op_type[order]
        shapes = tasks.input_shapes.codes[nodes.kernel[at]].astype(np.int64)
        is_uneven, size = _compared(rank, op_type, shapes, len(ranks), graph)
        yield _Stage(ranks, at, rank, op_type, is_uneven, size)


def _compared(rank: Int64, op_type: Int64, shapes: Int64, ranks: int, graph: StepGraph) -> tuple[Bool, Float64]:
    """Say which kernels, by rank, type and time, are not alike on all ranks, and how large their unequal inputs are."""
    counts = np.zeros((int(op_type.max(initial=-1)) + 1, ranks), np.int64)
    np.add.at(counts, (op_type, rank), 1)
    is_uneven = (counts.min(axis=1) != counts.max(axis=1))[op_type]
    size = is_uneven.astype(np.float64)  # of which some ranks have more: each counts alike
    ordinal = np.arange(len(op_type)) - np.searchsorted(rank * len(counts) + op_type, rank * len(counts) + op_type)
    paired = np.flatnonzero(~is_uneven)
    _, group = np.unique(op_type[paired] * (int(ordinal.max(initial=0)) + 1) + ordinal[paired], return_inverse=True)
    members = paired[np.argsort(group, kind="stable")].reshape(-1, ranks)
    texts = graph.tasks.input_shapes.values
    known: dict[tuple[int, ...], dict[int, int]] = {}
    least = shapes[members].min(axis=1)
    for row in members[(least >= 0) & (least != shapes[members].max(axis=1))]:
        codes = shapes[row].tolist()
        kinds = tuple(sorted(set(codes)))
        if kinds not in known:
            known[kinds] = _unequal_sizes({code: texts[code] for code in kinds})
        is_uneven[row] = True
        size[row] = [known[kinds][code] for code in codes]
    return is_uneven, size


def _unequal_sizes(texts: Mapping[int, str]) -> dict[int, int]:
    """Return for each text of shapes the elements of those tensors that are not the same in all texts."""
    tensors = {code: shapes_of(text) or () for code, text in texts.items()}
    same = min(map(len, tensors.values()))
    places = [at for at in range(same) if len({shapes[at] for shapes in tensors.values()}) == 1]
    return {
        code: sum(prod(shape) for at, shape in enumerate(shapes) if at not in places)
        for code, shapes in tensors.items()
    }
