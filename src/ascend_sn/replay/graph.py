"""The dependency graph of a step: nodes with a duration, edges with a weight, residuals with a type.

`start(v) = max over its edges (end(p) + weight) + residual(v)`, `end = start + duration`. Times are int64 ns
since the origin, the earliest start of all windows. Nodes are in topological order: an edge leads from a
lower to a higher position. Node 0 is the source, the last one the sink, whose start is the makespan.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn.model.rows import Bool, Int64
from ascend_sn.replay.tasks import Tasks

__all__ = [
    "NO_TASK",
    "Collective",
    "EdgeKind",
    "Edges",
    "NodeKind",
    "Nodes",
    "Residual",
    "StepGraph",
    "Streams",
    "TimeClass",
    "topological",
]

Codes = npt.NDArray[np.uint8]

NO_TASK: Final = -1
"""Where a node or a slot has no task."""

_MAX_TIES: Final = 1000
"""Longest chain of nodes at one moment that is put in order; a longer one is taken for a circle."""


class NodeKind(IntEnum):
    """What a node stands for."""

    SOURCE = 0
    SINK = 1
    WINDOW = 2
    """Begin or end of the window of one profile."""
    HOST = 3
    """Self time of a thread, or the moment at which a thread begins to work."""
    BLOCKED = 4
    """A stretch in which a thread only waits; it has no duration of its own."""
    KERNEL = 5
    CARRIED = 6
    """A kernel of an earlier step that still runs; its time is fixed."""
    ARRIVE = 7
    """A rank has come to a collective."""
    TRANSIT = 8
    """The bytes of a collective move; common to all ranks that are present."""
    FINISH = 9
    """What a rank spends in a collective after its bytes have moved."""
    PRODUCTION = 10
    """Time that the input pipeline needs per step; 0 until an edit sets it."""


class EdgeKind(IntEnum):
    """Why a node waits for another; the numbers 1 to 8 are those of the definition."""

    WINDOW = 0
    HOST_ORDER = 1
    LAUNCH = 2
    STREAM_ORDER = 3
    EVENT = 4
    BLOCKING = 5
    QUEUE = 6
    MEETING = 7
    DATA = 8


class Residual(IntEnum):
    """What the part of a start is called that no edge explains."""

    NONE = 0
    HOST = 1
    """A thread began later than anything it is known to wait for."""
    SCHEDULING = 2
    """The device took a little longer than its quickest launch or hand-over."""
    CONTENTION = 3
    """Other streams of the device were busy meanwhile."""
    MEMBERS_ABSENT = 4
    """A collective waited, and members of its group are not in the capture."""
    IDLE = 5
    """A collective neither waited for a member nor moved bytes."""
    UNKNOWN = 6


class Collective(msgspec.Struct, frozen=True):
    """What a collective is, as far as an edit needs it; `transit_known` is false where waiting may be part of it.

    `group_kind` is that of its communicator (tp, dp, ...).
    """

    op: str
    group_id: str | None
    group_kind: str | None
    size_bytes: int | None
    dtype: str | None
    group_size: int | None
    transit_known: bool


class TimeClass(IntEnum):
    """Class of time on the critical path (A25)."""

    DATA_LOADING = 0
    HOST = 1
    LAUNCH = 2
    SYNC = 3
    ALLOCATOR = 4
    GC = 5
    COMPILE = 6
    PROFILER = 7
    COMPUTE = 8
    COMMUNICATION = 9
    WAIT = 10
    COPY = 11
    KERNEL_GAP = 12
    CONTENTION = 13
    OTHER_DEVICE = 14
    RANK_SKEW = 15
    """One rank began its step later than another."""
    EARLIER_STEP = 16
    UNKNOWN = 17


class Nodes(msgspec.Struct, frozen=True):
    """Columns of the nodes; `task` and `kernel` are positions in the tasks, NO_TASK where there is none.

    `task` names the node. `kernel` is the device task that it is or belongs to; on a capture without a device
    it is the kernel that a stretch of a host thread counts as.
    """

    kind: Codes
    time_class: Codes
    profile: Int64
    start: Int64
    dur: Int64
    task: Int64
    kernel: Int64
    is_main: Bool

    def __len__(self) -> int:
        return len(self.kind)

    def take(self, order: Int64) -> Nodes:
        """Return the nodes in another order."""
        return Nodes(*(getattr(self, name)[order] for name in self.__struct_fields__))


class Edges(msgspec.Struct, frozen=True):
    """Columns of the edges; `inferred` marks those that the capture does not state."""

    src: Int64
    dst: Int64
    weight: Int64
    kind: Codes
    inferred: Bool

    def __len__(self) -> int:
        return len(self.src)

    def take(self, chosen: npt.NDArray[np.int64] | Bool) -> Edges:
        """Return some of the edges."""
        return Edges(*(getattr(self, name)[chosen] for name in self.__struct_fields__))


class Streams(msgspec.Struct, frozen=True):
    """The streams of all profiles, and the hosts; numbers are nodes.

    Attributes:
        begin: Where the window of each stream begins.
        first: Its first task of the step.
        last: Its last one.
        edge: Edge from there to the end of the window.
        carried: How long an earlier step still runs on it, ns.
        host_begin: Where the window of each profile with host threads begins.
        host_last: Last node of its main thread.
    """

    begin: Int64
    first: Int64
    last: Int64
    edge: Int64
    carried: Int64
    host_begin: Int64
    host_last: Int64

    def done_ns(self, start: Int64, end: Int64) -> Int64:
        """Return how long after the begin of its step each stream is done, ns."""
        done: Int64 = end[self.last] - start[self.begin]
        return done

    def host_ns(self, start: Int64, end: Int64) -> int:
        """Return how long the slowest host needs for its step, ns."""
        return int((end[self.host_last] - start[self.host_begin]).max())


class StepGraph(msgspec.Struct, frozen=True):
    """The graph of one step of one or several profiles.

    Attributes:
        nodes: In topological order.
        edges: By target.
        residual: Observed start minus what the edges explain, never negative; ns.
        residual_type: `Residual` of each node.
        tasks: What the nodes stand for.
        observed_ns: Observed makespan.
        violation_count: Starts before their predecessors allow it, launches after their task, collectives
            whose members did not meet.
        profile_ids: By the `profile` of a node.
        stages: Pipeline stage of each of those; None where the capture does not say.
        guessed: Nodes at which a thread is taken to wait for the device, though the capture records no such call.
        guessed_ns: How long each would be if the thread worked there.
        transit: Nodes in which the bytes of collectives move.
        collectives: What each of those is.
        streams: The streams and hosts as wholes; None where there are not both.
    """

    nodes: Nodes
    edges: Edges
    residual: Int64
    residual_type: Codes
    tasks: Tasks
    observed_ns: int
    violation_count: int
    profile_ids: tuple[int, ...]
    stages: tuple[int | None, ...]
    guessed: Int64
    guessed_ns: Int64
    transit: Int64
    collectives: tuple[Collective, ...]
    streams: Streams | None

    @property
    def sink(self) -> int:
        """Position of the sink."""
        return len(self.nodes) - 1

    def incoming(self, node: int) -> slice:
        """Return where the edges to a node lie."""
        first, last = np.searchsorted(self.edges.dst, [node, node + 1])
        return slice(int(first), int(last))

    @property
    def production(self) -> int:
        """Position of the node that stands for the input pipeline."""
        return int(np.flatnonzero(self.nodes.kind == NodeKind.PRODUCTION)[0])


def topological(start: Int64, src: Int64, dst: Int64) -> tuple[Int64, Bool]:
    """Order nodes so that edges lead forward.

    Args:
        start: Observed start of each node.
        src: Source of each edge.
        dst: Target of each edge.

    Returns:
        The nodes in order, and which edges can be kept. An edge is left out where its source starts after its
        target, and where edges between nodes of one moment form a circle.
    """
    kept = start[src] <= start[dst]
    level = np.zeros(len(start), np.int64)
    ties = np.flatnonzero(kept & (start[src] == start[dst]))
    for _ in range(min(len(ties), _MAX_TIES)):
        behind = ties[level[src[ties]] >= level[dst[ties]]]
        if not len(behind):
            break
        np.maximum.at(level, dst[behind], level[src[behind]] + 1)
    kept[ties[level[src[ties]] >= level[dst[ties]]]] = False
    return np.lexsort((level, start)).astype(np.int64), kept
