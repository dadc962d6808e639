"""The step that stands for a profile: the one of median length, whole, so that its parts add up."""

from __future__ import annotations

from typing import Final, Literal, TypeVar

import msgspec

from ascend_sn.advisor.facts import Facts, Row, asked_once
from ascend_sn.advisor.message import Message

__all__ = ["WHOLE_CAPTURE", "MedianStep", "Phases", "is_marked", "is_of", "median_phases", "median_steps", "where"]

WHOLE_CAPTURE: Final = "whole capture"

_Made = TypeVar("_Made")


class MedianStep(msgspec.Struct, kw_only=True):
    """Where the median step of one profile goes: compute + exposed_comm + exposed_copy + free = window.

    `overlapped` (communication under compute) is part of compute. `stage` runs from the step's first kernel to its
    last; preparing lies before it, tail behind. The spread and the mean are those of the windows of all its steps.
    """

    profile_id: int
    rank: int | None
    device_kind: str
    scope: Literal["step", "whole capture"]
    step_count: int
    step_id: int | None
    step: int | None
    window_ns: int
    window_min_ns: int
    window_max_ns: int
    window_mean_ns: int
    compute_ns: int
    overlapped_ns: int
    communication_ns: int
    exposed_comm_ns: int
    exposed_copy_ns: int
    free_ns: int
    fused_ns: int
    preparing_ns: int | None
    stage_ns: int | None
    tail_ns: int | None
    bubble_ns: int | None
    stage_compute_ns: int | None
    stage_exposed_comm_ns: int | None
    stage_free_ns: int | None


class Phases(msgspec.Struct, kw_only=True):
    """The median step by phase; the phases sum to the window."""

    profile_id: int
    rank: int | None
    scope: Literal["step", "whole capture"]
    step: int | None
    window_ns: int
    data_ns: int
    forward_ns: int
    backward_ns: int
    communication_ns: int
    optimizer_ns: int
    other_ns: int


@asked_once
def median_steps(facts: Facts) -> list[MedianStep]:
    """Return one row per profile with device work, by rank; of the whole capture where no step is marked."""
    kinds = {row["profile_id"]: row["device_kind"] for row in facts.profiles}
    by_profile: dict[int, list[_Step]] = {}
    for row in facts.rows("step_breakdown", _Step):
        by_profile.setdefault(row.profile_id, []).append(row)
    middles = [_middle(rows, kinds[profile_id]) for profile_id, rows in by_profile.items()]
    return sorted((middle for middle in middles if middle is not None), key=_by_rank)


def median_phases(facts: Facts, steps: list[MedianStep]) -> list[Phases]:
    """Return the phases of the same steps."""
    chosen = {(step.profile_id, step.step_id) for step in steps}
    rows = [row for row in facts.rows("step_phases", _Phases) if (row.profile_id, row.step_id) in chosen]
    return [_made(Phases, row) for row in sorted(rows, key=_by_rank)]


def is_of(row: Row, step: MedianStep) -> bool:
    """Whether a row of an analysis by profile and step is about this step."""
    return bool(row["profile_id"] == step.profile_id and row["step_id"] == step.step_id and row["scope"] == step.scope)


def is_marked(row: Row) -> bool:
    """Whether a row of an analysis by step is about a step that something marked, and not about a guess."""
    return bool(row["scope"] == "step" and row["origin"] != "inferred")


def where(step: MedianStep, ranks: int) -> Message:
    """Name the rank and the step, as one of so many ranks."""
    rank = "?" if step.rank is None else step.rank
    if step.scope == WHOLE_CAPTURE:
        said = Message("where.rank", {"rank": rank})
    elif step.step_count == 1 and step.step is not None:
        said = Message("where.step", {"rank": rank, "step": step.step})
    else:
        said = Message("where.steps", {"rank": rank, "count": step.step_count})
    return said if ranks == 1 else Message("where.worst", {"where": said, "count": ranks})


class _Step(msgspec.Struct, kw_only=True):
    """A row of `step_breakdown`."""

    profile_id: int
    rank: int | None
    scope: Literal["step", "whole capture"]
    origin: str | None
    step_id: int | None
    step: int | None
    window_ns: int
    compute_ns: int
    overlapped_ns: int
    communication_ns: int
    exposed_comm_ns: int
    exposed_copy_ns: int
    free_ns: int
    fused_ns: int
    preparing_ns: int | None
    stage_ns: int | None
    tail_ns: int | None
    bubble_ns: int | None
    stage_compute_ns: int | None
    stage_exposed_comm_ns: int | None
    stage_free_ns: int | None


class _Phases(Phases, kw_only=True):
    step_id: int | None


def _middle(rows: list[_Step], device_kind: str) -> MedianStep | None:
    """The lower one of the two middle steps, if their number is even.

    Inferred steps are guesses; the whole capture stands beside them and goes first. A step that launched nothing (cut
    off by the capture) stands for no other step.
    """
    marked = [row for row in rows if row.scope == "step" and row.origin != "inferred"]
    told = marked or [row for row in rows if row.scope == WHOLE_CAPTURE]
    told = [row for row in told if row.stage_ns is not None] or told
    if not told:
        return None
    by_length = sorted(told, key=lambda row: (row.window_ns, row.step_id or 0))
    return _made(
        MedianStep,
        by_length[(len(told) - 1) // 2],
        device_kind=device_kind,
        step_count=len(told),
        window_min_ns=by_length[0].window_ns,
        window_max_ns=by_length[-1].window_ns,
        window_mean_ns=sum(row.window_ns for row in told) // len(told),
    )


def _made(row_type: type[_Made], row: msgspec.Struct, **more: object) -> _Made:
    given = msgspec.structs.asdict(row) | more
    return msgspec.convert(given, row_type)


def _by_rank(row: MedianStep | _Phases) -> tuple[bool, int, int]:
    return row.rank is None, row.rank or 0, row.profile_id
