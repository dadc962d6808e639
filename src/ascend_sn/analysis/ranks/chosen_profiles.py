"""Which profiles of a cluster are looked into: those that stand out, those they meet, and some of the rest."""

from __future__ import annotations

from typing import Final

from ascend_sn.analysis import Missing, worked_out
from ascend_sn.analysis.communication.link_matrix import shared_rank
from ascend_sn.store.run import Run

__all__ = ["LOOKED_INTO", "chosen_profiles"]

LOOKED_INTO: Final = 32
"""Profiles at most; each costs about half a second."""

_STRAGGLERS: Final = 4
_AT_SLOW_LINKS: Final = 4
_LEAKING: Final = 2
_MEMBERS: Final = 16
"""Ranks of a group at most that is taken whole: a larger one cannot be."""


def chosen_profiles(run: Run, at_most: int = LOOKED_INTO) -> list[int]:
    """Return the profiles to look into, by id.

    First the ranks that the others wait for (the four that cost most), those at the ends of slow links (four) and those
    whose memory leaks most (two), then the ranks that the first two kinds meet in groups of up to sixteen, the smallest
    groups first, then of every pipeline stage the rank whose own time is the longest, and the rest evenly over all.

    Args:
        run: A run opened by its summaries.
        at_most: How many.
    """
    ids = [profile_id for (profile_id,) in run.db.execute("select profile_id from profile order by 1").fetchall()]
    if len(ids) <= at_most:
        return ids
    found = worked_out(run, "stragglers")
    rows = [] if isinstance(found, Missing) else found.shared()
    worst = sorted(
        (row for row in rows if row["is_straggler"]), key=lambda row: (-row["caused_wait_ns"], row["profile_id"])
    )
    wanted = [row["profile_id"] for row in worst[:_STRAGGLERS]]
    wanted += _at_slow_links(run)
    met = _met(run, wanted)
    wanted += [*_leaking(run), *met]
    longest: dict[int | None, tuple[int, int]] = {}
    for row in rows:
        best = longest.get(row["stage"])
        if best is None or row["own_ns"] > best[0]:
            longest[row["stage"]] = row["own_ns"], row["profile_id"]
    wanted += [profile_id for _, profile_id in longest.values()]
    chosen = list(dict.fromkeys(wanted))[:at_most]
    rest = [one for one in ids if one not in set(chosen)]
    room = at_most - len(chosen)
    chosen += [rest[at * len(rest) // room] for at in range(room)]
    return sorted(chosen)


def _at_slow_links(run: Run) -> list[int]:
    """The profile of the rank that all slow links share, else those of the ranks at the slowest ones."""
    found = worked_out(run, "link_matrix")
    if isinstance(found, Missing):
        return []
    rows = run.db.execute(
        f"""
        select src_rank, dst_rank
        from {found.table("links_of_cluster")}
        where pattern is not null and rank_scope = 'global'
        order by bandwidth_bytes_per_s / usual_bytes_per_s, src_rank, dst_rank
        """
    ).fetchall()
    shared = shared_rank(rows)
    ranks = list(dict.fromkeys(rank for pair in rows for rank in pair)) if shared is None else [shared]
    profile_of = dict(run.db.execute("select rank, min(profile_id) from profile group by rank").fetchall())
    return [profile_of[rank] for rank in ranks if rank in profile_of][:_AT_SLOW_LINKS]


def _leaking(run: Run) -> list[int]:
    """The profiles whose memory leaks most: only where one is looked into, the site of its leak can be told."""
    found = worked_out(run, "memory_leak")
    rows = [] if isinstance(found, Missing) else found.shared()
    leaks = [row for row in rows if row["verdict"] == "leak"]
    leaks.sort(key=lambda row: (-(row["slope_bytes_per_step"] or 0.0), row["profile_id"]))
    return list(dict.fromkeys(row["profile_id"] for row in leaks))[:_LEAKING]


def _met(run: Run, profiles: list[int]) -> list[int]:
    """The other members of the small groups of some profiles, those of the smallest groups first."""
    rows = run.db.execute(
        """
        with mine as (
            select group_id, list_position($profiles, profile_id) as place
            from comm_group_member
            where list_contains($profiles, profile_id)
        ),
        members as (
            select group_id, count(distinct profile_id) as members
            from comm_group_member
            group by group_id
        )
        select other.profile_id
        from mine
        join members using (group_id)
        join comm_group_member other using (group_id)
        where members <= $most
        group by other.profile_id
        order by min(members), min(place), other.profile_id
        """,
        {"profiles": profiles, "most": _MEMBERS},
    ).fetchall()
    return [profile_id for (profile_id,) in rows]
