"""Collectives of gradients, and the backward work that makes their gradients ready."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

import msgspec
import numpy as np

from ascend_sn.model.rows import Int64
from ascend_sn.replay.engine import Draft
from ascend_sn.replay.graph import EdgeKind, NodeKind, StepGraph, TimeClass

__all__ = ["Buckets", "StartWhenReady", "ready_order"]


_OF_GRADIENTS: Final = re.compile("dp|default|embd|world", re.IGNORECASE)
"""Kinds of communicators whose members reduce gradients; those of tensors, stages, or experts carry activations."""


class Buckets(msgspec.Struct, frozen=True, eq=False):
    """The collectives of one profile that carry gradients, in order.

    Attributes:
        producers: Backward work, in order.
        arrival: Node of each collective that waits for the gradients: the arrival of the rank on a device, the
            transit itself where a host thread is in the call.
        transit: Transit of each.
        ready_ratio: Share of the backward work after which the gradients of each are ready.
    """

    producers: Int64
    arrival: Int64
    transit: Int64
    ready_ratio: tuple[float, ...]


class StartWhenReady(msgspec.Struct, frozen=True, eq=False):
    """Edit: collectives wait for their own gradients only; computing beside them takes `contention` times as long.

    Collectives that already start earlier stay as they are. Their order among each other is kept.
    """

    buckets: Buckets
    contention: float = 1.0

    def apply(self, draft: Draft) -> None:
        """Make the change."""
        buckets = self.buckets
        done = np.cumsum(draft.dur[buckets.producers])
        pieces = list(zip(done.tolist(), buckets.producers.tolist(), strict=True))
        total = float(done[-1])
        before: int | None = None
        for arrival, transit, ratio in zip(
            buckets.arrival.tolist(), buckets.transit.tolist(), buckets.ready_ratio, strict=True
        ):
            _wait_for(draft, arrival, _piece(draft, pieces, ratio * total), buckets)
            if before is not None:
                draft.add_edges(np.array([before]), np.array([transit]), 0, EdgeKind.MEETING)
            before = transit
        beside = float(draft.dur[buckets.transit].sum())
        _slow_down(draft, pieces, buckets.ready_ratio[0] * total, beside, self.contention)


def ready_order(graph: StepGraph, ops: Collection[str]) -> list[Buckets]:
    """Return the gradient collectives of every profile that has backward work before them.

    What a communicator of another kind than data parallel reduces is part of a layer, and the next one waits for it.

    Args:
        graph: The replayed step.
        ops: Operations that carry gradients.
    """
    nodes, edges, tasks = graph.nodes, graph.edges, graph.tasks
    backward = np.append(tasks.phase.matches(["backward"]), False)[nodes.task]
    backward &= np.isin(nodes.kind, (NodeKind.KERNEL, NodeKind.HOST)) & (nodes.dur > 0)
    backward &= nodes.time_class == TimeClass.COMPUTE
    carriers = [
        at
        for at, collective in enumerate(graph.collectives)
        if collective.op in ops and (collective.group_kind is None or _OF_GRADIENTS.search(collective.group_kind))
    ]
    sources_of = [edges.src[graph.incoming(int(transit))] for transit in graph.transit]
    found = []
    for profile in range(len(graph.profile_ids)):
        producers = np.flatnonzero(backward & (nodes.profile == profile))
        if not len(producers):
            continue
        chosen: list[tuple[int, int, int]] = []
        for at in carriers:
            transit = int(graph.transit[at])
            own = sources_of[at][nodes.profile[sources_of[at]] == profile]
            if len(own) and nodes.start[own[0]] >= nodes.start[producers[0]]:
                arrival = int(own[0]) if nodes.kind[own[0]] == NodeKind.ARRIVE else transit
                chosen.append((transit, arrival, graph.collectives[at].size_bytes or 0))
        if not chosen:
            continue
        chosen.sort()
        sizes = [size for _, _, size in chosen]
        weights = sizes if all(sizes) else [1] * len(sizes)
        ratios = np.cumsum(weights) / sum(weights)
        found.append(
            Buckets(
                producers=producers,
                arrival=np.array([arrival for _, arrival, _ in chosen], np.int64),
                transit=np.array([transit for transit, _, _ in chosen], np.int64),
                ready_ratio=tuple(ratios.tolist()),
            )
        )
    return found


def _slow_down(draft: Draft, pieces: list[tuple[int, int]], ready: float, beside: float, contention: float) -> None:
    """Stretch the backward work behind the first ready gradients, for as long as there is communication beside it."""
    for done, node in pieces:
        begun = done - int(draft.dur[node])
        shared = min(done, ready + beside) - max(begun, ready)
        if shared > 0:
            draft.dur[node] += round((contention - 1) * shared)


def _piece(draft: Draft, pieces: list[tuple[int, int]], ready: float) -> int:
    """Return the node after which `ready` ns of the work are done; a stretch of a thread is divided for it."""
    at = next((at for at, (done, _) in enumerate(pieces) if done >= ready), len(pieces) - 1)
    done, node = pieces[at]
    begun = done - int(draft.dur[node])
    part = round(ready - begun)
    is_host = node >= len(draft.graph.nodes) or draft.graph.nodes.kind[node] == NodeKind.HOST
    if not is_host or not 0 < part < draft.dur[node]:
        return node
    rest = draft.add_node(int(draft.dur[node]) - part, node)
    draft.src[draft.alive & (draft.src == node)] = rest
    draft.dur[node] = part
    draft.add_edges(np.array([node]), np.array([rest]), 0, EdgeKind.HOST_ORDER)
    pieces[at : at + 1] = [(begun + part, node), (done, rest)]
    return node


def _wait_for(draft: Draft, arrival: int, producer: int, buckets: Buckets) -> None:
    """Replace what holds an arrival by its producer, unless only something earlier holds it."""
    nodes = draft.graph.nodes
    on_host = nodes.kind[arrival] == NodeKind.TRANSIT
    kinds = (EdgeKind.MEETING,) if on_host else (EdgeKind.LAUNCH, EdgeKind.EVENT, EdgeKind.STREAM_ORDER)
    # Of the ranks that meet there, this one; the collective before on the same stream still holds it.
    replaced = np.ones(len(draft.dur), np.bool_)
    replaced[: len(nodes)] = (nodes.profile == nodes.profile[buckets.producers[0]]) & (
        nodes.kind != NodeKind.FINISH if not on_host else True
    )
    edges = np.flatnonzero(
        draft.alive
        & (draft.dst == arrival)
        & np.isin(draft.kind, np.array(kinds, np.uint8))
        & replaced[draft.src]
        & (draft.rank[draft.src] > draft.rank[producer])
    )
    if draft.rank[producer] >= draft.rank[arrival] or not len(edges):
        return
    in_order = draft.src[edges[draft.kind[edges] == EdgeKind.STREAM_ORDER]]
    draft.alive[edges] = False
    draft.add_edges(np.array([producer]), np.array([arrival]), 0, EdgeKind.EVENT)
    if not on_host:
        draft.residual[arrival] = 0
        _close_up(draft, arrival, in_order.tolist())


def _close_up(draft: Draft, arrival: int, before: list[int]) -> None:
    """Where a collective lay in the stream of the computing, let what follows there wait for what came before."""
    nodes = draft.graph.nodes
    finish = np.flatnonzero((nodes.kind == NodeKind.FINISH) & (nodes.kernel == nodes.kernel[arrival]))
    after = np.flatnonzero(draft.alive & (draft.kind == EdgeKind.STREAM_ORDER) & np.isin(draft.src, finish))
    for source in before:
        for target, weight in zip(draft.dst[after].tolist(), draft.weight[after].tolist(), strict=True):
            draft.add_edges(np.array([source]), np.array([target]), weight, EdgeKind.STREAM_ORDER)
