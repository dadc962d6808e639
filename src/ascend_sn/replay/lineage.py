"""Phase and module of host calls: those of the operator they run for, also through a task queue."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from duckdb import DuckDBPyConnection
from msgspec.structs import replace

from ascend_sn._native.nesting import enclosing
from ascend_sn.model.rows import Int64, Text
from ascend_sn.replay.choose import Window
from ascend_sn.replay.tasks import SourceTable, Tasks, positions

__all__ = ["Queued", "queued", "with_lineage"]


class Queued(msgspec.Struct, frozen=True):
    """Pairs of slices: what put work into a queue, and what took it out on another thread."""

    enqueue: Int64
    dequeue: Int64


def queued(db: DuckDBPyConnection, window: Window, tasks: Tasks) -> Queued:
    """Return the queue arrows between host calls of a window."""
    flows = db.execute(
        """
        select src_id, dst_id
        from flow
        where profile_id = $profile and kind = 'queue' and src_table = 'host_call' and dst_table = 'host_call'
        order by all
        """,
        {"profile": window.profile_id},
    ).fetchnumpy()
    calls = np.flatnonzero(tasks.table == SourceTable.HOST_CALL)
    near = positions(tasks.row_id[calls], np.asarray(flows["src_id"], np.int64))
    far = positions(tasks.row_id[calls], np.asarray(flows["dst_id"], np.int64))
    both = (near >= 0) & (far >= 0)
    return Queued(calls[near[both]], calls[far[both]])


def with_lineage(tasks: Tasks, queue: Queued) -> Tasks:
    """Give host calls the phase and module of the operator they run for."""
    thread = tasks.lane.codes.astype(np.int64)
    operators = np.flatnonzero(tasks.table == SourceTable.OPERATOR)
    calls = np.flatnonzero(tasks.table == SourceTable.HOST_CALL)

    def innermost(slices: Int64, asked: Int64) -> Int64:
        found = enclosing(
            thread[slices], tasks.start[slices], tasks.end[slices] - tasks.start[slices],
            thread[asked], tasks.start[asked],
        )  # fmt: skip
        return np.append(slices, np.int64(-1))[found]

    owner = np.full(len(tasks), -1, np.int64)
    owner[calls] = innermost(operators, calls)
    through = innermost(queue.dequeue, calls)
    origin = np.full(len(tasks) + 1, -1, np.int64)
    origin[queue.dequeue] = innermost(operators, queue.enqueue)
    owner[calls] = np.where(owner[calls] >= 0, owner[calls], origin[through])
    columns: dict[str, Any] = {}
    for name in ("phase", "module"):
        text: Text = getattr(tasks, name)
        codes = text.codes.copy()
        codes[calls] = np.append(text.codes, np.int32(-1))[owner[calls]]
        columns[name] = Text(codes, text.values)
    return replace(tasks, **columns)
