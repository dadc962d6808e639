"""A11: work on the wrong core: kernels on the AI CPU, matrix work on vector cores, operators run by the host."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import gaps
from ascend_sn.analysis.activity import Activity, activities
from ascend_sn.analysis.host.host_calls import classify_calls
from ascend_sn.analysis.kernels.op_flops import family_of
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.shapes import plain_dtypes
from ascend_sn.analysis.window_rows import lengths_within
from ascend_sn.model.kinds import COMPUTE_KINDS, OWN_WORK_KINDS

__all__ = ["ANALYSIS", "core_types", "metadata_operators"]

SLOW_DTYPES: Final = ("int64", "float64", "complex128")
"""Data types for which kernels are often missing on the matrix and vector cores."""

LINKED_AT_LEAST: Final = 0.5
"""Share of kernels whose operator is known, below which an operator without kernels says nothing."""

CHILDREN_AT_MOST: Final = 0.1
"""Share of an operator's time that operators inside it which launch kernels, allocate or make views may take for it to
count as host work."""

COPY_OPERATORS: Final = ("copy_", "_to_copy", "_copy_from", "_copy_from_and_resize", "clone")
"""Operators (without `aten::`) that may be a copy between host and device, which not every capture records."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "issue": "varchar",
    "op_type": "varchar",
    "operator_name": "varchar",
    "core_type": "varchar",
    "calls": "bigint",
    "total_ns": "bigint",
    "idle_ns": "bigint",
    "steps": "bigint",
    "ns_per_step": "double",
    "share_ratio": "double",
    "dtype_cause": "varchar",
}


def core_types(db: DuckDBPyConnection) -> Result:
    """List work that ran where it should not.

    `ai_cpu`: kernels on the AI CPU. `vector_core`: matrix products, convolutions or attention on a vector core.
    `host_fallback`: a framework operator (`namespace::name`) on an accelerator's host that launched no kernel, neither
    itself nor inside (operators that did, allocations and views may take a tenth of its time), while the device was
    free; views, allocations, copies and waits are left out, and so is everything when fewer than half of the kernels
    are linked to an operator. Inside another fallback only the outer one counts.

    Args:
        db: A connection with the tables `profile`, `kernel`, `operator`, `host_call`, `step`.

    Returns:
        profile_id, rank, issue, op_type (null for host_fallback), operator_name (the one that launched most of it, null
        when not known), core_type, calls, total_ns (device time; host time for host_fallback), idle_ns (of a
        host_fallback: with the device free), steps, ns_per_step (total_ns, idle_ns for host_fallback), share_ratio (of
        the summed kernel time; null for host_fallback), dtype_cause (int64 or float64 where an input has it, else
        null); sorted by profile, issue and total.
    """
    rows = _on_cores(db)
    calls = classify_calls(db)
    for activity in activities(db):
        rows.extend(_fallbacks(db, activity, calls))
    rows.sort(key=lambda row: (row["profile_id"], row["issue"], -row["total_ns"], row["op_type"] or "",
                               row["operator_name"] or "", row["core_type"] or ""))  # fmt: skip
    return listed(db, rows, _TYPES)


@cache
def metadata_operators() -> list[str]:
    """Return the names (without `aten::`) of operators that need no kernel, or that wait for one by design."""
    table: dict[str, list[str]] = tomllib.loads(Path(__file__).with_name("operators.toml").read_text("utf-8"))
    return table["metadata"]


def _on_cores(db: DuckDBPyConnection) -> list[dict[str, Any]]:
    found = db.execute(f"""
        with busy as (
            select kernel.profile_id, kernel.rank, coalesce(kernel.op_type, kernel.name) as op_type, core_type,
                   kernel.input_dtypes, operator.name as operator_name, kernel.dur_ns,
                   case when core_type ilike '%AI%CPU%' then 'ai_cpu'
                        when core_type ilike '%VECTOR%' or core_type ilike '%AIV%' then 'vector_core'
                   end as issue
            from kernel
            left join (select profile_id, operator_id, name from operator) operator using (profile_id, operator_id)
            where kind in {COMPUTE_KINDS}
        ),
        total as (
            select profile_id, sum(dur_ns) as kernel_ns
            from busy
            group by profile_id
        ),
        steps as (
            select profile_id, count(*) as steps
            from step
            where origin <> 'inferred'
            group by profile_id
        )
        select busy.profile_id, any_value(busy.rank), issue, op_type, core_type, input_dtypes,
               mode(operator_name order by operator_name), count(*), sum(dur_ns)::bigint,
               coalesce(any_value(steps), 1), sum(dur_ns) / nullif(any_value(kernel_ns), 0)::double
        from busy
        join total on total.profile_id = busy.profile_id
        left join steps on steps.profile_id = busy.profile_id
        where issue is not null
        group by busy.profile_id, issue, op_type, core_type, input_dtypes
    """).fetchall()
    merged: dict[tuple[Any, ...], dict[str, Any]] = {}
    for profile_id, rank, issue, op_type, core, dtypes, operator, calls, total, steps, share in sorted(
        found, key=lambda row: (row[0], row[2], row[3], str(row[4]), -row[8], str(row[5]))
    ):
        if issue == "vector_core" and family_of(op_type) is None:
            continue
        cause = next((dtype for dtype in plain_dtypes(dtypes) or () if dtype in SLOW_DTYPES), None)
        key = (profile_id, issue, op_type, core, cause)
        row = merged.setdefault(
            key,
            {
                "profile_id": profile_id,
                "rank": rank,
                "issue": issue,
                "op_type": op_type,
                "operator_name": operator,
                "core_type": core,
                "calls": 0,
                "total_ns": 0,
                "idle_ns": None,
                "steps": steps,
                "share_ratio": 0.0,
                "dtype_cause": cause,
            },
        )
        row["calls"] += calls
        row["total_ns"] += total
        row["share_ratio"] += share or 0.0
    for row in merged.values():
        row["ns_per_step"] = row["total_ns"] / row["steps"]
    return list(merged.values())


