"""A14 by step and primitive: the calls and their parts summed, which comparisons of many ranks read."""

from __future__ import annotations

from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.communication.collective_parts import COMPLETED, collective_parts, completed_parts
from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis, Need
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "combined_collectives", "step_collectives"]

_CALLS: Final = "calls_of_steps"


def step_collectives(db: DuckDBPyConnection) -> Result:
    """Sum the collectives of each step with what was recorded of their parts.

    Args:
        db: A connection with the tables `collective`, `kernel`, `step`.

    Returns:
        The rows that `combined_collectives` gives, and open_calls: those whose parts the other ranks may tell.
    """
    collective_parts(db).keep(_CALLS)
    return selected(db, _summed(_CALLS, f", count(*) filter ({COMPLETED}) as open_calls"))


def combined_collectives(db: DuckDBPyConnection, parts: Result) -> Result:
    """Sum the collectives of each step, their parts completed across ranks as `collective_parts` does.

    Returns:
        profile_id, step_id (null for calls of no step), op (null where not recorded), calls, total_ns (elapsed),
        transit_ns, wait_ns (each: sum over the calls of which it is known), transit_calls, wait_calls (each: calls
        of which it is known); by profile, step and primitive.
    """
    recorded = parts.table(COMBINED_VIEW)
    if db.execute(f"select 1 from {recorded} where open_calls > 0 limit 1").fetchall():
        return selected(db, _summed(completed_parts(db)))
    return selected(db, f"select * exclude (open_calls) from {recorded}")


def _summed(calls: str, also: str = "") -> str:
    return f"""
        select profile_id, step_id, op, count(*) as calls, sum(dur_ns)::bigint as total_ns,
               sum(transit_ns)::bigint as transit_ns, count(transit_ns) as transit_calls,
               sum(wait_ns)::bigint as wait_ns, count(wait_ns) as wait_calls{also}
        from {calls}
        group by profile_id, step_id, op
        order by profile_id, step_id, op
    """


ANALYSIS = Analysis(
    code="A14",
    name="step_collectives",
    title="Collectives of each step by primitive",
    per_profile=step_collectives,
    combine=combined_collectives,
    needs=(Need("collective"),),
)
