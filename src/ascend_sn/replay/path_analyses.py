"""A25 as registered analyses: what holds the step, slice by slice, and how much slack each operator has.

They belong to the replay, whose graph they follow; otherwise they are analyses like those of `ascend_sn.analysis`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from duckdb import DuckDBPyConnection, DuckDBPyRelation

from ascend_sn.analysis.registry import Analysis, evaluate
from ascend_sn.analysis.relations import Result, listed, worked_out_once
from ascend_sn.errors import NotCollectedError
from ascend_sn.replay.prices import Unpriced
from ascend_sn.replay.replay import Replay
from ascend_sn.store import Run

__all__ = ["ANALYSES", "operator_slack", "path_classes", "path_slices"]

_CLASS_TYPES: Final = {"time_class": "varchar", "dur_ns": "bigint", "share_ratio": "double"}

_SLICE_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "start_ns": "bigint",
    "dur_ns": "bigint",
    "time_class": "varchar",
    "name": "varchar",
    "table_name": "varchar",
    "row_id": "bigint",
}

_SLACK_TYPES: Final = {
    "name": "varchar",
    "time_class": "varchar",
    "total_ns": "bigint",
    "on_path_ns": "bigint",
    "criticality_ratio": "double",
    "slack_ns": "bigint",
}


def _classes(db: DuckDBPyConnection) -> Result:
    """Sum the critical path of the median steady step by class of time; together the rows are the step.

    The path runs over host, device, communication and ranks: what begins each slice on it is the latest of what the
    slice had to wait for. Time between slices counts too: launch latency, a stream between two kernels, waiting for
    members that are not in the capture.

    Args:
        db: A connection with the tables of a run; profiles whose collectives meet are followed together.

    Returns:
        time_class (data_loading, host, launch, sync, allocator, gc, compile, profiler, compute, communication, wait,
        copy, kernel_gap, contention, other_device, rank_skew, earlier_step, or unknown: no dependency explains it),
        dur_ns (on the path), share_ratio = dur_ns / step; most first. No rows where nothing can be replayed.
    """
    replay = _replayed(db)
    path = None if isinstance(replay, Unpriced) else replay.critical_path()
    times = sorted(path.class_ns.items(), key=lambda entry: (-entry[1], entry[0])) if path else []
    return listed(
        db,
        [
            {"time_class": class_.name.lower(), "dur_ns": ns, "share_ratio": ns / path.makespan_ns}
            for class_, ns in times
            if path
        ],
        _CLASS_TYPES,
    )


def _slices(db: DuckDBPyConnection) -> Result:
    """List the slices on the critical path of the median steady step, in order.

    Args:
        db: A connection with the tables of a run.

    Returns:
        profile_id, rank, start_ns (in the replay, since the step began), dur_ns (of it on the path), time_class (see
        path_classes), name (null for the program between slices), table_name and row_id (the row it stands for:
        operator, host_call, kernel, ...; null between slices); in order.
    """
    replay = _replayed(db)
    if isinstance(replay, Unpriced):
        return listed(db, [], _SLICE_TYPES)
    ranks = {window.profile_id: window.rank for window in replay.choice.windows}
    rows = [
        {
            "profile_id": part.profile_id,
            "rank": ranks.get(part.profile_id),
            "start_ns": part.start_ns,
            "dur_ns": part.dur_ns,
            "time_class": part.time_class.name.lower(),
            "name": part.name,
            "table_name": part.table,
            "row_id": part.row_id,
        }
        for part in replay.critical_path().parts
    ]
    return listed(db, rows, _SLICE_TYPES)


def _slack(db: DuckDBPyConnection) -> Result:
    """Say of every operator and kernel of the median steady step how critical it is, and how much slack it has.

    Args:
        db: A connection with the tables of a run.

    Returns:
        name, time_class (see path_classes), total_ns (its time in the step over all profiles), on_path_ns (its time
        on the critical path), criticality_ratio = on_path_ns / step, slack_ns (how much longer the tightest of its
        calls could take without making the step longer; 0 on the path); most time on the path first.
    """
    replay = _replayed(db)
    rows = [] if isinstance(replay, Unpriced) else replay.critical_path().operators
    return listed(
        db,
        [
            {
                "name": row.name,
                "time_class": row.time_class.name.lower(),
                "total_ns": row.total_ns,
                "on_path_ns": row.on_path_ns,
                "criticality_ratio": row.criticality_ratio,
                "slack_ns": row.slack_ns,
            }
            for row in rows
        ],
        _SLACK_TYPES,
    )


@worked_out_once
def _replayed(db: DuckDBPyConnection) -> Replay | Unpriced:
    return Replay.of(db)


def _public(analysis: Analysis) -> Callable[[Run], DuckDBPyRelation]:
    def analyse(run: Run) -> DuckDBPyRelation:
        replay = _replayed(run.db)
        if isinstance(replay, Unpriced):
            said = replay.reason.message_id.removeprefix("replay.").replace("-", " ")
            raise NotCollectedError(analysis.name, said, "")
        return evaluate(analysis, run.db).relation()

    analyse.__name__ = analyse.__qualname__ = analysis.name
    analyse.__doc__ = (
        f"{analysis.code} {analysis.title}.\n\n{analysis.per_profile.__doc__}\n\n"
        "Raises NotCollectedError where nothing can be replayed."
    )
    return analyse


ANALYSES: Final = (
    Analysis("A25", "path_classes", "Critical path", _classes),
    Analysis("A25", "path_slices", "Critical path slice by slice", _slices),
    Analysis("A25", "operator_slack", "Criticality and slack", _slack),
)
"""The analyses that need the replayed step, as `ascend_sn.analysis.ANALYSES` lists those that do not."""

path_classes, path_slices, operator_slack = map(_public, ANALYSES)
