"""Which profiles belong to one job, and are replayed together."""

from __future__ import annotations

from collections import defaultdict

from duckdb import DuckDBPyConnection

__all__ = ["jobs"]


def jobs(db: DuckDBPyConnection) -> tuple[tuple[int, ...], ...]:
    """Return the profiles of each job, the job of most profiles first.

    Profiles that take part in collectives of one group belong together. Of those that meet nobody, the ones of one
    format, phase folder and kind of device with different ranks are taken for one job.

    Args:
        db: A connection with the tables `profile` and `collective`.
    """
    profiles = db.execute(
        """
        select profile_id, rank, format, phase, device_kind
        from profile
        order by profile_id
        """
    ).fetchall()
    job_of = {row[0]: row[0] for row in profiles}

    def root(profile: int) -> int:
        while job_of[profile] != profile:
            profile = job_of[profile]
        return profile

    groups = db.execute(
        """
        select list(distinct profile_id order by profile_id)
        from collective
        where group_id is not null and list_contains($profiles, profile_id)
        group by group_id
        having count(distinct profile_id) > 1
        order by all
        """,
        {"profiles": list(job_of)},
    ).fetchall()
    for (members,) in groups:
        for profile in members[1:]:
            job_of[root(profile)] = root(members[0])
    alike: dict[tuple[str | None, ...], list[tuple[int, int | None]]] = defaultdict(list)
    met = {profile for (members,) in groups for profile in members}
    for profile, rank, *kind in profiles:
        if profile not in met:
            alike[tuple(kind)].append((profile, rank))
    for mine in alike.values():
        ranks = [rank for _, rank in mine]
        if None not in ranks and len(set(ranks)) == len(ranks):
            for profile, _ in mine[1:]:
                job_of[profile] = mine[0][0]
    found: dict[int, list[int]] = defaultdict(list)
    for profile in job_of:
        found[root(profile)].append(profile)
    return tuple(sorted((tuple(members) for members in found.values()), key=lambda members: (-len(members), members)))
