"""A03b for communication: how much of the step it takes, and how bad that is."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.collective_parts import completed_parts
from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis, Need
from ascend_sn.analysis.relations import Result, selected
from ascend_sn.analysis.step_breakdown import step_breakdown

__all__ = ["ANALYSIS", "GRADES", "combined_grade", "communication_grade"]

_WINDOWS: Final = "graded_windows"

GRADES: Final = ((0.50, "extreme"), (0.30, "severe"), (0.15, "slight"), (0.0, "normal"))
"""Share of the step with exposed transit from which it is graded so; the lower bound belongs to the grade."""


def communication_grade(db: DuckDBPyConnection) -> Result:
    """List the exposed communication of each profile.

    Args:
        db: A connection with the tables `collective`, `kernel`, `operator`, `step`.

    Returns:
        profile_id, exposed_comm_ns and window_ns, summed over the windows of the profile.
    """
    step_breakdown(db).keep(_WINDOWS)
    return selected(
        db,
        f"""
        select profile_id, sum(exposed_comm_ns)::bigint as exposed_comm_ns, sum(window_ns)::bigint as window_ns
        from {_WINDOWS}
        where scope = 'whole capture' or origin <> 'inferred'
        group by profile_id
        order by profile_id
    """,
    )


def combined_grade(db: DuckDBPyConnection, parts: Result) -> Result:
    """Divide the exposed communication of each profile as its collectives divide, and grade the part that moves bytes.

    Nothing records which moments of a collective move bytes, so exposed time is taken to be divided like the time of
    the collectives themselves: exposed_transit_ns = exposed_comm_ns x transit / elapsed, and so on. Waiting is not
    graded: a faster network does not shorten it.

    Returns:
        profile_id, rank, window_ns (all steps, or the whole capture), exposed_comm_ns, and of it exposed_transit_ns
        (moving bytes), exposed_wait_ns (waiting for others), exposed_idle_ns (neither) and exposed_unknown_ns (in
        collectives whose parts are unknown), exposed_share_ratio and exposed_transit_ratio (each: of the window),
        main_part (`transit`, `wait`, `idle` or `unknown`: the largest of the four), grade (`normal` below 15 % of
        exposed transit, `slight` from 15 %, `severe` from 30 %, `extreme` from 50 %; null where the unknown part
        could change it); by profile.
    """
    parts.keep(COMBINED_VIEW)
    return selected(
        db,
        f"""
        with summed as (
            select profile_id, any_value(rank) as rank, any_value(window_ns) as window_ns,
                   any_value(exposed_comm_ns) as exposed_comm_ns,
                   nullif(sum(dur_ns), 0) as elapsed_ns,
                   coalesce(sum(transit_ns) filter (where method is not null), 0) as transit_ns,
                   coalesce(sum(wait_ns) filter (where method is not null and transit_ns is not null), 0) as wait_ns,
                   coalesce(sum(dur_ns) filter (where method is null or transit_ns is null), 0) as unknown_ns
            from {completed_parts(db)}
            join {COMBINED_VIEW} using (profile_id)
            group by profile_id
        ),
        parts as (
            select profile_id, rank, window_ns, exposed_comm_ns,
                   coalesce(round(exposed_comm_ns * transit_ns / elapsed_ns), 0)::bigint as exposed_transit_ns,
                   coalesce(round(exposed_comm_ns * wait_ns / elapsed_ns), 0)::bigint    as exposed_wait_ns,
                   coalesce(round(exposed_comm_ns * unknown_ns / elapsed_ns), exposed_comm_ns)::bigint
                       as exposed_unknown_ns,
                   greatest(exposed_comm_ns - exposed_transit_ns - exposed_wait_ns - exposed_unknown_ns, 0)
                       as exposed_idle_ns
            from summed
        ),
        rated as (
            select *,
                   exposed_comm_ns / nullif(window_ns, 0)::double    as exposed_share_ratio,
                   exposed_transit_ns / nullif(window_ns, 0)::double as exposed_transit_ratio,
                   (exposed_transit_ns + exposed_unknown_ns) / nullif(window_ns, 0)::double as most_ratio
            from parts
        )
        select profile_id, rank, window_ns, exposed_comm_ns, exposed_transit_ns, exposed_wait_ns, exposed_idle_ns,
               exposed_unknown_ns, exposed_share_ratio, exposed_transit_ratio,
               case greatest(exposed_transit_ns, exposed_wait_ns, exposed_idle_ns, exposed_unknown_ns)
                    when exposed_transit_ns then 'transit'
                    when exposed_wait_ns then 'wait'
                    when exposed_idle_ns then 'idle'
                    else 'unknown'
               end as main_part,
               case when {_grade("exposed_transit_ratio")} = {_grade("most_ratio")}
                    then {_grade("exposed_transit_ratio")}
               end as grade
        from rated
        order by profile_id
    """,
    )


def _grade(ratio: str) -> str:
    """The grade of a column, in SQL."""
    cases = [f"when {ratio} >= {bound} then '{grade}'" for bound, grade in GRADES]
    return f"case {' '.join(cases)} end"


ANALYSIS = Analysis(
    code="A03b",
    name="communication_grade",
    title="Communication graded",
    per_profile=communication_grade,
    combine=combined_grade,
    needs=(Need("collective"), Need("kernel")),
)
