"""Who comes last to collectives, how often chance would do that, and how long the others wait for it."""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, lgamma, log, log1p
from typing import Final

import msgspec
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.communication.collective_parts import completed_parts
from ascend_sn.analysis.relations import listed
from ascend_sn.model.kinds import UNMATCHED

__all__ = ["ABSENT_RATIO", "ARRIVAL_SPREAD_NS", "Votes", "arrival_votes", "at_least"]

ARRIVAL_SPREAD_NS: Final = 10_000
"""A call whose members arrive within this time has no last one."""

ABSENT_RATIO: Final = 0.1
"""When even the shortest wait is beyond this share of the longest, the one they waited for is not among them."""

_STAGES: Final = "stage_of_profile"


class Votes(msgspec.Struct, frozen=True):
    """What the calls of a profile say about it.

    Attributes:
        calls: Calls that have a last member.
        last_calls: Those to which it came last.
        chance_ratio: Probability of coming last that often by chance. The calls that a communicator has in one step
            depend on each other, so they have one vote together: whether it came last to more than half of them. Chance
            would do that in one of as many steps as there are members, at most. A call outside of steps votes for
            itself.
        others_waited_ns: Sum, over the calls to which it came last, of the median wait of the others; of the
            communicator where this is most, for in the others it is late by the same.
        longest_wait_ns: The largest of these waits in a step, the mean over the steps with such calls.
    """

    calls: int
    last_calls: int
    chance_ratio: float
    others_waited_ns: float
    longest_wait_ns: float


def arrival_votes(db: DuckDBPyConnection, stage_of: Mapping[int, int | None]) -> dict[int, Votes]:
    """Return the votes of every profile with calls that have a last member, by profile_id.

    Left out are point-to-point calls, those of an unknown operation, calls across stages, calls whose members arrive
    within 10 us, and those in which everybody waits for a member that is not here.

    Args:
        db: A connection with the tables that `collective_parts` needs.
        stage_of: Pipeline stage of each profile.
    """
    stages = [{"profile_id": profile_id, "stage": stage} for profile_id, stage in stage_of.items()]
    listed(db, stages, {"profile_id": "integer", "stage": "integer"}).keep(_STAGES)
    rows = db.execute(f"""
        with meeting as (
            select group_id, op, sequence,
                   list({{'profile_id': part.profile_id, 'step_id': step_id, 'late_ns': coalesce(sync_ns, wait_ns)}}
                        order by coalesce(sync_ns, wait_ns), part.profile_id) as members
            from {completed_parts(db)} part
            left join {_STAGES} using (profile_id)
            where sequence is not null and coalesce(sync_ns, wait_ns) is not null
              and op not in {UNMATCHED}
            group by group_id, op, sequence
            having count(*) > 1 and count(*) = count(distinct part.profile_id)
               and count(distinct coalesce(stage, -1)) = 1
               and max(coalesce(sync_ns, wait_ns)) - min(coalesce(sync_ns, wait_ns)) >= {ARRIVAL_SPREAD_NS}
               and min(coalesce(sync_ns, wait_ns)) <= {ABSENT_RATIO} * max(coalesce(sync_ns, wait_ns))
        ),
        opened as (
            select unnest(members) as one, group_id, op, sequence, 1.0 / len(members) as chance,
                   members[1].profile_id as last_id,
                   list_median([other.late_ns for other in members[2:]]) - members[1].late_ns as waited_ns
            from meeting
        ),
        call as (
            select one.profile_id as profile_id, one.step_id as step_id, group_id, op, sequence, chance, waited_ns,
                   one.profile_id = last_id as was_last
            from opened
        ),
        unit as (
            select profile_id, step_id, group_id, avg(chance) as chance,
                   count(*) as calls, count(*) filter (was_last) as last_calls,
                   coalesce(sum(waited_ns) filter (was_last), 0) as waited_ns,
                   coalesce(max(waited_ns) filter (was_last), 0) as longest_ns
            from call
            group by profile_id, step_id, group_id, case when step_id is null then (op, sequence) end
        ),
        step as (
            select profile_id, sum(calls) as calls, sum(last_calls) as last_calls, count(*) as units,
                   count(*) filter (2 * last_calls > calls) as hits, sum(chance) as chance,
                   nullif(max(longest_ns), 0) as longest_ns
            from unit
            group by profile_id, step_id
        ),
        waited as (
            select profile_id, max(waited_ns) as waited_ns
            from (select profile_id, sum(waited_ns) as waited_ns from unit group by profile_id, group_id)
            group by profile_id
        )
        select profile_id, sum(calls)::bigint, sum(last_calls)::bigint, sum(units)::bigint, sum(hits)::bigint,
               sum(chance) / sum(units), any_value(waited_ns), coalesce(avg(longest_ns), 0)
        from step
        join waited using (profile_id)
        group by profile_id
        order by profile_id
    """).fetchall()
    return {
        profile_id: Votes(calls, last_calls, at_least(hits, units, chance), waited, longest)
        for profile_id, calls, last_calls, units, hits, chance, waited, longest in rows
    }


def at_least(hits: int, trials: int, chance: float) -> float:
    """Probability of `hits` or more in `trials` with a chance of `chance` each."""
    if hits <= 0:
        return 1.0
    ways = lgamma(trials + 1)
    terms = (
        exp(
            ways - lgamma(count + 1) - lgamma(trials - count + 1)
            + count * log(chance) + (trials - count) * log1p(-chance)
        )
        for count in range(hits, trials + 1)
    )  # fmt: skip
    return min(sum(terms), 1.0)
