"""The pipeline stage of every rank, from its communicators; ranks of different stages do different work."""

from __future__ import annotations

from duckdb import DuckDBPyConnection

__all__ = ["PIPELINE_KIND", "stages_of_profiles"]

PIPELINE_KIND = "pp"
"""Kind of a communicator whose members are the stages of one pipeline."""


def stages_of_profiles(db: DuckDBPyConnection) -> dict[int, tuple[int, int]]:
    """Return stage (from 0) and number of stages of each profile that says so.

    The stage is the rank's own place in its communicator of kind `pp`.

    Args:
        db: A connection with the tables `profile` and `comm_group_member`.
    """
    rows = db.execute(
        """
        select profile.profile_id, min(group_rank), max(group_size)
        from profile
        join comm_group_member member using (profile_id)
        where member.kind = $kind and member.member_rank = profile.rank and group_rank is not null and group_size > 1
        group by profile.profile_id
        """,
        {"kind": PIPELINE_KIND},
    ).fetchall()
    return {profile_id: (stage, count) for profile_id, stage, count in rows}
