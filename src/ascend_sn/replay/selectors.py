"""Which nodes an edit is about."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import msgspec
import numpy as np

from ascend_sn.model.rows import Bool, Text
from ascend_sn.replay.graph import NO_TASK, NodeKind, StepGraph, TimeClass
from ascend_sn.replay.tasks import SourceTable

__all__ = ["Where", "device_nodes", "host_nodes"]

_HOST: Final = (NodeKind.HOST, NodeKind.BLOCKED)
_DEVICE: Final = (NodeKind.KERNEL, NodeKind.TRANSIT)


class Where(msgspec.Struct, frozen=True):
    """Nodes that fulfil every given condition; None does not ask.

    Nodes are stretches of host threads, kernels, and the transits of collectives. What a rank spends in a
    collective beside the transit, and kernels of earlier steps, are never chosen.

    Attributes:
        part: `host` or `device`. On a capture without a device every node is of the host.
        profile_ids: Profiles; a transit belongs to the first of its profiles.
        classes: Classes of time (A25).
        names: Names of slices or kernels.
        kinds: Kinds of kernels (compute, communication, fused, copy, sync, other).
        op_types: Operator types of kernels.
        core_types: Cores that kernels ran on.
        phases: Phases (data, forward, backward, optimizer, other).
        modules: Module paths; one chooses what lies below it, too.
        directions: Directions of copies.
        tables: `operator`, `host_call`, `kernel`, or `none` for the program between slices.
        row_ids: Ids in `tables`, which must then be one table; they are those of the replayed step.
    """

    part: str | None = None
    profile_ids: Collection[int] | None = None
    classes: Collection[TimeClass] | None = None
    names: Collection[str] | None = None
    kinds: Collection[str] | None = None
    op_types: Collection[str] | None = None
    core_types: Collection[str] | None = None
    phases: Collection[str] | None = None
    modules: Collection[str] | None = None
    directions: Collection[str] | None = None
    tables: Collection[str] | None = None
    row_ids: Collection[int] | None = None

    def mask(self, graph: StepGraph) -> Bool:
        """Return which nodes of a graph are meant."""
        nodes, tasks = graph.nodes, graph.tasks
        chosen = np.isin(nodes.kind, _of_part(self.part))
        if self.profile_ids is not None:
            numbers = [at for at, profile_id in enumerate(graph.profile_ids) if profile_id in self.profile_ids]
            chosen &= np.isin(nodes.profile, np.array(numbers, np.int64))
        if self.classes is not None:
            chosen &= np.isin(nodes.time_class, np.array([int(value) for value in self.classes], np.uint8))
        on_task: list[tuple[Text, Collection[str] | None]] = [(tasks.name, self.names), (tasks.phase, self.phases)]
        for text, wanted in on_task:
            if wanted is not None:
                chosen &= np.append(text.matches(wanted), False)[nodes.task]
        if self.modules is not None:
            paths = tuple(self.modules)
            below = tasks.module.where(lambda module: any(_is_below(module, path) for path in paths))
            chosen &= np.append(below, False)[nodes.task]
        on_kernel: list[tuple[Text, Collection[str] | None]] = [
            (tasks.kind, self.kinds),
            (tasks.op_type, self.op_types),
            (tasks.core_type, self.core_types),
            (tasks.direction, self.directions),
        ]
        for text, wanted in on_kernel:
            if wanted is not None:
                chosen &= np.append(text.matches(wanted), False)[nodes.kernel]
        if self.tables is not None:
            codes = [int(SourceTable[name.upper()]) for name in self.tables if name != "none"]
            of_table = np.isin(tasks.table, np.array(codes, np.uint8))
            chosen &= np.append(of_table, "none" in self.tables)[nodes.task]
        if self.row_ids is not None:
            rows = np.isin(tasks.row_id, np.array(list(self.row_ids), np.int64))
            chosen &= np.append(rows, False)[nodes.task]
        return chosen


def host_nodes(graph: StepGraph) -> Bool:
    """Return which nodes are stretches of host threads."""
    return np.isin(graph.nodes.kind, _HOST)


def device_nodes(graph: StepGraph) -> Bool:
    """Return which nodes are kernels or, on a capture without a device, stretches that count as kernels."""
    counted: Bool = (graph.nodes.kind == NodeKind.KERNEL) | (
        (graph.nodes.kind == NodeKind.HOST) & (graph.nodes.kernel != NO_TASK)
    )
    return counted


def _of_part(part: str | None) -> tuple[NodeKind, ...]:
    return {None: _HOST + _DEVICE, "host": _HOST, "device": _DEVICE}[part]


def _is_below(module: str, path: str) -> bool:
    return module == path or module.startswith((f"{path}.", f"{path}/"))
