"""Transformations that trade memory for time: W13 recompute activations, W14 twice the batch."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.model.rows import Int64
from ascend_sn.replay.choose import Window
from ascend_sn.replay.edits import Edit, Lengthen, Scale
from ascend_sn.replay.graph import StepGraph, TimeClass
from ascend_sn.replay.prices import Bound, Remark, Transform, Unpriced
from ascend_sn.replay.selectors import Where, device_nodes

__all__ = ["MemoryChange", "activation_bytes", "batch_doubled", "recomputed"]

RECOMPUTE_RATIOS: Final = (1.1, 1.0, 1.0)
"""Time of a second forward pass in units of the first: low, expected, high."""

_GROWING: Final = (TimeClass.COMPUTE, TimeClass.COPY, TimeClass.DATA_LOADING)


class MemoryChange(msgspec.Struct, frozen=True):
    """What a transformation does to the memory of one profile.

    Attributes:
        peak_bytes: Allocated at the peak of the step.
        activation_bytes: Allocated in the forward phase by the chosen operators and still held at the peak.
    """

    peak_bytes: int
    activation_bytes: int


def recomputed(graph: StepGraph, modules: Collection[str]) -> Transform | Unpriced:
    """W13: activations of modules are dropped, and their forward work is done again before their backward work.

    The gain is negative: what it costs. `activation_bytes` tells what it frees.

    Args:
        graph: The replayed step.
        modules: Module paths; one means what lies below it, too.
    """
    work = device_nodes(graph) & (graph.nodes.time_class == TimeClass.COMPUTE)
    forward = np.flatnonzero(Where(phases=("forward",), modules=modules).mask(graph) & work)
    backward = np.flatnonzero(Where(phases=("backward",), modules=modules).mask(graph) & work)
    if not len(forward):
        return Unpriced(Remark("replay.modules-unknown"))
    if not len(backward):  # backward operators seldom carry their module
        backward = np.flatnonzero(Where(phases=("backward",)).mask(graph) & work)
    edits: list[list[Edit]] = [[], [], []]
    for profile in np.unique(graph.nodes.profile[forward]).tolist():
        again = int(graph.nodes.dur[forward[graph.nodes.profile[forward] == profile]].sum())
        behind = backward[graph.nodes.profile[backward] == profile]
        if not len(behind):
            return Unpriced(Remark("replay.no-backward"))
        for bound, ratio in zip(edits, RECOMPUTE_RATIOS, strict=True):
            bound.append(Lengthen(behind[:1], round(again * ratio)))
    return Transform.of("W13", (Bound(tuple(bound)) for bound in edits))


def activation_bytes(
    db: DuckDBPyConnection, window: Window, modules: Collection[str] | None = None
) -> MemoryChange | Unpriced:
    """Return what the operators of a window hold at its memory peak, and of it the activations.

    Args:
        db: A connection with the tables `memory_event` and `operator`.
        window: The replayed window.
        modules: Module paths whose activations count; all by default.
    """
    rows = db.execute(
        """
        select event.kind = 'alloc' as is_alloc, event.size_bytes, event.address, event.allocated_bytes,
               operator.phase = 'forward' as is_forward, operator.module
        from memory_event event
        left join operator using (profile_id, operator_id)
        where event.profile_id = $profile and event.ts_ns >= $from and event.ts_ns < $to
          and event.kind in ('alloc', 'free') and event.size_bytes is not null
        order by event.ts_ns
        """,
        {"profile": window.profile_id, "from": window.start_ns, "to": window.end_ns},
    ).fetchall()
    if not rows:
        return Unpriced(Remark("replay.memory-not-collected"))
    held: dict[object, int] = {}
    allocated = 0
    peak = MemoryChange(0, 0)
    for number, (is_alloc, size, address, recorded, is_forward, module) in enumerate(rows):
        allocated = allocated + (size if is_alloc else -size) if recorded is None else recorded
        if not is_alloc:
            held.pop(address, None)
        elif is_forward and (modules is None or any(_is_below(module, path) for path in modules)):
            held[number if address is None else address] = size
        if allocated > peak.peak_bytes:
            peak = MemoryChange(allocated, sum(held.values()))
    return peak


def batch_doubled(graph: StepGraph, *, fixed_ns: Int64 | None = None, fits: bool = True) -> Transform | Unpriced:
    """W14: twice the batch, time per sample: t(2b) = t0 + 2 k b for every kernel; gradients stay as they are.

    In the low case t0 is 0, so that only what does not depend on the batch is saved; in the expected case it is the
    shortest kernel of the step; in the high case it is given, from a sweep or a second capture.

    Args:
        graph: The replayed step.
        fixed_ns: t0 of each node, by position in the graph.
        fits: Whether the memory holds the larger batch.
    """
    if not fits:
        return Unpriced(Remark("replay.batch-does-not-fit"))
    nodes = graph.nodes
    grows = np.isin(nodes.time_class, np.array(_GROWING, np.uint8)) & (nodes.dur > 0)
    grows &= device_nodes(graph) | (nodes.time_class == TimeClass.DATA_LOADING)
    at = np.flatnonzero(grows)
    if not len(at):
        return Unpriced(Remark("replay.nothing-grows-with-the-batch"))
    dur = nodes.dur[at]
    computing = nodes.time_class[at] == TimeClass.COMPUTE
    shortest = int(dur[computing].min(initial=int(dur.max())))
    floor = np.where(computing, np.minimum(shortest, dur), 0)
    given = floor if fixed_ns is None else np.clip(fixed_ns[at], 0, dur)

    def with_fixed(fixed: Int64) -> Bound:
        return Bound((Scale(at, 2.0 - fixed / dur),), work_ratio=2.0)

    return Transform("W14", with_fixed(np.zeros_like(dur)), with_fixed(floor), with_fixed(given))


def _is_below(module: str | None, path: str) -> bool:
    return module is not None and (module == path or module.startswith((f"{path}.", f"{path}/")))
