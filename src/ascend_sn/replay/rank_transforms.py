"""W9: a straggler works as the other ranks do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from typing import Final

import numpy as np
import numpy.typing as npt

from ascend_sn.model.rows import Bool, Int64
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
    """W9: work takes no longer than that of the median rank of the same pipeline stage.

    Low: per class of time, the sum of a rank comes down to the median sum. Expected: per class and name. High: every
    single slice and kernel comes down to the median of the same one (by name and number). The median is that of the
    other ranks, which stay as they are, where there are any. Other stages do other work; ranks whose stage is not known
    count as one.

    Args:
        graph: The replayed step of several profiles.
        profile_ids: Profiles that are made normal; all by default.
    """
    nodes = graph.nodes
    mine = np.ones(len(graph.profile_ids), np.bool_)
    if profile_ids is not None:
        mine = np.array([profile_id in profile_ids for profile_id in graph.profile_ids], np.bool_)
    stage = np.array([-1 if stage is None else stage for stage in graph.stages], np.int64)
    peers_of_stages = [np.flatnonzero(stage == one) for one in np.unique(stage[mine]).tolist()]
    if all(len(peers) < _RANKS_AT_LEAST for peers in peers_of_stages):
        return Unpriced(Remark("replay.one-rank"))
    at = np.flatnonzero(
        np.isin(nodes.kind, (NodeKind.HOST, NodeKind.KERNEL))
        & np.isin(nodes.time_class, np.array(_WORK, np.uint8))
        & (nodes.dur > 0)
    )
    of_class = nodes.time_class[at].astype(np.int64)
    name = np.append(graph.tasks.name.codes, np.int32(-1))[nodes.task[at]].astype(np.int64) + 1
    of_name = of_class * (len(graph.tasks.name.values) + 1) + name
    by_class, by_name, single = np.ones(len(at)), np.ones(len(at)), nodes.dur[at].copy()
    for peers in peers_of_stages:
        here = np.flatnonzero(np.isin(nodes.profile[at], peers))
        dur, rank = nodes.dur[at[here]], np.searchsorted(peers, nodes.profile[at[here]])
        usual = np.ones(len(peers), np.bool_) if mine[peers].all() else ~mine[peers]
        by_class[here] = _ratios(dur, rank, of_class[here], usual)
        by_name[here] = _ratios(dur, rank, of_name[here], usual)
        single[here] = _medians(dur, rank, of_name[here], usual)
    changed = mine[nodes.profile[at]]
    bounds = [Bound((Scale(at[changed], ratios[changed]),)) for ratios in (by_class, by_name)]
    return Transform.of("W9", [*bounds, Bound((SetDur(at[changed], single[changed]),))])


def _ratios(dur: Int64, profile: Int64, key: Int64, usual: Bool) -> npt.NDArray[np.float64]:
    """Return for each node the median sum of its key over the usual ranks, over that of its own rank, at most 1."""
    _, group = np.unique(key, return_inverse=True)
    sums = np.zeros((int(group.max(initial=-1)) + 1, len(usual)), np.int64)
    np.add.at(sums, (group, profile), dur)
    middle = np.median(sums[:, usual], axis=1)
    ratios: npt.NDArray[np.float64] = np.minimum(middle[group] / sums[group, profile], 1.0)
    return ratios


def _medians(dur: Int64, profile: Int64, key: Int64, usual: Bool) -> Int64:
    """Return for each node the median duration over the usual ranks of the node with its key and number."""
    found = dur.copy()
    same: dict[tuple[int, int], list[int]] = defaultdict(list)
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for at, (value, rank) in enumerate(zip(key.tolist(), profile.tolist(), strict=True)):
        same[value, counts[value, rank]].append(at)
        counts[value, rank] += 1
    for members in same.values():
        if len(members) == len(usual):
            chosen = np.array(members)
            found[chosen] = int(np.median(dur[chosen][usual[profile[chosen]]]))
    return found
