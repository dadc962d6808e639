"""Figures of runs, made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ascend_sn.compare.figures import FIGURES_VERSION, Parts, RunFigures, StepFigures, Work


def work(op: str, calls: int, total_ns: int, **more: Any) -> Work:
    """Kernels of one operator in all steps."""
    given = {"kind": "compute", "shapes": None, "module": None, "operator": None, **more}
    return Work(op=op, calls=calls, total_ns=total_ns, **given)


def run_of(
    durations: Sequence[int],
    *rows: Work,
    free: dict[str, int] | None = None,
    compute_ns: int | None = None,
    name: str = "run",
    **more: Any,
) -> RunFigures:
    """A run of one rank with steps of these lengths, ns; compute is the sum of the rows unless said otherwise."""
    busy = sum(row.total_ns for row in rows if row.kind == "compute") if compute_ns is None else compute_ns
    comm = sum(row.total_ns for row in rows if row.kind == "communication")
    copy = sum(row.total_ns for row in rows if row.kind == "copy")
    window = sum(durations)
    causes = {"host_python": window - busy - comm - copy} if free is None else free
    share = busy / window if window else 0
    given: dict[str, Any] = {
        "version": FIGURES_VERSION,
        "name": name,
        "tool_version": "0",
        "start_ns": None,
        "device_kinds": ["npu"],
        "device_names": [],
        "world_size": None,
        "ranks": [0],
        "profile_count": 1,
        "groups": [],
        "silent_ranks": [],
        "damage_count": 0,
        "scope": "step",
        "all_step_count": len(durations) + 1,
        "parts": Parts(
            window_count=len(durations),
            window_ns=window,
            compute_ns=busy,
            exposed_comm_ns=comm,
            exposed_copy_ns=copy,
            free=causes,
        ),
        "work": list(rows),
        "has_shapes": any(row.shapes for row in rows),
        "has_modules": any(row.module for row in rows),
    }
    steps = [
        StepFigures(session=0, number=at, dur_ns=dur, window_ns=dur, compute_ns=round(dur * share), exposed_comm_ns=0)
        for at, dur in enumerate(durations)
    ]
    return RunFigures(**{**given, "steps": steps, **more})
