"""A37: what the host spent its time in, by call path."""

from __future__ import annotations

import re
from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.host.call_tree import Calls, CallTree, tree_of
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.model.kinds import OWN_WORK_KINDS
from ascend_sn.model.requests import REQUEST_DOMAIN, REQUEST_PHASE_DOMAIN

__all__ = ["ANALYSIS", "BETWEEN", "call_paths", "call_tree_of"]

UNNAMED: Final = "(unnamed)"

BETWEEN: Final = " > "
"""Stands between the names of a path."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "path": "varchar",
    "name": "varchar",
    "depth": "integer",
    "calls": "bigint",
    "total_ns": "bigint",
    "self_ns": "bigint",
    "device_ns": "bigint",
    "device_self_ns": "bigint",
    "longest_ns": "bigint",
    "longest_table": "varchar",
    "longest_key": "bigint",
}

_NOT_CALLS: Final = ("gpu_annotation", "profiler", "instant", REQUEST_DOMAIN, REQUEST_PHASE_DOMAIN)
"""Domains of ranges that are not calls of a host thread."""

_CALLED: Final = """
    called as (
        select false as is_span, operator_id as key, coalesce(name, '') as name, coalesce(thread, '') as thread, ts_ns,
               dur_ns
        from operator
        where profile_id = $profile and ts_ns < $high and ts_ns + dur_ns >= $low and dur_ns >= 0
        union all
        select true, span_id, coalesce(name, ''), coalesce(thread, ''), ts_ns, dur_ns
        from span
        where profile_id = $profile and ts_ns < $high and ts_ns + dur_ns > $low and dur_ns > 0
          and coalesce(domain, '') not in (select unnest($not_calls))
          and not exists (
              from operator as same
              where same.profile_id = $profile and same.thread = span.thread and same.ts_ns = span.ts_ns
                    and same.dur_ns = span.dur_ns and same.name = span.name
          )
    )
"""

_NAMES: Final = f"with {_CALLED} select distinct name from called order by name"

_CALLS: Final = f"""
    with {_CALLED},
    named as (
        select name, row_number() over (order by name) - 1 as number
        from (select distinct name from called)
    ),
    threads as (
        select thread, row_number() over (order by thread) as number
        from (select distinct thread from called)
    ),
    launched as (
        select operator_id as key, false as is_span, sum(dur_ns)::bigint as device_ns
        from kernel
        where profile_id = $profile and kind in {OWN_WORK_KINDS} and operator_id is not null
        group by operator_id
    )
    select is_span, coalesce(key, -1) as key, threads.number as thread, named.number as name, ts_ns, dur_ns,
           coalesce(device_ns, 0) as device_ns
    from called
    join named using (name)
    join threads using (thread)
    left join launched using (key, is_span)
    where ts_ns >= $low or ts_ns + dur_ns > $low
    order by ts_ns, dur_ns desc, is_span desc, key
"""

_LEFT_OUT: Final = re.compile(r" at 0x[0-9a-fA-F]+|(?<=^ProfilerStep)#\d+$")
"""What of a name tells calls of the same thing apart: addresses of objects, numbers of steps."""

_ANY_TIME: Final = 1 << 62


def call_paths(db: DuckDBPyConnection) -> Result:
    """Join the calls of the host by their path: the names of all calls around them on their thread, and their own.

    Calls are framework operators and, where they were recorded, Python frames, modules and ranges of the program.
    A range that is an operator as well, of the same name and time, is one call.
    Calls of all threads of a profile with the same path are one; the numbers of profiler steps and addresses of objects
    are left out of names.

    Args:
        db: A connection with the tables `operator`, `span`, `kernel`, `profile`.

    Returns:
        One row per path: profile_id, rank, path (names by ' > ', outermost first), name (the last of them), depth (0
        for the outermost), calls, total_ns (wall time with what they call, threads added up), self_ns (without),
        device_ns (kernels launched by them or by what they call, summed: compute, fused ones and copies; null where no
        kernel of the profile is tied to an operator), device_self_ns (those that they launched themselves), longest_ns
        (the longest call), longest_table and longest_key (its row). Each path directly before those inside of it, the
        longest first.
    """
    profiles = db.execute("""
        select profile_id, rank
        from profile
        where profile_id in (select profile_id from operator union select profile_id from span)
        order by profile_id
    """).fetchall()
    rows = [row for profile_id, rank in profiles for row in _rows(call_tree_of(db, profile_id), profile_id, rank)]
    return listed(db, rows, _TYPES)


def call_tree_of(db: DuckDBPyConnection, profile_id: int, steps: tuple[int, int] | None = None) -> CallTree:
    """Return the tree of calls of one profile.

    Args:
        db: A connection with the tables that `call_paths` names, and `step`.
        profile_id: The profile.
        steps: First and last number of the steps to look at: from the begin of the first to the end of the last. What
            reaches beyond counts with the part inside; kernels count with the call that launched them, if that begins
            inside. All of the capture where none are given.
    """
    low, high = -_ANY_TIME, _ANY_TIME
    if steps is not None:
        ((first, last),) = db.execute(
            """
            select min(ts_ns), max(ts_ns + dur_ns) from step
            where profile_id = $profile and coalesce(step, step_id) between $first and $last
            """,
            {"profile": profile_id, "first": steps[0], "last": steps[1]},
        ).fetchall()
        if first is None:
            return CallTree()
        low, high = int(first), int(last)
    asked = {"profile": profile_id, "low": low, "high": high, "not_calls": list(_NOT_CALLS)}
    texts = [name for (name,) in db.execute(_NAMES, asked).fetchall()]
    columns = db.execute(_CALLS, asked).fetchnumpy()
    found = {name: np.asarray(np.ma.getdata(column), np.int64) for name, column in columns.items()}
    names: dict[str, int] = {}
    shown = (_LEFT_OUT.sub("", text) or UNNAMED for text in texts)
    numbers = np.fromiter((names.setdefault(name, len(names)) for name in shown), np.int64, len(texts))
    start, end = found["ts_ns"], found["ts_ns"] + found["dur_ns"]
    device_ns = np.where(start >= low, found["device_ns"], 0)
    start, end = np.maximum(start, low), np.minimum(end, high)
    calls = Calls(
        found["thread"], numbers[found["name"]], start, end - start, device_ns, found["is_span"], found["key"],
        list(names),
    )  # fmt: skip
    return tree_of(profile_id, calls)


def _rows(tree: CallTree, profile_id: int, rank: int | None) -> list[dict[str, Any]]:
    linked = any(tree.device_self_ns)
    paths: list[str] = []
    rows = []
    for at, (name, parent) in enumerate(zip(tree.name, tree.parent, strict=True)):
        paths.append(name if parent < 0 else f"{paths[parent]}{BETWEEN}{name}")
        calls, total_ns, self_ns, device_self_ns, device_ns = tree.figures(at)
        longest = tree.longest[at]
        rows.append(
            {
                "profile_id": profile_id,
                "rank": rank,
                "path": paths[at],
                "name": name,
                "depth": tree.depth[at],
                "calls": calls,
                "total_ns": total_ns,
                "self_ns": self_ns,
                "device_ns": device_ns if linked else None,
                "device_self_ns": device_self_ns if linked else None,
                "longest_ns": longest.dur_ns,
                "longest_table": longest.table,
                "longest_key": longest.key,
            }
        )
    return rows


ANALYSIS = Analysis(
    code="A37",
    name="call_paths",
    title="Calls of the host by path",
    per_profile=call_paths,
    needs=(Need("operator", alternatives=("span",)),),
)