def _fallbacks(db: DuckDBPyConnection, activity: Activity, calls: str) -> list[dict[str, Any]]:
    found = _kernel_less(db, activity.profile_id, calls)
    if not found or not len(found["ts_ns"]):
        return []
    start = np.asarray(found["ts_ns"], np.int64)
    end = start + np.asarray(found["dur_ns"], np.int64)
    windows = activity.windows
    low = min(int(start.min()), int(windows.start.min()))
    high = max(int(end.max()), int(windows.end.max()))
    idle = lengths_within(*gaps(activity.start, activity.end, low, high), start, end)
    names = np.asarray(found["name"])
    steps = max(sum(origin not in (None, "inferred") for origin in windows.origin), 1)
    rows = []
    for name in np.unique(names[idle > 0]).tolist():
        chosen = (names == name) & (idle > 0)
        rows.append(
            {
                "profile_id": activity.profile_id,
                "rank": activity.rank,
                "issue": "host_fallback",
                "op_type": None,
                "operator_name": name,
                "core_type": "host",
                "calls": int(chosen.sum()),
                "total_ns": int((end - start)[chosen].sum()),
                "idle_ns": int(idle[chosen].sum()),
                "steps": steps,
                "ns_per_step": int(idle[chosen].sum()) / steps,
                "share_ratio": None,
                "dtype_cause": None,
            }
        )
    return rows


def _kernel_less(db: DuckDBPyConnection, profile_id: int, calls: str) -> dict[str, Any]:
    """Framework operators that are host work, outermost ones; nothing where links are too few."""
    known = db.execute(
        f"""
        select count(*) filter (where operator_id is not null) >= $share * count(*)
               and any_value(profile.device_kind) in ('npu', 'cuda', 'rocm', 'xpu')
        from kernel
        join profile using (profile_id)
        where profile_id = $profile and kernel.kind in {OWN_WORK_KINDS}
        """,
        {"profile": profile_id, "share": LINKED_AT_LEAST},
    ).fetchall()
    if not known[0][0]:
        return {}
    return db.execute(
        f"""
        with recursive own as (
            select operator_id, parent_id, thread, name, ts_ns, dur_ns
            from operator
            where profile_id = $profile
        ),
        launching as (
            select distinct operator_id
            from kernel
            where profile_id = $profile and operator_id is not null
            union
            select own.operator_id
            from own
            join {calls} call on call.profile_id = $profile and call.class in ('sync', 'copy')
                 and call.thread = own.thread and call.ts_ns >= own.ts_ns and call.ts_ns < own.ts_ns + own.dur_ns
        ),
        working(operator_id) as (
            select operator_id
            from launching
            union
            select own.parent_id
            from working
            join own on own.operator_id = working.operator_id
            where own.parent_id is not null
        ),
        inside as (
            select parent_id as operator_id, sum(dur_ns) as children_ns
            from own
            where operator_id in (select operator_id from working)
               or regexp_replace(name, '^aten::', '') in (select unnest($metadata))
            group by parent_id
        ),
        quiet as (
            select own.*
            from own
            left join inside using (operator_id)
            where operator_id not in (select operator_id from launching)
              and coalesce(children_ns, 0) <= $children * dur_ns
              and name similar to '[A-Za-z_0-9]+::[A-Za-z_0-9.]+'
              and not name like 'autograd::%' and not name like 'c10d::%'
              and regexp_replace(name, '^aten::', '') not in (select unnest($metadata) union all select unnest($copies))
        )
        select name, ts_ns, dur_ns
        from quiet
        where parent_id is null or parent_id not in (select operator_id from quiet)
        order by ts_ns, operator_id
        """,
        {
            "profile": profile_id,
            "metadata": metadata_operators(),
            "copies": list(COPY_OPERATORS),
            "children": CHILDREN_AT_MOST,
        },
    ).fetchnumpy()


ANALYSIS = Analysis(
    code="A11", name="core_types", title="Work on the wrong core", per_profile=core_types, needs=(Need("kernel"),)
)
