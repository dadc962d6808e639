"""What the devices of each profile did when, and the windows it is looked at through.

The windows are the marked steps. Where a capture has none, the window is the whole capture (from its first
kernel to its last), and inferred steps stand beside it, never instead of it.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.relations import worked_out_once
from ascend_sn.model.kinds import BUSY_KINDS
from ascend_sn.model.rows import Bool, Int64

__all__ = [
    "CLASS_OF_KIND", "COMMUNICATION", "COMPUTE", "COPY", "NO_STEP", "PHASES", "Activity", "Windows",
    "activities", "grouped", "windows_of",
]  # fmt: skip

COMPUTE: Final = 0
COMMUNICATION: Final = 1
COPY: Final = 2
NO_STEP: Final = -1

PHASES: Final = ("other", "data", "forward", "backward", "optimizer")
"""Phases of the operator that launched a kernel; the numbers of `Activity.phase` are places in here."""

CLASS_OF_KIND: Final = f"""
    case kernel.kind when 'communication' then {COMMUNICATION} when 'copy' then {COPY} else {COMPUTE} end::utinyint
"""
"""The class of a kernel that keeps a device busy, as SQL."""

Codes = npt.NDArray[np.uint8]


_STEPS: Final = """
    select profile_id, step_id::bigint as step_id, step, ts_ns as start_ns, ts_ns + dur_ns as end_ns, origin
    from step
    where {profiles}
    order by profile_id, ts_ns
"""


class Windows(msgspec.Struct, frozen=True, eq=False):
    """Windows of one profile; `step_id` is NO_STEP for the whole capture, `step` is masked where unnumbered."""

    step_id: Int64
    step: Any
    scope: list[str]
    origin: list[str | None]
    start: Int64
    end: Int64

    def __len__(self) -> int:
        return len(self.start)


class Activity(msgspec.Struct, frozen=True, eq=False):
    """Busy intervals of one profile by start: `kind` is COMPUTE (fused ones included), COMMUNICATION or COPY."""

    profile_id: int
    rank: int | None
    start: Int64
    end: Int64
    kind: Codes
    fused: Bool
    step_id: Int64
    phase: Codes
    windows: Windows

    def of_kind(self, kind: int) -> tuple[Int64, Int64]:
        """Return start and end of the intervals of a kind."""
        chosen = self.kind == kind
        return self.start[chosen], self.end[chosen]


@worked_out_once
def activities(db: DuckDBPyConnection) -> list[Activity]:
    """Return the activity of every profile that has kernels, by profile_id."""
    kernels = db.execute(
        f"""
        select kernel.profile_id, kernel.rank,
               kernel.ts_ns                              as start_ns,
               kernel.ts_ns + kernel.dur_ns              as end_ns,
               {CLASS_OF_KIND}                           as code,
               kernel.kind = 'fused'                     as fused,
               coalesce(kernel.step_id, -1)::bigint      as step_id,
               coalesce(list_position($phases, operator.phase) - 1, 0)::utinyint as phase
        from kernel
        left join operator using (profile_id, operator_id)
        where kernel.kind in {BUSY_KINDS}
        order by kernel.profile_id, kernel.ts_ns, kernel.kernel_id
        """,
        {"phases": list(PHASES)},
    ).fetchnumpy()
    steps = db.execute(_STEPS.format(profiles="true")).fetchnumpy()
    step_parts = grouped(steps["profile_id"])
    found = []
    for profile_id, part in grouped(kernels["profile_id"]).items():
        start, end = kernels["start_ns"][part], kernels["end_ns"][part]
        found.append(
            Activity(
                profile_id=profile_id,
                rank=_first(kernels["rank"][part]),
                start=np.asarray(start),
                end=np.asarray(end),
                kind=np.asarray(kernels["code"][part]),
                fused=np.asarray(kernels["fused"][part]),
                step_id=np.asarray(kernels["step_id"][part]),
                phase=np.asarray(kernels["phase"][part]),
                windows=_windows(steps, step_parts.get(profile_id, slice(0, 0)), int(start[0]), int(end.max())),
            )
        )
    return found


def windows_of(db: DuckDBPyConnection, profile_id: int, first: int, last: int) -> Windows:
    """Return the windows of one profile whose kernels run from `first` to `last`."""
    steps = db.execute(_STEPS.format(profiles=f"profile_id = {int(profile_id)}")).fetchnumpy()
    return _windows(steps, slice(None), first, last)


def grouped(sorted_ids: npt.NDArray[Any]) -> dict[int, slice]:
    """Return the slice of rows of each id in a sorted column."""
    ids, starts = np.unique(np.asarray(sorted_ids), return_index=True)
    bounds = [*starts.tolist(), len(sorted_ids)]
    return {int(value): slice(bounds[at], bounds[at + 1]) for at, value in enumerate(ids)}


def _windows(steps: dict[str, Any], part: slice, first: int, last: int) -> Windows:
    origin = [str(value) for value in steps["origin"][part]]
    marked = bool(origin) and "inferred" not in origin
    whole = 0 if marked else 1
    unnumbered = np.ma.masked_array(np.zeros(whole, np.int64), True)
    step = np.ma.concatenate([unnumbered, steps["step"][part]])  # type: ignore[no-untyped-call]
    return Windows(
        step_id=np.concatenate([np.full(whole, NO_STEP, np.int64), np.asarray(steps["step_id"][part])]),
        step=step,
        scope=["whole capture"] * whole + ["step"] * len(origin),
        origin=[None] * whole + list(origin),
        start=np.concatenate([np.full(whole, first, np.int64), np.asarray(steps["start_ns"][part])]),
        end=np.concatenate([np.full(whole, last, np.int64), np.asarray(steps["end_ns"][part])]),
    )


def _first(column: npt.NDArray[Any]) -> int | None:
    value = column[0]
    return None if value is np.ma.masked else int(value)
