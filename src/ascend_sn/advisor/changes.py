"""Changes that several rules price; they run only where something is replayed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ascend_sn.model.kinds import COMPUTE_KINDS

if TYPE_CHECKING:
    from ascend_sn.model.rows import Int64
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["kernels_fused", "operators_fused", "optimizer_fused", "together", "typed_to_share"]


def together(name: str, found: Sequence[Transform | Unpriced]) -> Transform | Unpriced:
    """Make several transformations at once; those without a price are left out, of none the first says why."""
    from ascend_sn.replay import Bound, Transform, Unpriced

    made = [one for one in found if isinstance(one, Transform)]
    if not made:
        return next(one for one in found if isinstance(one, Unpriced))

    def both(bounds: Sequence[Bound]) -> Bound:
        return Bound(tuple(edit for bound in bounds for edit in bound.edits))

    return Transform(
        name,
        both([one.low for one in made]),
        both([one.expected for one in made]),
        both([one.high for one in made]),
        remarks=tuple(remark for one in made for remark in one.remarks),
        confidence=min((one.confidence for one in made), key=("low", "medium", "high").index),
    )


def optimizer_fused(graph: StepGraph) -> Transform | Unpriced:
    """W7 with W8: the kernels of the optimizer phase become one per run of equal shapes, launched as one graph."""
    from ascend_sn.replay import Where, fused, launches_removed

    chains = _optimizer_chains(graph)
    return together("W7", [fused(graph, chains), launches_removed(graph, Where(phases=("optimizer",)))])


def operators_fused(graph: StepGraph, profile_id: int, matches: Sequence[Int64]) -> Transform | Unpriced:
    """W7: the kernels of each group of operators become one, matrix products aside, which keep their time.

    Args:
        graph: The replayed step.
        profile_id: The profile.
        matches: operator_id of each group.
    """
    import numpy as np

    from ascend_sn.analysis.kernels.op_flops import family_of
    from ascend_sn.replay import Where, fused

    nodes, tasks = graph.nodes, graph.tasks
    chosen = np.flatnonzero(Where(part="device", profile_ids=(profile_id,), kinds=COMPUTE_KINDS).mask(graph))
    owner = tasks.operator_id[nodes.kernel[chosen]]
    types, names = tasks.op_type.decode(), tasks.name.decode()
    chains: list[Int64] = []
    for match in matches:
        mine = chosen[np.isin(owner, match)]
        matrix = [family_of(types[int(at)] or names[int(at)]) is not None for at in nodes.kernel[mine]]
        pieces = np.split(mine, [place for place in range(len(mine)) if matrix[place] or (place and matrix[place - 1])])
        chains += [piece for piece in pieces if len(piece) > 1]
    return fused(graph, chains)


def kernels_fused(graph: StepGraph, profile_id: int, instances: Sequence[Sequence[int]]) -> Transform | Unpriced:
    """W7 with W8: groups of kernels become one each, and the step is launched as one graph.

    Args:
        graph: The replayed step.
        profile_id: The profile.
        instances: kernel_id of each group, in order; those of other steps are left out.
    """
    import numpy as np

    from ascend_sn.replay import Where, fused, launches_removed

    nodes, tasks = graph.nodes, graph.tasks
    chosen = np.flatnonzero(Where(part="device", profile_ids=(profile_id,)).mask(graph))
    of_kernel = dict(zip(tasks.row_id[nodes.kernel[chosen]].tolist(), chosen.tolist(), strict=True))
    chains = [
        np.array([of_kernel[kernel] for kernel in instance], np.int64)
        for instance in instances
        if all(kernel in of_kernel for kernel in instance)
    ]
    return together("W7", [fused(graph, chains), launches_removed(graph)])


def typed_to_share(
    graph: StepGraph, op_types: Collection[str], ratios: tuple[float, float, float], *, name: str = "W10"
) -> Transform | Unpriced:
    """Scale the kernels of some operator types to a share of their time: low, expected, high."""
    import numpy as np

    from ascend_sn.replay import Bound, Remark, Scale, Transform, Unpriced, Where

    nodes = np.flatnonzero(Where(part="device", op_types=op_types).mask(graph))
    if not len(nodes):
        # A kernel without a type goes by its name.
        nodes = np.flatnonzero(Where(part="device", names=op_types).mask(graph))
    if not len(nodes):
        return Unpriced(Remark("replay.not-in-step"))
    return Transform.of(name, (Bound((Scale(nodes, ratio),)) for ratio in ratios))


def _optimizer_chains(graph: StepGraph) -> list[Int64]:
    """Kernels of the optimizer phase that follow each other on one stream and begin with a tensor of one shape.

    Without a device they are stretches of a host thread.
    """
    import numpy as np

    from ascend_sn.replay import Where
    from ascend_sn.replay.selectors import device_nodes

    nodes, tasks = graph.nodes, graph.tasks
    mask = Where(phases=("optimizer",), kinds=COMPUTE_KINDS).mask(graph) & device_nodes(graph)
    chosen = np.flatnonzero(mask)
    kernel = nodes.kernel[chosen]
    lane = tasks.lane.codes[kernel].astype(np.int64) + nodes.profile[chosen] * (len(tasks.lane.values) + 1)
    shapes = tasks.input_shapes.decode()
    chains: list[Int64] = []
    for code in np.unique(lane).tolist():
        mine = chosen[lane == code]
        first = [(shapes[int(at)] or "").split(";", 1)[0] for at in nodes.kernel[mine]]
        cuts = [place for place in range(1, len(mine)) if first[place] != first[place - 1]]
        chains += [chain for chain in np.split(mine, cuts) if len(chain) > 1]
    return chains
