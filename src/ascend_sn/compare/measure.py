"""From an opened run to its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from duckdb import DuckDBPyConnection

from ascend_sn import analysis
from ascend_sn._version import __version__
from ascend_sn.analysis import Missing
from ascend_sn.analysis.registry import summary_named
from ascend_sn.analysis.steps.step_work import WORK_OF_STEPS, work_of_steps
from ascend_sn.compare.figures import FIGURES_VERSION, Collectives, Parts, Peak, RunFigures, Scope, StepFigures
from ascend_sn.compare.work import work_of
from ascend_sn.replay.choose import StepKey, steady_steps
from ascend_sn.store import Run

__all__ = ["figures_of"]

_ACCELERATORS: Final = ("npu", "cuda", "rocm", "xpu")

_WINDOWS: Final = "compared_window"
"""Temporary table: the steady steps of every profile, or the whole capture (step_id null)."""

_WORK: Final = "compared_work_of_steps"
"""Temporary table: the kernels of each step of the job, those of all its profiles summed."""


def figures_of(run: Run, name: str) -> RunFigures:
    """Measure what a comparison needs of a run.

    The steps are the marked ones that most profiles have, without those that launched nothing, and without the first
    tenth of each session (at least one) as warm-up; where none is marked the inferred ones, else the whole capture. A
    step is as long as on its longest rank.

    Args:
        run: An opened run; where the input holds several jobs, one of them.
        name: What to call it.
    """
    db = run.db
    profiles = db.execute(
        "select profile_id, rank, device_kind, device_name, world_size, start_ns from profile order by profile_id"
    ).fetchall()
    ids = [row[0] for row in profiles]
    work = _kept_work(run)
    scope, keys, count = _steps(db, ids, work)
    breakdown = analysis.result(run, "step_breakdown")
    _make_windows(db, keys, None if isinstance(breakdown, Missing) else breakdown.project("*"))
    steps = _step_figures(db, keys) if keys else _whole_capture(db)
    return RunFigures(
        version=FIGURES_VERSION,
        name=name,
        tool_version=__version__,
        start_ns=min((row[5] for row in profiles if row[5] is not None), default=None),
        device_kinds=sorted({row[2] for row in profiles if row[2]}),
        device_names=sorted({row[3] for row in profiles if row[3]}),
        world_size=max((row[4] for row in profiles if row[4] is not None), default=None),
        ranks=sorted({row[1] for row in profiles if row[1] is not None}),
        profile_count=len(profiles),
        groups=_groups(db),
        silent_ranks=_silent(run),
        damage_count=_damage(db),
        scope=scope if keys else "whole capture" if steps else "none",
        all_step_count=count,
        steps=steps,
        parts=_parts(run),
        work=[] if work is None else work_of(db, _work_of_windows(work, of_steps=bool(keys))),
        collectives=_collectives(run),
        has_shapes=_has_any(db, work, "shapes"),
        has_modules=_has_any(db, work, "module"),
        epochs_ns=_epochs(db),
        peak=_peak(run),
        mfu_ratio=_mfu(run),
    )


def _kept_work(run: Run) -> str | None:
    """Return the table of the rows of the analysis `step_work`, after summing them by step; None without kernels.

    Of many profiles only the sums are read again, once for each question; of summaries, which hold the sums of each
    batch, only those.
    """
    found = analysis.worked_out(run, "step_work")
    if isinstance(found, Missing):
        return None
    work = found.table("compared_work")
    summed = None if run.job is not None else summary_named(WORK_OF_STEPS, run.db)  # a batch may hold several jobs
    query = (
        work_of_steps(work)
        if summed is None
        else f"""
            select session, number, kind, op, shapes, module, operator,
                   sum(calls)::bigint as calls, sum(total_ns)::bigint as total_ns
            from {summed}
            group by all
        """
    )
    run.db.execute(f"create or replace temp table {_WORK} as {query}")
    return work


def _work_of_windows(work: str, *, of_steps: bool) -> str:
    if of_steps:
        return f"select * from {_WORK} semi join {_WINDOWS} using (session, number)"
    return f"select * from {work} semi join {_WINDOWS} using (profile_id)"


def _has_any(db: DuckDBPyConnection, work: str | None, column: str) -> bool:
    return work is not None and bool(db.execute(f"select 1 from {work} where {column} is not null limit 1").fetchall())


def _steps(db: DuckDBPyConnection, ids: Sequence[int], work: str | None) -> tuple[Scope, list[StepKey], int]:
    working = set() if work is None else _working_steps(db)
    for inferred in (False, True):
        keys = steady_steps(db, ids, inferred=inferred, among=working or None)
        if keys:
            ((count,),) = db.execute(
                """
                select count(distinct (coalesce(session, 0), coalesce(step, step_id)))
                from step
                where (origin = 'inferred') = $inferred
                """,
                {"inferred": inferred},
            ).fetchall()
            return ("inferred step" if inferred else "step"), keys, count
    return "none", [], 0


def _working_steps(db: DuckDBPyConnection) -> set[tuple[int, int]]:
    """Session and number of the steps that launched anything: one that a capture cut off stands for no other."""
    return set(db.execute(f"select distinct session, number from {_WORK}").fetchall())


def _make_windows(db: DuckDBPyConnection, keys: Sequence[StepKey], breakdown: object) -> None:
    """Make the table of windows, with the parts of each where there are kernels."""
    parts = "compute_ns, exposed_comm_ns, exposed_copy_ns, free_ns"
    if breakdown is None:
        db.execute(f"""
            create or replace temp table compared_parts as
            select 0::integer as profile_id, 0::integer as step_id, '' as scope, 0::bigint as window_ns,
                   0::bigint as compute_ns, 0::bigint as exposed_comm_ns, 0::bigint as exposed_copy_ns,
                   0::bigint as free_ns
            limit 0;
            create or replace temp table {_WINDOWS} as select * from compared_parts
        """)
    else:
        db.execute(f"""
            create or replace temp table compared_parts as
            select profile_id, step_id, scope, window_ns, {parts} from breakdown
        """)
    if not keys:
        db.execute(f"""
            create or replace temp table {_WINDOWS} as
            select profile_id, null::integer as step_id, 0 as session, 0::bigint as number, window_ns, {parts}
            from compared_parts
            where scope = 'whole capture'
        """)
        return
    db.execute(
        f"""
        create or replace temp table {_WINDOWS} as
        with chosen as (
            select unnest($sessions)::bigint as session, unnest($numbers)::bigint as number
        )
        select step.profile_id, step.step_id, chosen.session, chosen.number, step.dur_ns as window_ns, {parts}
        from step
        join chosen on chosen.session = coalesce(step.session, 0)
                   and chosen.number = coalesce(step.step, step.step_id)
        left join compared_parts
          on compared_parts.profile_id = step.profile_id and compared_parts.step_id = step.step_id
        """,
        {"sessions": [key.session for key in keys], "numbers": [key.number for key in keys]},
    )


def _step_figures(db: DuckDBPyConnection, keys: Sequence[StepKey]) -> list[StepFigures]:
    rows = db.execute(f"""
        select session, number, max(window_ns), sum(window_ns)::bigint, sum(compute_ns)::bigint,
               sum(exposed_comm_ns)::bigint
        from {_WINDOWS}
        group by session, number
    """).fetchall()
    found = {
        (session, number): StepFigures(
            session=session,
            number=number,
            dur_ns=dur,
            window_ns=window,
            compute_ns=compute,
            exposed_comm_ns=exposed,
        )
        for session, number, dur, window, compute, exposed in rows
    }
    return [found[key.session, key.number] for key in keys]


def _whole_capture(db: DuckDBPyConnection) -> list[StepFigures]:
    ((count, longest, window, compute, exposed),) = db.execute(f"""
        select count(*), max(window_ns), sum(window_ns)::bigint, sum(compute_ns)::bigint, sum(exposed_comm_ns)::bigint
        from {_WINDOWS}
    """).fetchall()
    if not count:
        return []
    return [
        StepFigures(session=0, number=0, dur_ns=longest, window_ns=window, compute_ns=compute, exposed_comm_ns=exposed)
    ]


def _parts(run: Run) -> Parts | None:
    ((count, window, compute, comm, copy, free),) = run.db.execute(f"""
        select count(*), sum(window_ns)::bigint, sum(compute_ns)::bigint, sum(exposed_comm_ns)::bigint,
               sum(exposed_copy_ns)::bigint, sum(free_ns)::bigint
        from {_WINDOWS}
        where compute_ns is not null
    """).fetchall()
    if not count:
        return None
    causes: dict[str, int] = {}
    caused = analysis.result(run, "free_time_causes")
    if not isinstance(caused, Missing):
        causes = dict(
            run.db.sql(f"""
                select cause, sum(cause_ns)::bigint
                from caused
                join {_WINDOWS} compared
                  on caused.profile_id = compared.profile_id and caused.step_id is not distinct from compared.step_id
                where (caused.scope = 'step') = (compared.step_id is not null)
                group by cause
                order by cause
            """).fetchall()
        )
    rest = free - sum(causes.values())
    if rest:
        causes["unknown"] = causes.get("unknown", 0) + rest
    return Parts(
        window_count=count,
        window_ns=window,
        compute_ns=compute,
        exposed_comm_ns=comm,
        exposed_copy_ns=copy,
        free=causes,
    )


def _collectives(run: Run) -> list[Collectives]:
    found = analysis.worked_out(run, "step_collectives")
    if isinstance(found, Missing):
        return []
    rows = run.db.execute(f"""
        select parts.op, sum(calls)::bigint, sum(total_ns)::bigint,
               case when sum(transit_calls) = sum(calls) then sum(transit_ns)::bigint end,
               case when sum(wait_calls) = sum(calls) then sum(wait_ns)::bigint end
        from {found.table("compared_collectives")} parts
        join {_WINDOWS} compared
          on parts.profile_id = compared.profile_id
         and (compared.step_id is null or compared.step_id = parts.step_id)
        group by parts.op
        order by 3 desc, 1
    """).fetchall()
    return [
        Collectives(op=op or "(unnamed)", calls=calls, total_ns=total, transit_ns=transit, wait_ns=wait)
        for op, calls, total, transit, wait in rows
    ]


def _silent(run: Run) -> list[int | None]:
    """Ranks of an accelerator whose host did something while nothing was recorded on the device."""
    score = analysis.worked_out(run, "data_score")
    quiet = "true"
    if not isinstance(score, Missing):
        checked = score.table("compared_score")
        quiet = f"profile_id not in (select profile_id from {checked} where rows_checked > 0)"
    idle = run.db.execute(
        f"select profile_id, rank from profile where device_kind in $kinds and {quiet} order by rank",
        {"kinds": list(_ACCELERATORS)},
    ).fetchall()
    if not idle:
        return []
    busy = {profile for (profile,) in run.db.execute("select distinct profile_id from host_call").fetchall()}
    calls = analysis.worked_out(run, "operator_statistics")
    if not isinstance(calls, Missing):
        busy |= {row["profile_id"] for row in calls.shared()}
    return [rank for profile, rank in idle if profile in busy]


def _groups(db: DuckDBPyConnection) -> list[str]:
    """The structure of the job: how many communicators of which kind and size any rank knows."""
    rows = db.execute("""
        with known as (
            select distinct group_id, coalesce(kind, '') as kind, group_size
            from comm_group_member
            where group_size > 1 and size_is_exact
        )
        select kind, group_size, count(*)
        from known
        group by all
        order by all
    """).fetchall()
    return [f"{kind or 'group'} {size} x {count}" for kind, size, count in rows]


def _damage(db: DuckDBPyConnection) -> int:
    ((count,),) = db.execute("select coalesce(sum(count), 0)::bigint from damage where severity = 'damage'").fetchall()
    return int(count)


def _epochs(db: DuckDBPyConnection) -> list[int]:
    """Length of every epoch on its longest rank; empty where nothing tells epochs apart."""
    rows = db.execute("""
        with told as (
            select profile_id, coalesce(epoch, session) as epoch, min(ts_ns) as start_ns, max(ts_ns + dur_ns) as end_ns
            from step
            where origin <> 'inferred'
            group by all
        )
        select epoch, max(end_ns - start_ns)
        from told
        where epoch is not null
        group by epoch
        order by epoch
    """).fetchall()
    named = db.execute("select 1 from step where epoch is not null limit 1").fetchall()
    return [length for _, length in rows] if len(rows) > 1 or named else []


def _peak(run: Run) -> Peak | None:
    result = analysis.result(run, "memory_peak")
    if isinstance(result, Missing):
        return None
    rows = result.project("component, peak_allocated_bytes, peak_reserved_bytes").fetchall()
    allocated = [(size, component) for component, size, _ in rows if size is not None]
    if allocated:
        size, component = max(allocated)
        return Peak(peak_bytes=size, basis="allocated", component=component)
    reserved = [(size, component) for component, _, size in rows if size is not None]
    if not reserved:
        return None
    size, component = max(reserved)
    return Peak(peak_bytes=size, basis="reserved", component=component)


def _mfu(run: Run) -> float | None:
    result = analysis.result(run, "mfu")
    if isinstance(result, Missing):
        return None
    known = [ratio for (ratio,) in result.filter("mfu_ratio is not null").project("mfu_ratio").fetchall()]
    return sum(known) / len(known) if known else None
