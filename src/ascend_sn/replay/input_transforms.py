"""Transformations of the input side: W1 input hidden, W2 copies from and to pinned memory beside the computing."""

from __future__ import annotations

from typing import Final

import numpy as np

from ascend_sn.model.rows import Int64
from ascend_sn.replay.edits import Edit, MoveStream, Scale, SetDur, Unblock
from ascend_sn.replay.graph import EdgeKind, NodeKind, StepGraph, TimeClass
from ascend_sn.replay.prices import Bound, Confidence, Remark, Transform, Unpriced
from ascend_sn.replay.selectors import Where

__all__ = ["copies_pinned", "input_hidden", "results_read_later"]

HAND_OVER_NS: Final = 1_500_000
"""Cost of handing a batch over, which no number of workers hides (measured 1 to 2 ms; analyses.md 3.4)."""

SLOW_HAND_OVER_RATIO: Final = 2.0
"""Cost of handing a batch over in the low case, in units of the expected one (the upper end of what was measured)."""

MORE_WORKERS: Final = 2
"""Workers that are added in the expected case."""

CONTENTION_RATIO: Final = 1.25
"""Longer production with more workers where the number of cores is not known (measured errors up to 22 %)."""

BOUND_RATIO: Final = 0.05
"""Share of the step spent on waiting from which on workers, where there are some, do not keep up (A06)."""

UNKNOWN_WORKERS: Final = 8
"""Workers taken for there where the capture shows some and not how many; the more, the less two more help."""

SLOW_COPY_RATIO: Final = 0.5
"""Share of the best measured bandwidth that copies reach in the low case."""


def input_hidden(
    graph: StepGraph,
    *,
    workers: int | None = None,
    cores: int | None = None,
    produce_ns: int | None = None,
    to_workers: int | None = None,
    hand_over_ns: int = HAND_OVER_NS,
) -> Transform | Unpriced:
    """W1: batches are made ready beside the step: step -> max(rest + hand-over, production / workers).

    Args:
        graph: The replayed step.
        workers: Loader workers now; by default none, unless the names of the slices tell of some.
        cores: Cores of the host; without them contention is assumed.
        produce_ns: Time to make one batch; by default what the step waits without workers, with w workers that
            keep it waiting w times the step, and with workers that do not keep it waiting nothing that matters.
        to_workers: Workers after the change; by default two more, and in the low case one more or what cores there are.
        hand_over_ns: Cost per batch that stays.
    """
    waits = _main_data(graph)
    waited = max((int(graph.nodes.dur[nodes].sum()) for nodes in waits), default=0)
    if not waited:
        return Unpriced(Remark("replay.no-data-wait"))
    remarks: list[Remark] = []
    confidence: Confidence = "high"
    if workers is None:
        workers = 0
        if _shows_workers(graph):
            workers, confidence = UNKNOWN_WORKERS, "low"
            remarks.append(Remark("replay.workers-unknown", {"assumed_count": workers}))
    if produce_ns is None:
        bound = waited >= BOUND_RATIO * graph.observed_ns
        produce_ns = (workers * graph.observed_ns if bound else 0) if workers else waited
    more = workers + MORE_WORKERS if to_workers is None else max(to_workers, 1)
    if cores is None:
        fewest, crowded = workers + 1, CONTENTION_RATIO
        remarks.append(Remark("replay.cores-unknown"))
    else:
        fewest = max(1, min(more, cores - 1)) if to_workers is None else more
        crowded = max(1.0, fewest / cores, (fewest + 1) / cores)

    def limited(production_ns: float, handed_ns: int, slower: float = 1.0) -> Bound:
        # Workers that would make it worse are not added.
        production_ns = min(production_ns, graph.observed_ns)
        kept = (Scale(nodes, min(1.0, handed_ns / max(int(graph.nodes.dur[nodes].sum()), 1))) for nodes in waits)
        made = SetDur([graph.production], np.array([round(production_ns)], np.int64), raises=True)
        beside = _beside(graph, waits, slower) if cores is not None else ()
        return Bound((*beside, *kept, made))

    slow_ns = round(SLOW_HAND_OVER_RATIO * hand_over_ns)
    return Transform(
        "W1",
        # There a worker spends the time of the hand-over, too.
        low=limited((produce_ns * crowded + slow_ns) / fewest, slow_ns, crowded),
        expected=limited(produce_ns / more, hand_over_ns),
        high=Bound(tuple(Scale(nodes, 0.0) for nodes in waits)),
        remarks=tuple(remarks),
        confidence=confidence,
    )


