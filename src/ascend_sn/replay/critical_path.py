"""A25: the critical path of a step: what it consists of, how critical each operator is, and its slack."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
import numpy as np

from ascend_sn._native.dag import longest_path
from ascend_sn.model.rows import Int64
from ascend_sn.replay.engine import Timing
from ascend_sn.replay.graph import EdgeKind, NodeKind, Residual, StepGraph, TimeClass
from ascend_sn.replay.tasks import SourceTable

__all__ = ["CriticalPath", "OperatorCriticality", "PathPart", "critical_path", "unexplained_ns"]

_OF_EDGE: Final = {
    EdgeKind.LAUNCH: TimeClass.LAUNCH,
    EdgeKind.QUEUE: TimeClass.LAUNCH,
    EdgeKind.STREAM_ORDER: TimeClass.KERNEL_GAP,
    EdgeKind.WINDOW: TimeClass.EARLIER_STEP,
}

_OF_RESIDUAL: Final = {
    Residual.HOST: TimeClass.HOST,
    Residual.SCHEDULING: TimeClass.KERNEL_GAP,
    Residual.CONTENTION: TimeClass.CONTENTION,
    Residual.MEMBERS_ABSENT: TimeClass.WAIT,
    Residual.IDLE: TimeClass.WAIT,
}


class PathPart(NamedTuple):
    """A node with a duration on the critical path.

    Attributes:
        profile_id: Profile.
        time_class: Class of its time.
        table: Table of the row it stands for; None for the program between slices.
        row_id: Id there.
        name: Name of the row; None between slices.
        start_ns: Replayed start, since the origin.
        dur_ns: Duration.
    """

    profile_id: int
    time_class: TimeClass
    table: str | None
    row_id: int | None
    name: str | None
    start_ns: int
    dur_ns: int


class OperatorCriticality(msgspec.Struct, frozen=True):
    """All nodes of one name: how much of them is on the path, and by how much they could grow without harm.

    Attributes:
        name: Name of slices or kernels.
        time_class: Class of their time.
        total_ns: Their durations together, over all profiles.
        on_path_ns: Those on the path.
        criticality_ratio: Share of the step that they are on the path.
        slack_ns: Least slack of one of them; 0 on the path.
    """

    name: str
    time_class: TimeClass
    total_ns: int
    on_path_ns: int
    criticality_ratio: float
    slack_ns: int


class CriticalPath(msgspec.Struct, frozen=True):
    """The longest path through a step.

    Attributes:
        parts: Its nodes in order.
        class_ns: Time by class; together it is the makespan.
        operators: All operators, those with most time on the path first, then by slack.
        makespan_ns: Length of the step.
    """

    parts: tuple[PathPart, ...]
    class_ns: dict[TimeClass, int]
    operators: tuple[OperatorCriticality, ...]
    makespan_ns: int


def critical_path(graph: StepGraph, timing: Timing) -> CriticalPath:
    """Follow the path back from the end of a replay without edits."""
    path = _path(graph, timing)
    return CriticalPath(
        parts=tuple(_parts(graph, timing, path)),
        class_ns=_class_times(graph, timing, path),
        operators=_operators(graph, timing, path),
        makespan_ns=timing.makespan_ns,
    )


def unexplained_ns(graph: StepGraph, timing: Timing) -> int:
    """Return the residuals of unknown type on the critical path."""
    path = _path(graph, timing)
    unknown = graph.residual_type[path] == Residual.UNKNOWN
    return int(graph.residual[path][unknown].sum())


def _path(graph: StepGraph, timing: Timing) -> Int64:
    before = timing.before.tolist()
    path = [graph.sink]
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    return np.array(path[::-1], np.int64)


def _parts(graph: StepGraph, timing: Timing, path: Int64) -> list[PathPart]:
    nodes, tasks = graph.nodes, graph.tasks
    path = path[nodes.dur[path] > 0]
    classes, tables = list(TimeClass), [table.name.lower() for table in SourceTable]
    columns = zip(
        nodes.profile[path].tolist(),
        nodes.time_class[path].tolist(),
        nodes.task[path].tolist(),
        np.append(tasks.table, np.uint8(0))[nodes.task[path]].tolist(),
        np.append(tasks.row_id, np.int64(-1))[nodes.task[path]].tolist(),
        np.append(tasks.name.codes, np.int32(-1))[nodes.task[path]].tolist(),
        timing.start[path].tolist(),
        nodes.dur[path].tolist(),
        strict=True,
    )
    names = [*tasks.name.values, None]
    return [
        PathPart(
            profile_id=graph.profile_ids[profile],
            time_class=classes[class_],
            table=None if task < 0 else tables[table],
            row_id=None if task < 0 else row_id,
            name=names[name],
            start_ns=start,
            dur_ns=dur,
        )
        for profile, class_, task, table, row_id, name, start, dur in columns
    ]


def _class_times(graph: StepGraph, timing: Timing, path: Int64) -> dict[TimeClass, int]:
    """Sum durations, weights and residuals along the path by class."""
    nodes, edges = graph.nodes, graph.edges
    times = np.zeros(len(TimeClass), np.int64)
    np.add.at(times, nodes.time_class[path], nodes.dur[path])
    of_residual = np.full(max(Residual) + 1, TimeClass.UNKNOWN, np.int64)
    of_residual[list(_OF_RESIDUAL)] = list(_OF_RESIDUAL.values())
    np.add.at(times, of_residual[graph.residual_type[path]], graph.residual[path])
    on_path = np.zeros(len(nodes), np.bool_)
    on_path[path] = True
    holds = np.flatnonzero(on_path[edges.dst] & (timing.before[edges.dst] == edges.src))
    # Of several edges between two nodes the heaviest holds.
    holds = holds[np.lexsort((edges.weight[holds], edges.dst[holds]))]
    holds = holds[np.append(edges.dst[holds][1:] != edges.dst[holds][:-1], True)]
    of_edge = np.full(max(EdgeKind) + 1, TimeClass.HOST, np.int64)
    of_edge[list(_OF_EDGE)] = list(_OF_EDGE.values())
    class_ = of_edge[edges.kind[holds]]
    class_[(edges.src[holds] == 0) | (edges.dst[holds] == graph.sink)] = TimeClass.RANK_SKEW
    np.add.at(times, class_, edges.weight[holds])
    return {TimeClass(at): time for at, time in enumerate(times.tolist()) if time}


def _slack(graph: StepGraph, timing: Timing) -> Int64:
    """Return by how much each node could end later without moving the sink."""
    nodes, edges = graph.nodes, graph.edges
    last = graph.sink
    begin = np.zeros(len(graph.profile_ids), np.int64)
    opens = (edges.src == 0) & (edges.kind == EdgeKind.WINDOW)
    begin[nodes.profile[edges.dst[opens]]] = edges.weight[opens]
    # What nothing waits for has until the end of its window.
    leads = np.zeros(len(nodes), np.bool_)
    leads[edges.src] = True
    loose = np.flatnonzero(~leads[:last])
    src = np.concatenate([edges.src, loose])
    dst = np.concatenate([edges.dst, np.full(len(loose), last, np.int64)])
    weight = np.concatenate([edges.weight + graph.residual[edges.dst], -begin[nodes.profile[loose]]])
    # Backwards from the sink, from far enough that no time on the way is negative.
    far = int(begin.max())
    dur = nodes.dur[::-1].copy()
    dur[0] = far
    behind = longest_path(dur, last - dst, last - src, weight).start[::-1] - far
    slack: Int64 = timing.makespan_ns - timing.end - behind
    slack[last] = 0
    return slack


def _operators(graph: StepGraph, timing: Timing, path: Int64) -> tuple[OperatorCriticality, ...]:
    nodes, tasks = graph.nodes, graph.tasks
    chosen = np.flatnonzero((nodes.task >= 0) & (nodes.dur > 0) & (nodes.kind != NodeKind.CARRIED))
    if not len(chosen):
        return ()
    slack = _slack(graph, timing)
    on_path = np.zeros(len(nodes), np.bool_)
    on_path[path] = True
    code = tasks.name.codes[nodes.task[chosen]].astype(np.int64) * len(TimeClass) + nodes.time_class[chosen]
    distinct, group = np.unique(code, return_inverse=True)
    total, critical = np.zeros(len(distinct), np.int64), np.zeros(len(distinct), np.int64)
    least = np.full(len(distinct), np.iinfo(np.int64).max, np.int64)
    np.add.at(total, group, nodes.dur[chosen])
    np.add.at(critical, group, np.where(on_path[chosen], nodes.dur[chosen], 0))
    np.minimum.at(least, group, slack[chosen])
    rows = [
        OperatorCriticality(
            name=tasks.name.values[key // len(TimeClass)],
            time_class=TimeClass(key % len(TimeClass)),
            total_ns=int(total[at]),
            on_path_ns=int(critical[at]),
            criticality_ratio=int(critical[at]) / timing.makespan_ns,
            slack_ns=max(int(least[at]), 0),
        )
        for at, key in enumerate(distinct.tolist())
        if key >= 0
    ]
    return tuple(sorted(rows, key=lambda row: (-row.on_path_ns, row.slack_ns, -row.total_ns, row.name)))
