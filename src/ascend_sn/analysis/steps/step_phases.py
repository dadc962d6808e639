"""A03b: each step by phase: data, forward, backward, communication, optimizer, other."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import subtract, union
from ascend_sn.analysis.activity import COMMUNICATION, COMPUTE, COPY, PHASES, Activity, activities, grouped
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.window_rows import WINDOW_TYPES, lengths_within, window_identity
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "step_phases"]

_PHASES: Final = ("data", "forward", "backward", "communication", "optimizer", "other")
_ON_DEVICE: Final = ("backward", "forward", "optimizer", "data", "other")
"""Order in which overlapping kernels of several phases are told apart; the first one takes the time."""

_ON_HOST: Final = ("data", "optimizer", "backward", "forward")
"""Order for host ranges: the autograd thread runs while the caller still stands inside the forward range."""

_TYPES: Final = {
    **WINDOW_TYPES,
    "window_ns": "bigint",
    **{f"{phase}_ns": "bigint" for phase in _PHASES},
}

Intervals = tuple[Int64, Int64]


def step_phases(db: DuckDBPyConnection) -> Result:
    """Give every moment of a step to one phase, so that the phases sum to the step exactly.

    While a kernel computes, the moment belongs to the phase of the operator that launched it; else, while
    a collective runs, to communication; else, while a copy runs, to the phase that launched the copy; else,
    with the device free, to the phase that the host is in; what is left is other.

    Args:
        db: A connection with the tables `kernel`, `operator`, `step`.

    Returns:
        One row per step (or for the whole capture where nothing marks steps): profile_id, rank, step_id, step,
        scope, window_ns, and of it data_ns, forward_ns, backward_ns, communication_ns, optimizer_ns, other_ns
        (each: the moments given to this phase; they sum to the window).
    """
    host = _host_ranges(db)
    rows: list[dict[str, Any]] = []
    for activity in activities(db):
        rows.extend(_phases(activity, host.get(activity.profile_id, {})))
    return listed(db, rows, _TYPES)


def _phases(activity: Activity, host: dict[str, Intervals]) -> list[dict[str, Any]]:
    windows = activity.windows
    taken = {phase: np.zeros(len(windows), np.int64) for phase in _PHASES}
    claimed: Intervals = (np.zeros(0, np.int64), np.zeros(0, np.int64))
    for phase, layer in _layers(activity, host):
        part = subtract(*layer, *claimed)
        taken[phase] += lengths_within(*part, windows.start, windows.end)
        claimed = union(np.concatenate([claimed[0], part[0]]), np.concatenate([claimed[1], part[1]]))
    taken["other"] += windows.end - windows.start - lengths_within(*claimed, windows.start, windows.end)
    rows = []
    for at in range(len(windows)):
        rows.append(
            {
                **window_identity(activity, at),
                "window_ns": int(windows.end[at] - windows.start[at]),
                **{f"{phase}_ns": int(taken[phase][at]) for phase in _PHASES},
            }
        )
    return rows


def _layers(activity: Activity, host: dict[str, Intervals]) -> list[tuple[str, Intervals]]:
    """Disjoint interval sets with the phase they stand for, the strongest claim first."""
    layers: list[tuple[str, Intervals]] = []
    for phase in _ON_DEVICE:
        chosen = (activity.kind == COMPUTE) & (activity.phase == PHASES.index(phase))
        layers.append((phase, union(activity.start[chosen], activity.end[chosen])))
    layers.append(("communication", union(*activity.of_kind(COMMUNICATION))))
    for phase in _ON_DEVICE:
        chosen = (activity.kind == COPY) & (activity.phase == PHASES.index(phase))
        layers.append((phase, union(activity.start[chosen], activity.end[chosen])))
    layers.extend((phase, host[phase]) for phase in _ON_HOST if phase in host)
    return layers


def _host_ranges(db: DuckDBPyConnection) -> dict[int, dict[str, Intervals]]:
    """Union of the operators of each phase, per profile."""
    found = db.execute("""
        select profile_id, phase, ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from operator
        where phase in ('data', 'forward', 'backward', 'optimizer')
        order by profile_id, ts_ns
    """).fetchnumpy()
    ranges: dict[int, dict[str, Intervals]] = {}
    for profile_id, part in grouped(found["profile_id"]).items():
        phase = np.asarray(found["phase"][part])
        start, end = np.asarray(found["start_ns"][part]), np.asarray(found["end_ns"][part])
        ranges[profile_id] = {
            name: union(start[phase == name], end[phase == name]) for name in np.unique(phase).tolist()
        }
    return ranges


ANALYSIS = Analysis(
    code="A03b", name="step_phases", title="Step by phase", per_profile=step_phases, needs=(Need("kernel"),)
)
