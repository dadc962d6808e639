"""The step that stands for a profile: the one of median length, whole, so that its parts add up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import msgspec

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts

__all__ = ["WHOLE_CAPTURE", "MedianStep", "Phases", "median_phases", "median_steps"]

WHOLE_CAPTURE: Final = "whole capture"

# The lower one of the two middle steps, if their number is even. Inferred steps are guesses; the whole capture stands
# beside them and goes first. A step that launched nothing (cut off by the capture) stands for no other step.
_MIDDLE: Final = """
    with judged as (
        select *, scope = 'whole capture' as whole,
               bool_or(stage_ns is not null) over (partition by profile_id) as any_work
        from {rows}
        where scope = 'whole capture' or origin is distinct from 'inferred'
    ),
    told as (
        select *
        from judged
        where stage_ns is not null or not any_work
    ),
    placed as (
        select *, count(*) over profile as step_count, min(window_ns) over profile as window_min_ns,
               max(window_ns) over profile as window_max_ns,
               row_number() over (partition by profile_id, whole order by window_ns, step_id) as place,
               bool_or(not whole) over (partition by profile_id) as has_steps
        from told
        window profile as (partition by profile_id, whole)
    )
    from placed
    where whole <> has_steps and place = (step_count + 1) // 2
"""


class MedianStep(msgspec.Struct, kw_only=True):
    """Where the median step of one profile goes: compute + exposed_comm + exposed_copy + free = window.

    `overlapped` (communication under compute) is part of compute. `stage` runs from the step's first kernel to its
    last; preparing lies before it, tail behind. The spread is that of the windows of all its steps.
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


def median_steps(facts: Facts) -> list[MedianStep]:
    """Return one row per profile with device work, by rank; of the whole capture where no step is marked."""
    columns = ", ".join(f"middle.{name}" for name in MedianStep.__struct_fields__ if name != "device_kind")
    return facts.rows(
        "step_breakdown",
        f"""
        with middle as ({_MIDDLE})
        select {columns}, profile.device_kind
        from middle
        join profile using (profile_id)
        order by middle.rank nulls last, middle.profile_id
        """,
        MedianStep,
    )


def median_phases(facts: Facts, steps: list[MedianStep]) -> list[Phases]:
    """Return the phases of the same steps."""
    chosen = {(step.profile_id, step.step_id) for step in steps}
    rows = facts.rows(
        "step_phases", "select * from {rows} order by rank nulls last, profile_id, step_id", _IdentifiedPhases
    )
    return [
        Phases(**{name: getattr(row, name) for name in Phases.__struct_fields__})
        for row in rows
        if (row.profile_id, row.step_id) in chosen
    ]


class _IdentifiedPhases(Phases, kw_only=True):
    step_id: int | None
