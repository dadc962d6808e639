"""A32: where the host stops: garbage collections, synchronisations, compilations, blocking copies, by call site."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn._native.intervals import intersect, union
from ascend_sn._native.nesting import enclosing
from ascend_sn.analysis.activity import activities, grouped
from ascend_sn.analysis.host.host_calls import classify_calls
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.model.rows import Int64

__all__ = ["ANALYSIS", "host_pauses"]

WAITING_OPERATORS: Final = ("aten::item", "aten::_local_scalar_dense", "aten::is_nonzero", "aten::equal")
"""Operators that wait for the device by design; they stand for the wait where no call that waits was recorded."""

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "kind": "varchar",
    "name": "varchar",
    "operator_name": "varchar",
    "site": "varchar",
    "calls": "bigint",
    "total_ns": "bigint",
    "max_ns": "bigint",
    "waited_ns": "bigint",
    "device_free_ns": "bigint",
    "steps": "bigint",
    "calls_per_step": "double",
    "share_ratio": "double",
}


def host_pauses(db: DuckDBPyConnection) -> Result:
    """Sum the calls in which the host stops, by kind, name and call site.

    Kinds: `gc` (recorded collections), `sync` (synchronisations), `compile` (operators compiled while the program
    runs), `blocking_copy` (copies whose name does not say that they are asynchronous), `implicit_sync` (operators
    such as `aten::item`, where the profile has no calls that wait: some levels leave them out), and `launch_blocking`:
    launches that a synchronisation follows at once on their thread, as with blocking launches; its share_ratio is
    that of all launches, its times are those of the synchronisations.

    The call site is the innermost frame of the operator's call stack, where one was recorded, and the operator is the
    innermost one open on the thread.

    Args:
        db: A connection with the tables `host_call`, `operator`, `stack`, `kernel`, `step`.

    Returns:
        profile_id, rank, kind, name, operator_name, site (null where not known), calls, total_ns, max_ns, waited_ns (of
        it, with work running on the device), device_free_ns (the rest; both null without kernels), steps,
        calls_per_step (null without marked steps), share_ratio (total_ns over the marked steps' time); by profile,
        kind and total.
    """
    events = _events(db)
    busy = {one.profile_id: union(one.start, one.end) for one in activities(db)}
    steps = {
        profile_id: (count, total)
        for profile_id, count, total in db.execute("""
            select profile_id, count(*), sum(dur_ns)::bigint from step where origin <> 'inferred' group by profile_id
        """).fetchall()
    }
    rows: list[dict[str, Any]] = []
    for profile_id, part in grouped(events["profile_id"]).items():
        own = {name: column[part] for name, column in events.items()}
        names, sites = _callers(db, profile_id, own)
        rows.extend(_summed(profile_id, own, names, sites, busy.get(profile_id), steps.get(profile_id)))
    rows.extend(_blocking_launches(db, steps))
    rows.sort(key=_order)
    return listed(db, rows, _TYPES)


def _order(row: dict[str, Any]) -> tuple[Any, ...]:
    return (
        row["profile_id"],
        row["kind"],
        -row["total_ns"],
        row["name"],
        row["operator_name"] or "",
        row["site"] or "",
    )


def _events(db: DuckDBPyConnection) -> dict[str, Any]:
    classified = classify_calls(db)
    return db.execute(
        f"""
        select call.profile_id, profile.rank, thread, hash(thread) as thread_hash, call.name, ts_ns, dur_ns,
               -1 as operator_id,
               case class when 'copy' then 'blocking_copy' else class end as kind
        from {classified} call
        left join profile using (profile_id)
        where class in ('gc', 'sync', 'compile') or (class = 'copy' and call.name not ilike '%async%')
        union all
        select operator.profile_id, operator.rank, thread, hash(thread), operator.name, ts_ns, dur_ns,
               operator_id, 'implicit_sync'
        from operator
        where operator.name in (select unnest($waiting))
          and operator.profile_id not in (select profile_id from {classified} where class = 'sync')
          and (parent_id is null or (profile_id, parent_id) not in (
                   select (profile_id, operator_id) from operator where name in (select unnest($waiting))))
        order by 1, ts_ns, thread, name, dur_ns
        """,
        {"waiting": list(WAITING_OPERATORS)},
    ).fetchnumpy()


def _callers(db: DuckDBPyConnection, profile_id: int, own: dict[str, Any]) -> tuple[list[str | None], list[str | None]]:
    """Innermost operator around each event, and the first frame of its stack."""
    operators = db.execute(
        """
        select operator_id, hash(thread) as thread_hash, ts_ns, dur_ns
        from operator
        where profile_id = $profile
        order by operator_id
        """,
        {"profile": profile_id},
    ).fetchnumpy()
    ids, start, dur = (np.asarray(operators[name], np.int64) for name in ("operator_id", "ts_ns", "dur_ns"))
    threads = np.concatenate([np.asarray(one["thread_hash"]) for one in (operators, own)])
    codes = np.unique(threads, return_inverse=True)[1].astype(np.int64)
    around = enclosing(codes[: len(ids)], start, dur, codes[len(ids) :], np.asarray(own["ts_ns"], np.int64))
    given = np.searchsorted(ids, np.asarray(own["operator_id"], np.int64))
    around = np.where(np.asarray(own["operator_id"]) >= 0, given, around)
    callers = [int(ids[at]) if at >= 0 else None for at in around.tolist()]
    texts: dict[int | None, tuple[str | None, str | None]] = {
        operator_id: (name, site or None)
        for operator_id, name, site in db.execute(
            """
            select operator_id, name, split_part(frames, chr(10), 1)
            from operator
            left join stack using (profile_id, stack_id)
            where profile_id = $profile and operator_id in (select unnest($callers::bigint[]))
            """,
            {"profile": profile_id, "callers": sorted({caller for caller in callers if caller is not None})},
        ).fetchall()
    }
    nobody = (None, None)
    found = [texts.get(caller, nobody) for caller in callers]
    return [name for name, _ in found], [site for _, site in found]


def _summed(
    profile_id: int,
    own: dict[str, Any],
    names: list[str | None],
    sites: list[str | None],
    busy: tuple[Int64, Int64] | None,
    steps: tuple[int, int] | None,
) -> list[dict[str, Any]]:
    start = np.asarray(own["ts_ns"], np.int64)
    end = start + np.asarray(own["dur_ns"], np.int64)
    groups: dict[tuple[Any, ...], list[int]] = {}
    for at, key in enumerate(zip(own["kind"].tolist(), own["name"].tolist(), names, sites, strict=True)):
        groups.setdefault(key, []).append(at)
    rank = own["rank"][0]
    rows = []
    for (kind, name, operator_name, site), places in groups.items():
        calls = union(start[places], end[places])
        total = int((calls[1] - calls[0]).sum())
        both = None if busy is None else intersect(*calls, *busy)
        waited = None if both is None else int((both[1] - both[0]).sum())
        rows.append(
            {
                "profile_id": profile_id,
                "rank": None if rank is np.ma.masked else int(rank),
                "kind": kind,
                "name": name,
                "operator_name": operator_name,
                "site": site,
                "calls": len(places),
                "total_ns": total,
                "max_ns": int((end - start)[places].max()),
                "waited_ns": waited,
                "device_free_ns": None if waited is None else total - waited,
                "steps": steps[0] if steps is not None else 0,
                "calls_per_step": len(places) / steps[0] if steps is not None else None,
                "share_ratio": total / steps[1] if steps is not None and steps[1] else None,
            }
        )
    return rows


def _blocking_launches(db: DuckDBPyConnection, steps: dict[int, tuple[int, int]]) -> list[dict[str, Any]]:
    classified = classify_calls(db)
    rows = []
    for profile_id, rank, launches, blocked, total, longest in db.execute(f"""
        with outer_calls as (
            select call.*, lead(class) over thread as next_class, lead(call.ts_ns) over thread as next_ns,
                   lead(dur_ns) over thread as next_dur_ns
            from {classified} call
            where class in ('launch', 'sync', 'copy', 'compile')
            window thread as (partition by profile_id, thread order by call.ts_ns, dur_ns desc)
        )
        select outer_calls.profile_id, any_value(profile.rank), count(*),
               count(*) filter (where next_class = 'sync'),
               coalesce(sum(next_dur_ns) filter (where next_class = 'sync'), 0)::bigint,
               coalesce(max(next_dur_ns) filter (where next_class = 'sync'), 0)
        from outer_calls
        left join profile using (profile_id)
        where class = 'launch'
        group by outer_calls.profile_id
        having count(*) filter (where next_class = 'sync') > 0
        order by outer_calls.profile_id
    """).fetchall():
        known = steps.get(profile_id)
        rows.append(
            {
                **dict.fromkeys(_TYPES),
                "profile_id": profile_id,
                "rank": rank,
                "kind": "launch_blocking",
                "name": "launch, then synchronisation",
                "calls": blocked,
                "total_ns": total,
                "max_ns": longest,
                "steps": known[0] if known is not None else 0,
                "calls_per_step": blocked / known[0] if known is not None else None,
                "share_ratio": blocked / launches,
            }
        )
    return rows


ANALYSIS = Analysis(
    code="A32",
    name="host_pauses",
    title="Pauses of the host",
    per_profile=host_pauses,
    needs=(Need("host_call", alternatives=("operator",)),),
)
