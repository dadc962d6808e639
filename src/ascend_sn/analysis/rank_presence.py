"""A01 across profiles: which ranks of how many are here."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import COMBINED_VIEW, Analysis
from ascend_sn.analysis.relations import Result, selected

__all__ = ["ANALYSIS", "rank_presence"]


def rank_presence(db: DuckDBPyConnection) -> Result:
    """List each profile with what it says about the size of the job.

    Args:
        db: A connection with the tables `profile` and `comm_group_member`.

    Returns:
        profile_id, rank, world_size, group_size (of its largest group), group_is_exact, top_member (highest
        global rank named by a group).
    """
    return selected(
        db,
        """
        with groups as (
            select profile_id, max(group_size) as group_size,
                   bool_and(size_is_exact) as group_is_exact, max(member_rank) as top_member
            from comm_group_member
            group by profile_id
        )
        select profile_id, rank, world_size, group_size, group_is_exact, top_member
        from profile
        left join groups using (profile_id)
        order by profile_id
    """,
    )


def combined_presence(db: DuckDBPyConnection) -> Result:
    """Hold the ranks that are here against the ranks that should be.

    The expected number is the stated world size; else, as a lower bound, the largest communicator or the
    highest rank that any profile names; else nothing is known.

    Returns:
        One row (none without profiles): expected (null when unknown), expected_is_exact, basis (`world_size`,
        `group` or `none`), present (distinct ranks), profiles, missing_ranks (text: the first twenty, by
        commas; only where expected is known exactly), duplicate_ranks (ranks with several profiles), extra_ranks
        (ranks beyond the stated world size),
        unknown_rank_count (profiles without a rank).
    """
    return selected(
        db,
        f"""
        with stated as (
            select max(world_size) as world_size,
                   greatest(max(group_size), max(top_member) + 1, max(rank) + 1) as at_least,
                   max(group_size) is not null as has_groups,
                   count(*) as profiles,
                   count(distinct rank) as present,
                   count(*) filter (where rank is null) as unknown_rank_count
            from {COMBINED_VIEW}
            having count(*) > 0
        ),
        expected as (
            select *,
                   case when world_size is not null then greatest(world_size, at_least)
                        when has_groups then at_least
                   end as expected,
                   world_size is not null as expected_is_exact,
                   case when world_size is not null then 'world_size' when has_groups then 'group' else 'none' end
                       as basis
            from stated
        ),
        missing as (
            select string_agg(absent, ',' order by absent) as missing_ranks
            from (
                select unnest(range(0, (select expected::bigint from expected where expected_is_exact))) as absent
                except
                select rank from {COMBINED_VIEW}
                order by absent
                limit 20
            )
        ),
        extra as (
            select string_agg(distinct rank, ',' order by rank) as extra_ranks
            from {COMBINED_VIEW}, stated
            where rank >= stated.world_size
        ),
        duplicates as (
            select string_agg(rank, ',' order by rank) as duplicate_ranks
            from (select rank from {COMBINED_VIEW} where rank is not null group by rank having count(*) > 1)
        )
        select expected, expected_is_exact, basis, present, profiles, missing_ranks, duplicate_ranks, extra_ranks,
               unknown_rank_count
        from expected, missing, duplicates, extra
    """,
    )


ANALYSIS = Analysis(
    code="A01",
    name="rank_presence",
    title="Ranks present",
    per_profile=rank_presence,
    combine=combined_presence,
)
