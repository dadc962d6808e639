"""A01 across profiles: which ranks of how many are here."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis
from ascend_sn.analysis.relations import Result, listed, selected

__all__ = ["ANALYSIS", "rank_presence"]

_NAMED_AT_MOST: Final = 20

_TYPES: Final = {
    "expected": "bigint",
    "expected_is_exact": "boolean",
    "basis": "varchar",
    "present": "bigint",
    "profiles": "bigint",
    "missing_ranks": "varchar",
    "duplicate_ranks": "varchar",
    "extra_ranks": "varchar",
    "unknown_rank_count": "bigint",
}


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


def combined_presence(db: DuckDBPyConnection, parts: Result) -> Result:
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
    rows = parts.dicts()
    if not rows:
        return listed(db, [], _TYPES)
    ranks = Counter(row["rank"] for row in rows if row["rank"] is not None)
    world_size = _most(rows, "world_size")
    group_size, top_member = _most(rows, "group_size"), _most(rows, "top_member")
    at_least = max(
        group_size or 0, *(number + 1 for number in (top_member, max(ranks, default=None)) if number is not None), 0
    )
    if world_size is not None:
        expected, basis = max(world_size, at_least), "world_size"
    elif group_size is not None:
        expected, basis = at_least, "group"
    else:
        expected, basis = None, "none"
    absent = [] if world_size is None or expected is None else sorted(set(range(expected)) - set(ranks))
    return listed(
        db,
        [
            {
                "expected": expected,
                "expected_is_exact": world_size is not None,
                "basis": basis,
                "present": len(ranks),
                "profiles": len(rows),
                "missing_ranks": _joined(absent[:_NAMED_AT_MOST]),
                "duplicate_ranks": _joined(sorted(rank for rank, count in ranks.items() if count > 1)),
                "extra_ranks": _joined(sorted(rank for rank in ranks if world_size is not None and rank >= world_size)),
                "unknown_rank_count": len(rows) - sum(ranks.values()),
            }
        ],
        _TYPES,
    )


def _most(rows: list[dict[str, Any]], name: str) -> int | None:
    return max((row[name] for row in rows if row[name] is not None), default=None)


def _joined(ranks: list[int]) -> str | None:
    return ",".join(map(str, ranks)) or None


ANALYSIS = Analysis(
    code="A01",
    name="rank_presence",
    title="Ranks present",
    per_profile=rank_presence,
    combine=combined_presence,
)
