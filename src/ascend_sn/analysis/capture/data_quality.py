"""A01: can the capture be believed? Violations counted row by row, and a score."""

from __future__ import annotations

from typing import Any, Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis
from ascend_sn.analysis.relations import Result, listed, selected, worked_out_once
from ascend_sn.model.kinds import BUSY_KINDS

__all__ = ["DATA_SCORE", "QUALITY", "data_quality", "data_score"]

_QUALITY_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "check": "varchar",
    "violations": "bigint",
    "checked": "bigint",
    "ratio": "double",
}

_SCORE_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "rows_checked": "bigint",
    "violations": "bigint",
    "score": "double",
}


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
    found = [(row, check) for row in _counted(db) for check in _checks_of(row)]
    damaged = db.execute("""
        select profile_id, any_value(rank), sum("count")::bigint
        from damage
        where severity = 'damage' and profile_id >= 0
        group by profile_id
    """).fetchall()
    rows = [
        {
            "profile_id": row["profile_id"],
            "rank": row["rank"],
            "check": check,
            "violations": violations,
            "checked": checked,
            "ratio": violations / checked,
        }
        for row, (check, violations, checked) in found
    ]
    rows += [
        {"profile_id": profile_id, "rank": rank, "check": "damaged_rows", "violations": count, "checked": None,
         "ratio": None}
        for profile_id, rank, count in damaged
    ]  # fmt: skip
    rows.sort(key=lambda row: (row["profile_id"], row["check"]))
    return listed(db, rows, _QUALITY_TYPES)


def data_score(db: DuckDBPyConnection) -> Result:
    """Score every profile: 1 - rows that violate something / rows.

    Links that are merely unknown and dropped rows are reported apart and do not lower it.

    Returns:
        profile_id, rank, rows_checked, violations, score (0 to 1; null without any kernel).
    """
    counted = {row["profile_id"]: row for row in _counted(db)}
    rows = []
    for profile_id, rank in db.execute("select profile_id, rank from profile order by profile_id").fetchall():
        row = counted.get(profile_id, {"kernels": 0, "violating": 0})
        kernels, violating = row["kernels"], row["violating"]
        rows.append(
            {
                "profile_id": profile_id,
                "rank": rank,
                "rows_checked": kernels,
                "violations": violating,
                "score": 1.0 - violating / kernels if kernels else None,
            }
        )
    return listed(db, rows, _SCORE_TYPES)


def _checks_of(row: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Name, violations and rows looked at, of every check that there was anything for."""
    checks = [
        ("non_positive_duration", row["empty"], row["kernels"]),
        ("overlap_on_stream", row["overlapping"], row["in_order"]),
        ("starts_before_launch", row["early"], row["launched"]),
        ("launch_unknown", row["unlinked"], row["work"] if row["is_linked"] else 0),
    ]
    return [check for check in checks if check[2]]


@worked_out_once
def _counted(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    """What contradicts itself among the kernels of each profile, in one pass over them."""
    return selected(
        db,
        f"""
        with ordered as (
            select profile_id, rank, ts_ns, dur_ns, host_call_id, operator_id is null as has_no_operator,
                   kind in ('sync', 'other') as may_be_empty, kind <> 'sync' as is_in_order,
                   kind in {BUSY_KINDS} as is_work,
                   max(ts_ns + dur_ns) over (partition by profile_id, device_id, hash(stream) order by ts_ns, kernel_id
                                             rows between unbounded preceding and 1 preceding) as busy_until_ns
            from kernel
        ),
        judged as (
            select profile_id, ordered.rank, is_in_order, is_work, call.ts_ns is not null as is_launched,
                   dur_ns < 0 or (dur_ns = 0 and not may_be_empty)              as is_empty,
                   is_in_order and coalesce(ordered.ts_ns < busy_until_ns, false) as is_overlapping,
                   coalesce(ordered.ts_ns < call.ts_ns, false)                  as is_early,
                   host_call_id is null and has_no_operator                     as is_unlinked
            from ordered
            left join (select profile_id, host_call_id, ts_ns from host_call) call using (profile_id, host_call_id)
        )
        select profile_id, any_value(rank) as rank, count(*) as kernels,
               count(*) filter (where is_empty)                         as empty,
               count(*) filter (where is_in_order)                      as in_order,
               count(*) filter (where is_overlapping)                        as overlapping,
               count(*) filter (where is_launched)                      as launched,
               count(*) filter (where is_early)                         as early,
               count(*) filter (where is_work)                          as work,
               count(*) filter (where is_work and is_unlinked)          as unlinked,
               count(*) filter (where is_empty or is_overlapping or is_early) as violating,
               profile_id in (select profile_id from host_call union all select profile_id from operator) as is_linked
        from judged
        group by profile_id
        order by profile_id
        """,
    ).dicts()


QUALITY = Analysis(code="A01", name="data_quality", title="Data quality", per_profile=data_quality)
DATA_SCORE = Analysis(code="A01", name="data_score", title="Data quality score", per_profile=data_score)
