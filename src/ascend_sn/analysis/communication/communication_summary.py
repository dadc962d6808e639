"""A14 by primitive: how often, how long, how much of it exposed, and what it did meanwhile."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import intersect, subtract, union
from ascend_sn.analysis.activity import COMPUTE, Activity, activities, grouped
from ascend_sn.analysis.communication.collective_parts import completed_parts
from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected

__all__ = ["ANALYSIS", "communication_summary"]

_EXPOSURE: Final = {
    "profile_id": "integer",
    "op": "varchar",
    "exposed_ns": "bigint",
    "window_ns": "bigint",
}


def communication_summary(db: DuckDBPyConnection) -> Result:
    """List the exposed time of each primitive.

    Args:
        db: A connection with the tables `collective`, `kernel`, `step`.

    Returns:
        One row per profile and primitive: profile_id, op, exposed_ns (null for a profile without kernels),
        window_ns (all steps, or the whole capture).
    """
    return listed(db, _exposures(db), _EXPOSURE)


def combined_summary(db: DuckDBPyConnection, parts: Result) -> Result:
    """Sum the parts by profile and primitive, completed across ranks as `collective_parts` does.

    Returns:
        profile_id, rank, op, calls, total_ns (elapsed), mean_ns, transit_ns, wait_ns, idle_ns (each: sum over
        the calls whose parts are known), unknown_ns (elapsed time of the others), exposed_ns (time with a call
        of this primitive and no compute), window_ns (all steps, or the whole capture), share_ratio = total_ns /
        window_ns, exposed_share_ratio = exposed_ns / window_ns, size_bytes, group_count (communicators),
        members_present and members_expected (each: of the group with the fewest present), members_exact; sorted
        by profile and total.
    """
    parts.keep(COMBINED_VIEW)
    return selected(
        db,
        f"""
        select profile_id, any_value(rank) as rank, op,
               count(*)                                              as calls,
               sum(dur_ns)::bigint                                   as total_ns,
               round(avg(dur_ns))::bigint                            as mean_ns,
               sum(transit_ns)::bigint                               as transit_ns,
               sum(wait_ns)::bigint                                  as wait_ns,
               sum(idle_ns)::bigint                                  as idle_ns,
               sum(case when method is null then dur_ns else 0 end)::bigint as unknown_ns,
               any_value(exposed_ns)                                 as exposed_ns,
               any_value(window_ns)                                  as window_ns,
               sum(dur_ns) / nullif(any_value(window_ns), 0)::double as share_ratio,
               any_value(exposed_ns) / nullif(any_value(window_ns), 0)::double as exposed_share_ratio,
               sum(size_bytes)::bigint                               as size_bytes,
               count(distinct group_id)                              as group_count,
               min_by(members_present, members_present / nullif(members_expected, 0)) as members_present,
               min_by(members_expected, members_present / nullif(members_expected, 0)) as members_expected,
               bool_and(members_exact)                               as members_exact
        from {completed_parts(db)}
        left join {COMBINED_VIEW} using (profile_id, op)
        group by profile_id, op
        order by profile_id, total_ns desc, op
    """,
    )


def _exposures(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    calls = db.execute("""
        select profile_id, op, ts_ns as start_ns, ts_ns + dur_ns as end_ns
        from collective
        order by profile_id, ts_ns
    """).fetchnumpy()
    by_profile = {activity.profile_id: activity for activity in activities(db)}
    rows: list[dict[str, Any]] = []
    for profile_id, part in grouped(calls["profile_id"]).items():
        op = np.asarray(calls["op"][part])
        start, end = np.asarray(calls["start_ns"][part]), np.asarray(calls["end_ns"][part])
        activity = by_profile.get(profile_id)
        for name in sorted(set(op.tolist())):
            own = union(start[op == name], end[op == name])
            exposed, window = _exposed(activity, own) if activity is not None else (None, None)
            rows.append({"profile_id": profile_id, "op": name, "exposed_ns": exposed, "window_ns": window})
    return rows


def _exposed(activity: Activity, calls: tuple[Any, Any]) -> tuple[int, int]:
    """Return the time within the windows that the calls run without compute beside them, and the windows' length."""
    windows = activity.windows
    outer = [at for at in range(len(windows)) if windows.origin[at] != "inferred"]
    inside = union(windows.start[outer], windows.end[outer])
    alone = subtract(*intersect(*calls, *inside), *union(*activity.of_kind(COMPUTE)))
    return int((alone[1] - alone[0]).sum()), int((inside[1] - inside[0]).sum())


ANALYSIS = Analysis(
    code="A14",
    name="communication_summary",
    title="Communication by primitive",
    per_profile=communication_summary,
    combine=combined_summary,
    needs=(Need("collective"),),
)
