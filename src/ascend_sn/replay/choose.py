"""Which step is replayed, and which profiles: the median steady step, at most 64 profiles, chosen by wait."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final, Literal

import msgspec
from duckdb import DuckDBPyConnection
from msgspec.structs import replace

from ascend_sn.analysis.capture.clock_offsets import offsets_between
from ascend_sn.model.kinds import HOST_KINDS, UNMATCHED
from ascend_sn.replay.jobs import jobs

__all__ = ["FEW_STEPS", "MAX_PROFILES", "Choice", "Scope", "StepKey", "Window", "choose", "steady_steps"]

MAX_PROFILES: Final = 64
"""Profiles that are replayed together at most."""

WARM_UP_RATIO: Final = 0.1
"""Share of the steps of a session that is taken for its warm-up, at least one step."""

FEW_STEPS: Final = 5
"""Below this number of steps the median one says little, and how much they differ nothing."""

BETWEEN_RUNS_RATIO: Final = 0.03
"""Share by which the steps of a run of a program differ from those of another run of it.

Measured by `benchmarks.prediction`: ten programs, three runs of each; half of the range of their medians was between
0.3 and 25 % of the step, 2.5 % in the middle.
"""

Scope = Literal["step", "inferred step", "whole capture"]


class Window(msgspec.Struct, frozen=True):
    """Part of one profile that is replayed; ns in the profile's own clock.

    `offset_ns` is what this clock is ahead of that of the first profile. `step_id` is None for a whole capture.
    """

    profile_id: int
    rank: int | None
    device_kind: str
    start_ns: int
    end_ns: int
    step_id: int | None
    step: int | None
    offset_ns: int = 0


class Choice(msgspec.Struct, frozen=True):
    """What was chosen, out of how much.

    `step_count` counts the steps that the chosen one is the median of; 0 for a whole capture. `spread` is by how much
    the shorter and the longer steps differ from that one: the tenth and the ninetieth percentile, as shares of its
    length, and at least what two runs of one program differ by; zeros where there are fewer than five steps.
    """

    windows: tuple[Window, ...]
    scope: Scope
    step_count: int
    profile_count: int
    spread: tuple[float, float] = (0.0, 0.0)


class StepKey(msgspec.Struct, frozen=True):
    """A step of all profiles: its session and number, when the first one begins it, and how long the longest is."""

    session: int
    number: int
    start_ns: int
    dur_ns: int


def choose(
    db: DuckDBPyConnection,
    profile_ids: Sequence[int] | None = None,
    *,
    inferred: bool = False,
    max_profiles: int = MAX_PROFILES,
) -> Choice:
    """Choose the step of median length after the warm-up, and the profiles that decide about it.

    The length of a step is that of its longest profile. Of many profiles half are those that wait least in
    collectives (the ones the others wait for), the rest is spread evenly over the order by waiting.

    Args:
        db: A connection with the tables `profile`, `step`, `collective`, `operator`, `host_call`, `kernel`.
        profile_ids: Profiles to choose from; those of the largest job by default.
        inferred: Whether inferred steps will do where none is marked; else the whole capture is taken.
        max_profiles: Profiles to choose at most.
    """
    if profile_ids is None:
        profile_ids = next(iter(jobs(db)), ())
    rows = db.execute("select profile_id, rank, coalesce(device_kind, 'host') from profile order by all").fetchall()
    found = {row[0]: (row[1], row[2]) for row in rows if row[0] in set(profile_ids)}
    steady = steady_steps(db, list(found), inferred=inferred)
    if not steady:
        windows = _whole_captures(db, found)
        scope: Scope = "whole capture"
        spread = (0.0, 0.0)
    else:
        ranked = sorted(steady, key=lambda key: (key.dur_ns, key.session, key.number))
        windows = _step_windows(db, found, ranked[(len(ranked) - 1) // 2])
        spread = _spread([key.dur_ns for key in ranked])
        scope = "inferred step" if inferred else "step"
    chosen = _by_wait(db, windows, max_profiles)
    offsets = _clock_offsets(db, [window.profile_id for window in chosen])
    aligned = (replace(w, offset_ns=offsets.get(w.profile_id, 0)) for w in chosen)
    return Choice(tuple(aligned), scope, len(steady), len(windows), spread)


def steady_steps(
    db: DuckDBPyConnection,
    profile_ids: Sequence[int],
    *,
    inferred: bool = False,
    among: Collection[tuple[int, int]] | None = None,
) -> list[StepKey]:
    """Return the steps that most of some profiles have, by time, without the warm-up of each session.

    With `among`, only steps of these sessions and numbers count.
    """
    keys = _steps(db, list(profile_ids), inferred)
    return _without_warm_up(keys if among is None else [key for key in keys if (key.session, key.number) in among])


def _spread(ascending: list[int]) -> tuple[float, float]:
    """Return how far the tenth and the ninetieth percentile of lengths lie from the median one, as shares of it."""
    count = len(ascending)
    if count < FEW_STEPS:
        return 0.0, 0.0
    middle = ascending[(count - 1) // 2]
    short, long = (ascending[round((count - 1) * share)] for share in (0.1, 0.9))
    return max(1 - short / middle, BETWEEN_RUNS_RATIO), max(long / middle - 1, BETWEEN_RUNS_RATIO)


def _steps(db: DuckDBPyConnection, profiles: list[int], inferred: bool) -> list[StepKey]:
    """Return the steps that most profiles have, by time."""
    rows = db.execute(
        """
        with counted as (
            select coalesce(session, 0) as session, coalesce(step, step_id) as number,
                   count(distinct profile_id) as profile_count, min(ts_ns) as start_ns, max(dur_ns) as dur_ns
            from step
            where list_contains($profiles, profile_id) and dur_ns > 0 and (origin = 'inferred') = $inferred
            group by all
        )
        select session, number, start_ns, dur_ns
        from counted
        where profile_count = (select max(profile_count) from counted)
        order by start_ns, session, number
        """,
        {"profiles": profiles, "inferred": inferred},
    ).fetchall()
    return [StepKey(*row) for row in rows]


def _without_warm_up(keys: list[StepKey]) -> list[StepKey]:
    kept = []
    for session in sorted({key.session for key in keys}):
        mine = [key for key in keys if key.session == session]
        kept += mine[min(len(mine) - 1, math.ceil(WARM_UP_RATIO * len(mine))) :]
    return kept


def _step_windows(db: DuckDBPyConnection, found: dict[int, tuple[int | None, str]], key: StepKey) -> list[Window]:
    rows = db.execute(
        """
        select profile_id, ts_ns, ts_ns + dur_ns, step_id, step
        from step
        where list_contains($profiles, profile_id)
          and coalesce(session, 0) = $session and coalesce(step, step_id) = $number
        qualify row_number() over (partition by profile_id order by dur_ns desc, step_id) = 1
        order by profile_id
        """,
        {"profiles": list(found), "session": key.session, "number": key.number},
    ).fetchall()
    return [Window(profile, *found[profile], start, end, step_id, step) for profile, start, end, step_id, step in rows]


def _whole_captures(db: DuckDBPyConnection, found: dict[int, tuple[int | None, str]]) -> list[Window]:
    rows = db.execute(
        """
        with rows as (
            select profile_id, ts_ns, dur_ns from operator
            union all
            select profile_id, ts_ns, dur_ns from host_call
            union all
            select profile_id, ts_ns, dur_ns from kernel
        )
        select profile_id, min(ts_ns), max(ts_ns + dur_ns)
        from rows
        where list_contains($profiles, profile_id)
        group by profile_id
        having max(ts_ns + dur_ns) > min(ts_ns)
        order by profile_id
        """,
        {"profiles": list(found)},
    ).fetchall()
    return [Window(profile, *found[profile], start, end, None, None) for profile, start, end in rows]


def _by_wait(db: DuckDBPyConnection, windows: list[Window], limit: int) -> list[Window]:
    """Return the windows to replay, by profile_id."""
    if len(windows) <= limit:
        return windows
    # The time in collectives orders profiles as the waiting in them does, and is always recorded.
    waits = dict(
        db.execute(
            """
            select profile_id, sum(coalesce(wait_ns, dur_ns))::bigint
            from collective
            where list_contains($profiles, profile_id)
            group by profile_id
            """,
            {"profiles": [window.profile_id for window in windows]},
        ).fetchall()
    )
    if waits:
        ranked = sorted(windows, key=lambda window: (waits.get(window.profile_id, 0), window.profile_id))
    else:
        ranked = sorted(windows, key=lambda window: (window.start_ns - window.end_ns, window.profile_id))
    least, rest = ranked[: (limit + 1) // 2], ranked[(limit + 1) // 2 :]
    wanted = limit - len(least)
    spread = [rest[(len(rest) - 1) * at // max(wanted - 1, 1)] for at in range(wanted)]
    return sorted(least + spread, key=lambda window: window.profile_id)


def _clock_offsets(db: DuckDBPyConnection, profiles: list[int]) -> dict[int, int]:
    """Return what each clock is ahead of the first profile's, as far as that is known (A14).

    Processes of one host that no device records share a clock; how their calls end tells nothing then.
    """
    if len(profiles) < 2:
        return {}
    hosts = db.execute(
        "select distinct host, coalesce(device_kind, 'host') from profile where list_contains($profiles, profile_id)",
        {"profiles": profiles},
    ).fetchall()
    if len({host for host, _ in hosts} - {None}) == 1 and all(host and kind in HOST_KINDS for host, kind in hosts):
        return {}
    calls = db.execute(
        """
        select profile.profile_id, profile.rank, profile.host, group_id, op, sequence, ts_ns, dur_ns
        from profile
        left join (select profile_id, group_id, op, sequence, ts_ns, dur_ns from collective
                   where sequence is not null and not list_contains($unmatched, op)) call using (profile_id)
        where list_contains($profiles, profile.profile_id)
        order by profile.profile_id, group_id, sequence
        """,
        # The same number of a send, or of what may be one, is another message on another rank.
        {"profiles": profiles, "unmatched": list(UNMATCHED)},
    ).fetchnumpy()
    columns = {name: column.tolist() for name, column in calls.items()}
    return {row["profile_id"]: row["offset_ns"] or 0 for row in offsets_between(columns)}
