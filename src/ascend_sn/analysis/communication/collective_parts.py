"""A14: what each collective did: wait, transit, idle."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.capture.clock_offsets import OFFSET_TYPES, offsets_between
from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis, Need, profile_rows, settled_once
from ascend_sn.analysis.relations import Result, listed, selected
from ascend_sn.model.kinds import UNMATCHED

__all__ = ["ANALYSIS", "COMPLETED", "collective_parts", "completed_parts"]

_MET = f"sequence is not null and op not in {UNMATCHED}"

COMPLETED = f"method is null and {_MET}"
"""Which calls have parts that the other ranks may tell."""

_OFFSETS = "offset_of_profile"
_RECORDED = "recorded_parts"
_COMPLETED = "collective_parts_result"


def collective_parts(db: DuckDBPyConnection) -> Result:
    """List the collectives with what was recorded of their parts.

    Args:
        db: A connection with the tables `collective`, `kernel`, `step`.

    Returns:
        The rows that `combined_parts` completes: identity, step, op, name, group_id, sequence, size_bytes,
        ts_ns, dur_ns, and the recorded transit_ns, wait_ns, sync_ns, idle_ns, method.
    """
    return selected(
        db,
        """
        select collective.profile_id, collective.rank, collective.collective_id, kernel.step_id, step.step,
               collective.op, collective.name, collective.group_id, collective.sequence,
               collective.size_bytes, collective.ts_ns, collective.dur_ns,
               collective.transit_ns, collective.wait_ns, collective.sync_ns, collective.idle_ns,
               collective.method
        from collective
        left join kernel using (profile_id, kernel_id)
        left join step on step.profile_id = collective.profile_id and step.step_id = kernel.step_id
        order by collective.profile_id, collective.ts_ns, collective.collective_id
    """,
    )


def completed_parts(db: DuckDBPyConnection) -> str:
    """Return the table of the parts completed across ranks, as by `combined_parts`, for analyses that go on from it."""

    def completed() -> Result:
        profile_rows(collective_parts, db).keep(_RECORDED)
        return _completing(db, _RECORDED)

    return settled_once(ANALYSIS.name, db, completed).table(_COMPLETED)


def combined_parts(db: DuckDBPyConnection, parts: Result) -> Result:
    """Complete the parts across ranks: dur = transit + wait + idle.

    1. Recorded parts stay (method `recorded`).
    2. Else, where every member of the group took part in the same call (group and sequence; no send or receive,
       whose numbers do not tell which of them meet, and no unknown operation, which may be one) and their clocks can be
       aligned (`clock_offsets`): sync = latest start, wait = sync - own start, transit = earliest end - sync, idle =
       end - earliest end (method `members`).
    3. Else the parts are unknown, not zero.

    Returns:
        profile_id, rank, collective_id, step_id, step, op, name, group_id, sequence, size_bytes, ts_ns, dur_ns,
        transit_ns, wait_ns, sync_ns, idle_ns, method, members_present, members_expected, members_exact (false:
        expected is a lower bound), algbw_bytes_per_s (size_bytes over transit_ns; null where the transit is
        unknown), busbw_bytes_per_s (algbw times 2 (n - 1) / n for allreduce, (n - 1) / n for allgather,
        reducescatter and all-to-all, 1 for broadcast and reduce; null where the exact group size n is unknown),
        by profile and time.
    """
    parts.keep(COMBINED_VIEW)
    return _completing(db, COMBINED_VIEW)


def _completing(db: DuckDBPyConnection, parts: str) -> Result:
    offsets = []
    # Where all parts were recorded, no clock is needed; to align those of ten thousand ranks takes many seconds.
    if db.execute(f"select 1 from {parts} where {COMPLETED} limit 1").fetchone() is not None:
        calls = db.execute(f"""
            select part.profile_id, part.rank, profile.host, group_id, op, sequence, ts_ns, dur_ns
            from {parts} part
            left join profile using (profile_id)
            order by part.profile_id, group_id, sequence
        """).fetchnumpy()
        offsets = offsets_between({name: column.tolist() for name, column in calls.items()})
    listed(db, offsets, OFFSET_TYPES).keep(_OFFSETS)
    return selected(
        db,
        f"""
        with groups as (
            select group_id, max(group_size) as members_expected, bool_and(size_is_exact) as members_exact
            from comm_group_member
            group by group_id
        ),
        calls as (
            select part.*, members_expected, coalesce(members_exact, false) as members_exact
            from {parts} part
            left join groups using (group_id)
        ),
        aligned as (
            select calls.*, calls.ts_ns - offset_ns as start_ns
            from calls
            left join {_OFFSETS} using (profile_id)
        ),
        meeting as (
            select group_id, sequence, op,
                   count(distinct profile_id) as members_met,
                   max(start_ns)              as latest_start_ns,
                   min(start_ns + dur_ns)     as earliest_end_ns,
                   bool_and(start_ns is not null) as aligned_all
            from aligned
            where {_MET}
            group by group_id, sequence, op
        ),
        presence as (
            select group_id, count(distinct profile_id) as group_present
            from calls
            group by group_id
        ),
        decided as (
            select aligned.*, latest_start_ns, earliest_end_ns,
                   group_present as members_present,
                   aligned.method is null
                       and members_exact
                       and members_met = members_expected
                       and aligned_all
                       and members_expected > 1
                       and latest_start_ns <= earliest_end_ns as by_members
            from aligned
            left join meeting using (group_id, sequence, op)
            left join presence using (group_id)
        ),
        parts as (
            select * replace (
                       case when by_members then earliest_end_ns - latest_start_ns else transit_ns end as transit_ns,
                       case when by_members then latest_start_ns - start_ns else wait_ns end as wait_ns,
                       case when by_members then latest_start_ns - start_ns else sync_ns end as sync_ns,
                       case when by_members then start_ns + dur_ns - earliest_end_ns else idle_ns end as idle_ns,
                       case when by_members then 'members' else method end as method
                   )
            from decided
        )
        select profile_id, rank, collective_id, step_id, step, op, name, group_id, sequence, size_bytes, ts_ns,
               dur_ns, transit_ns, wait_ns, sync_ns, idle_ns, method,
               members_present, members_expected, members_exact,
               size_bytes * 1e9 / nullif(transit_ns, 0) as algbw_bytes_per_s,
               case when members_exact then
                    algbw_bytes_per_s * case op
                        when 'allreduce'     then 2.0 * (members_expected - 1) / members_expected
                        when 'allgather'     then (members_expected - 1.0) / members_expected
                        when 'reducescatter' then (members_expected - 1.0) / members_expected
                        when 'alltoall'      then (members_expected - 1.0) / members_expected
                        when 'alltoallv'     then (members_expected - 1.0) / members_expected
                        when 'broadcast'     then 1.0
                        when 'reduce'        then 1.0
                    end
               end as busbw_bytes_per_s
        from parts
        order by profile_id, ts_ns, collective_id
    """,
    )


ANALYSIS = Analysis(
    code="A14",
    name="collective_parts",
    title="Collectives",
    per_profile=collective_parts,
    combine=combined_parts,
    needs=(Need("collective"),),
)
