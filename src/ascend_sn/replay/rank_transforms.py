"""W9: a straggler works as the other ranks do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn.model.rows import Int64
from ascend_sn.replay.edits import Scale, SetDur
from ascend_sn.replay.graph import NodeKind, StepGraph, TimeClass
from ascend_sn.replay.prices import Bound, Remark, Transform, Unpriced

__all__ = ["straggler_normalised"]

_RANKS_AT_LEAST: Final = 2

_WORK: Final = (
    TimeClass.COMPUTE,
    TimeClass.COPY,
    TimeClass.HOST,
    TimeClass.LAUNCH,
    TimeClass.DATA_LOADING,
    TimeClass.ALLOCATOR,
    TimeClass.GC,
    TimeClass.COMPILE,
)


def straggler_normalised(graph: StepGraph, profile_ids: Collection[int] | None = None) -> Transform | Unpriced:
    """W9: work takes no longer than the median rank's.

    Low: per class of time, the sum of a rank comes down to the median sum. Expected: per class and name. High: every
    single slice and kernel comes down to the median of the same one (by name and number) on all ranks.

    Args:
        graph: The replayed step of several profiles.
        profile_ids: Profiles that are made normal; all by default.
    """
    nodes = graph.nodes
    ranks = len(graph.profile_ids)
    if ranks < _RANKS_AT_LEAST:
        return Unpriced(Remark("replay.one-rank"))
    at = np.flatnonzero(
        np.isin(nodes.kind, (NodeKind.HOST, NodeKind.KERNEL))
        & np.isin(nodes.time_class, np.array(_WORK, np.uint8))
        & (nodes.dur > 0)
    )
    mine = np.ones(ranks, np.bool_)
    if profile_ids is not None:
        mine = np.array([profile_id in profile_ids for profile_id in graph.profile_ids], np.bool_)
    of_class = nodes.time_class[at].astype(np.int64)
    name = np.append(graph.tasks.name.codes, np.int32(-1))[nodes.task[at]].astype(np.int64) + 1
    of_name = of_class * (len(graph.tasks.name.values) + 1) + name
    changed = mine[nodes.profile[at]]
    bounds = [
        Bound((Scale(at[changed], _ratios(nodes.dur[at], nodes.profile[at], key, ranks)[changed]),))
        for key in (of_class, of_name)
    ]
    single = _medians(nodes.dur[at], nodes.profile[at], of_name, ranks)
    return Transform.of("W9", [*bounds, Bound((SetDur(at[changed], single[changed]),))])


def _ratios(dur: Int64, profile: Int64, key: Int64, ranks: int) -> npt.NDArray[np.float64]:
    """Return for each node the median sum of its key over the ranks, in units of its own rank's sum, at most 1."""
    _, group = np.unique(key, return_inverse=True)
    sums = np.zeros((int(group.max(initial=-1)) + 1, ranks), np.int64)
    np.add.at(sums, (group, profile), dur)
    middle = np.median(sums, axis=1)
    ratios: npt.NDArray[np.float64] = np.minimum(middle[group] / sums[group, profile], 1.0)
    return ratios


def _medians(dur: Int64, profile: Int64, key: Int64, ranks: int) -> Int64:
    """Return for each node the median duration over the ranks of the node with its key and number."""
    found = dur.copy()
    same: dict[tuple[int, int], list[int]] = defaultdict(list)
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for at, (value, rank) in enumerate(zip(key.tolist(), profile.tolist(), strict=True)):
        same[value, counts[value, rank]].append(at)
        counts[value, rank] += 1
    for members in same.values():
        if len(members) == ranks:
            found[members] = int(np.median(dur[members]))
    return found
