"""Changes of communication that rules price; they run only where something is replayed."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced
    from ascend_sn.replay.graph import Collective

__all__ = [
    "compressed",
    "contention_removed",
    "merged",
    "overlapped",
    "sizes_of",
    "transits_scaled",
    "transits_scaled_by",
]

_BESIDE_RATIO: Final = 0.5
"""A kernel runs beside communication when this share of its time does, as in A19."""


def overlapped(graph: StepGraph) -> Transform | Unpriced:
    """W3: reductions of gradients start when their gradients are ready."""
    from ascend_sn.replay import comm_overlapped

    return comm_overlapped(graph)


def compressed(graph: StepGraph) -> Transform | Unpriced:
    """W5: float32 gradients are sent in half size."""
    from ascend_sn.replay import comm_compressed

    return comm_compressed(graph)


def merged(graph: StepGraph) -> Transform | Unpriced:
    """W6: small messages become one."""
    from ascend_sn.replay import buckets_merged

    return buckets_merged(graph)


def transits_scaled(
    graph: StepGraph,
    ratios: tuple[float, float, float],
    *,
    chosen: Callable[[Collective], bool] = lambda _: True,
    name: str = "W4",
) -> Transform | Unpriced:
    """Scale the known transits of some collectives: low, expected, high."""
    import numpy as np

    from ascend_sn.replay import Bound, Remark, Scale, Transform, Unpriced

    known = [one.transit_known and chosen(one) for one in graph.collectives]
    at = graph.transit[np.flatnonzero(known)]
    if not len(at):
        return Unpriced(Remark("replay.transit-unknown"))
    return Transform.of(name, (Bound((Scale(at, ratio),)) for ratio in ratios))


def transits_scaled_by(graph: StepGraph, ratio_of: Callable[[Collective], float | None]) -> Transform | Unpriced:
    """W4: scale the known transits of some collectives, each by its own ratio; low: half of the change.

    Args:
        graph: The replayed step.
        ratio_of: What is left of a collective's transit; None: it stays.
    """
    import numpy as np

    from ascend_sn.replay import Bound, Remark, Scale, Transform, Unpriced

    given = [ratio_of(one) if one.transit_known else None for one in graph.collectives]
    known = [at for at, ratio in enumerate(given) if ratio is not None]
    if not known:
        return Unpriced(Remark("replay.transit-unknown"))
    ratios = np.array([given[at] for at in known], np.float64)
    at = graph.transit[np.array(known, np.int64)]
    return Transform.of("W4", (Bound((Scale(at, ratio),)) for ratio in ((1 + ratios) / 2, ratios, ratios)))


def sizes_of(group_id: str | None, op: str, sizes: Collection[int]) -> Callable[[Collective], bool]:
    """Choose the calls of one group and operation that carry one of some sizes."""
    return lambda one: one.group_id == group_id and one.op == op and one.size_bytes in sizes


def contention_removed(graph: StepGraph, slowdowns: dict[str, float]) -> Transform | Unpriced:
    """Let kernels beside communication take the time that equal ones take alone.

    Args:
        graph: The replayed step.
        slowdowns: How many times longer kernels of a type take beside communication.
    """
    import numpy as np

    from ascend_sn.replay import Bound, Remark, Scale, Transform, Unpriced
    from ascend_sn.replay.graph import NodeKind, TimeClass

    nodes, tasks = graph.nodes, graph.tasks
    compute = np.flatnonzero(
        (nodes.kind == NodeKind.KERNEL) & (nodes.time_class == TimeClass.COMPUTE) & (nodes.dur > 0)
    )
    types = tasks.op_type.decode()
    chosen, ratios = [], []
    for profile in range(len(graph.profile_ids)):
        spans = _communication_of(graph, profile)
        for at in compute[nodes.profile[compute] == profile].tolist():
            slowdown = slowdowns.get(types[int(nodes.kernel[at])] or "", 1.0)
            begin, end = int(nodes.start[at]), int(nodes.start[at] + nodes.dur[at])
            beside = sum(max(0, min(end, stop) - max(begin, start)) for start, stop in spans)
            if slowdown > 1 and beside >= _BESIDE_RATIO * (end - begin):
                chosen.append(at)
                ratios.append(1 / slowdown)
    if not chosen:
        return Unpriced(Remark("replay.not-in-step"))
    positions, full = np.array(chosen, np.int64), np.array(ratios, np.float64)
    half = (1 + full) / 2
    return Transform.of("W10", [Bound((Scale(positions, half),)), *[Bound((Scale(positions, full),))] * 2])


def _communication_of(graph: StepGraph, profile: int) -> list[tuple[int, int]]:
    """Return when a profile was in its collectives, from its arrival to its finish."""
    import numpy as np

    from ascend_sn.replay.graph import NodeKind

    nodes = graph.nodes
    of_profile = nodes.profile == profile
    begins = {int(nodes.kernel[at]): int(nodes.start[at]) for at in np.flatnonzero(
        of_profile & (nodes.kind == NodeKind.ARRIVE)).tolist()}  # fmt: skip
    spans = []
    for at in np.flatnonzero(of_profile & (nodes.kind == NodeKind.FINISH)).tolist():
        start = begins.get(int(nodes.kernel[at]))
        if start is not None:
            spans.append((start, int(nodes.start[at] + nodes.dur[at])))
    return spans
