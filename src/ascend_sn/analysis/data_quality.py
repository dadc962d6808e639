"""A01: can the capture be believed? Violations counted row by row, and a score."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis
from ascend_sn.analysis.relations import Result, selected

__all__ = ["DATA_SCORE", "QUALITY", "data_quality", "data_score"]

_CHECKS = """
    with ordered as (
        select profile_id, rank, kind, dur_ns, ts_ns,
               max(ts_ns + dur_ns) over (partition by profile_id, device_id, stream order by ts_ns, kernel_id
                                         rows between unbounded preceding and 1 preceding) as busy_until_ns,
               host_call_id, operator_id
        from kernel
    ),
    launched as (
        select ordered.*, call.ts_ns as launch_ns
        from ordered
        left join (select profile_id, host_call_id, ts_ns from host_call) call using (profile_id, host_call_id)
    ),
    checks as (
        select profile_id, any_value(rank) as rank, 'non_positive_duration' as "check",
               count(*) filter (where dur_ns < 0 or (dur_ns = 0 and kind not in ('sync', 'other'))) as violations,
               count(*) as checked
        from launched
        group by profile_id
        union all
        select profile_id, any_value(rank), 'overlap_on_stream',
               count(*) filter (where ts_ns < busy_until_ns), count(*)
        from launched
        where kind <> 'sync'
        group by profile_id
        union all
        select profile_id, any_value(rank), 'starts_before_launch',
               count(*) filter (where ts_ns < launch_ns), count(*)
        from launched
        where launch_ns is not null
        group by profile_id
        union all
        select profile_id, any_value(rank), 'launch_unknown',
               count(*) filter (where host_call_id is null and operator_id is null), count(*)
        from launched
        where kind in ('compute', 'fused', 'communication', 'copy')
          and profile_id in (select profile_id from host_call union select profile_id from operator)
        group by profile_id
        union all
        select profile_id, any_value(rank), 'damaged_rows', sum("count")::bigint, null
        from damage
        where severity = 'damage' and profile_id >= 0
        group by profile_id
    )
"""


def data_quality(db: DuckDBPyConnection) -> Result:
    """Count what contradicts itself.

    Args:
        db: A connection with the tables `kernel`, `host_call`, `operator`, `damage`.

    Returns:
        profile_id, rank, check, violations, checked (rows looked at; null for damage), ratio = violations /
        checked. Checks: non_positive_duration (waits, records and marks may take no time, work may not),
        overlap_on_stream (a kernel starts before the previous one of its in-order stream ended),
        starts_before_launch (causality), launch_unknown (device work that no host call or operator is linked
        to), damaged_rows (of the ledger). Sorted by profile and check.
    """
    return selected(
        db,
        f"""
        {_CHECKS}
        select *, violations / nullif(checked, 0)::double as ratio
        from checks
        order by profile_id, "check"
    """,
    )


def data_score(db: DuckDBPyConnection) -> Result:
    """Score every profile: 1 - rows that violate something / rows.

    Links that are merely unknown and dropped rows are reported apart and do not lower it.

    Returns:
        profile_id, rank, rows_checked, violations, score (0 to 1; null without any kernel).
    """
    return selected(
        db,
        """
        with ordered as (
            select profile_id, rank, kind, dur_ns, ts_ns, host_call_id,
                   max(ts_ns + dur_ns) over (partition by profile_id, device_id, stream order by ts_ns, kernel_id
                                             rows between unbounded preceding and 1 preceding) as busy_until_ns
            from kernel
        ),
        judged as (
            select ordered.profile_id, ordered.rank,
                   dur_ns < 0 or (dur_ns = 0 and kind not in ('sync', 'other'))
                   or (kind <> 'sync' and coalesce(ordered.ts_ns < busy_until_ns, false))
                   or coalesce(ordered.ts_ns < call.ts_ns, false) as violates
            from ordered
            left join (select profile_id, host_call_id, ts_ns from host_call) call using (profile_id, host_call_id)
        )
        select profile.profile_id, profile.rank, count(violates) as rows_checked,
               count(*) filter (where violates) as violations,
               1.0 - count(*) filter (where violates) / nullif(count(violates), 0)::double as score
        from profile
        left join judged using (profile_id)
        group by profile.profile_id, profile.rank
        order by profile.profile_id
    """,
    )


QUALITY = Analysis(code="A01", name="data_quality", title="Data quality", per_profile=data_quality)
DATA_SCORE = Analysis(code="A01", name="data_score", title="Data quality score", per_profile=data_score)