def _beside(graph: StepGraph, waits: list[Int64], slower: float) -> tuple[Edit, ...]:
    """Let the threads of the program work slower by a factor, beside workers that take all the cores."""
    if slower <= 1.0:
        return ()
    working = graph.nodes.kind == NodeKind.HOST
    for nodes in waits:
        working[nodes] = False
    return (Scale(np.flatnonzero(working), slower),)


def copies_pinned(graph: StepGraph) -> Transform | Unpriced:
    """W2: copies to the device from pinned memory, asynchronous, issued during the step before.

    In the expected case they run beside the step before, at the best measured bandwidth: a step takes as long as its
    copies at least. In the low case they come too late for that, and run from the begin of the step that uses them, at
    half that bandwidth; in the high case they cost nothing. Where no size is recorded they keep their time. The host no
    longer waits in the calls that issue them.
    """
    nodes = graph.nodes
    chosen = Where(kinds=("copy",), directions=("h2d",)).mask(graph)
    if not bool(chosen.any()):
        return Unpriced(Remark("replay.no-host-to-device-copies"))
    copies = np.flatnonzero(chosen)
    on_device = bool((nodes.kind[copies] == NodeKind.KERNEL).all())
    waiting = _hosts_of(graph, copies) if on_device else np.zeros(0, np.int64)
    aside: tuple[Edit, ...] = (MoveStream(copies, ahead=True), Unblock(waiting, copies)) if on_device else ()
    gone = (SetDur(copies, 0), *aside)
    beside = np.bincount(nodes.profile[copies], _copy_times(graph, copies, 1.0)).max()
    kept = SetDur([graph.production], np.array([round(float(beside))], np.int64), raises=True)
    # A copy on a host thread holds the thread however quick it is; issued asynchronously it does not.
    return Transform(
        "W2",
        low=Bound((SetDur(copies, _copy_times(graph, copies, SLOW_COPY_RATIO)), *aside)),
        expected=Bound((*gone, kept) if on_device else gone),
        high=Bound(gone),
        confidence="high" if on_device else "low",
    )


def results_read_later(graph: StepGraph) -> Transform | Unpriced:
    """W2 the other way: copies to the host go into pinned memory, asynchronously, and are read a step later.

    In the low case the host still waits for them, and only the copies are as quick as the best measured one; in the
    expected case they run beside the computing and the host waits only for what was computed; in the high case it waits
    for nothing.
    """
    chosen = Where(kinds=("copy",), directions=("d2h",)).mask(graph)
    copies = np.flatnonzero(chosen & (graph.nodes.kind == NodeKind.KERNEL))
    if not len(copies):
        return Unpriced(Remark("replay.no-device-to-host-copies"))
    waiting = _hosts_of(graph, copies)
    gone = SetDur(copies, 0)
    return Transform(
        "W2",
        low=Bound((SetDur(copies, _copy_times(graph, copies, 1.0)),)),
        expected=Bound((gone,)),
        high=Bound((gone, Unblock(waiting, copies))),
    )


def _main_data(graph: StepGraph) -> list[Int64]:
    """Return the stretches in which each profile waits for data, where it waits at all."""
    nodes = graph.nodes
    data = (nodes.kind == NodeKind.HOST) & (nodes.time_class == TimeClass.DATA_LOADING) & nodes.is_main
    found = [np.flatnonzero(data & (nodes.profile == profile)) for profile in range(len(graph.profile_ids))]
    return [part for part in found if len(part)]


def _shows_workers(graph: StepGraph) -> bool:
    return any("MultiProcessing" in name for name in graph.tasks.name.values)


def _hosts_of(graph: StepGraph, copies: Int64) -> Int64:
    """Return the host stretches that wait for the copies."""
    edges = graph.edges
    return np.unique(edges.dst[(edges.kind == EdgeKind.BLOCKING) & np.isin(edges.src, copies)])


def _copy_times(graph: StepGraph, copies: Int64, ratio: float) -> Int64:
    """Return the time of each copy at a share of the best bandwidth among them, ns."""
    dur, size = graph.nodes.dur[copies], graph.tasks.size_bytes[graph.nodes.kernel[copies]]
    known = (size > 0) & (dur > 0)
    if not bool(known.any()):
        return dur
    best = float((size[known] / dur[known]).max())
    return np.where(known, np.rint(size / (best * ratio)), dur).astype(np.int64)
