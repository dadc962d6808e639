"""A17: which rank the others wait for, and what it does meanwhile."""

from __future__ import annotations

from math import exp, lgamma, log, log1p
from statistics import fmean, median
from typing import Any, Final

from duckdb import DuckDBPyConnection

from ascend_sn.analysis.collective_parts import completed_parts
from ascend_sn.analysis.free_time_causes import free_time_causes
from ascend_sn.analysis.outliers import OUTLIER_Z, modified_z
from ascend_sn.analysis.pipeline_stages import stages_of_profiles
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed, selected
from ascend_sn.analysis.step_breakdown import step_breakdown

__all__ = ["ANALYSIS", "combined_stragglers", "stragglers"]

SCORE_BELOW: Final = 0.75
"""A rank whose peers need less than this share of its own time is slow."""

LAST_RATIO: Final = 0.5
"""A rank that comes last to more than this share of the calls holds the others up."""

CHANCE_BELOW: Final = 0.01
"""Probability of coming last that often by chance, below which it counts."""

PERSISTENT_RATIO: Final = 0.5
"""Share of the steps in which a rank must be the slowest of its peers."""

ARRIVAL_SPREAD_NS: Final = 10_000
"""A call whose members arrive within this time has no last one."""

ABSENT_RATIO: Final = 0.1
"""When even the shortest wait is beyond this share of the longest, the one they waited for is not among them."""

POINT_TO_POINT: Final = ("send", "receive", "sendrecv", "batchsendrecv")

PARTS: Final = ("compute", "data", "host", "copy")
"""What a rank's own time consists of; the one that exceeds the peers' most is the cause."""

_STEP_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "stage": "integer",
    "step_key": "bigint",
    "own_ns": "bigint",
    **{f"{part}_ns": "bigint" for part in PARTS},
}

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "stage": "integer",
    "peers": "bigint",
    "steps": "bigint",
    "own_ns": "bigint",
    "peer_own_ns": "bigint",
    "score_ratio": "double",
    "robust_z": "double",
    "slowest_ratio": "double",
    "calls": "bigint",
    "last_calls": "bigint",
    "last_ratio": "double",
    "chance_ratio": "double",
    "caused_wait_ns": "bigint",
    "is_straggler": "boolean",
    "evidence": "varchar",
    "cause": "varchar",
    **{f"{part}_excess_ns": "bigint" for part in PARTS},
}


def stragglers(db: DuckDBPyConnection) -> Result:
    """List what each rank did by itself in each step.

    Args:
        db: A connection with the tables `kernel`, `host_call`, `operator`, `span`, `step`, `collective`, `profile`,
            `comm_group_member`.

    Returns:
        One row per step (the whole capture where nothing marks steps): profile_id, rank, stage (place in the
        communicator of kind `pp`, null where there is none), step_key (step number, else its place), own_ns = window -
        exposed communication, and of it compute_ns, data_ns (free, waiting for data), host_ns (free otherwise),
        copy_ns.
    """
    stages = stages_of_profiles(db)
    data = {
        (row["profile_id"], row["step_id"], row["scope"]): row["cause_ns"]
        for row in free_time_causes(db).dicts()
        if row["cause"] == "data_wait"
    }
    rows = []
    for window in step_breakdown(db).dicts():
        if window["origin"] == "inferred":
            continue
        waited = data.get((window["profile_id"], window["step_id"], window["scope"]), 0)
        key = window["step"] if window["step"] is not None else window["step_id"]
        rows.append(
            {
                "profile_id": window["profile_id"],
                "rank": window["rank"],
                "stage": stages.get(window["profile_id"], (None,))[0],
                "step_key": -1 if key is None else key,
                "own_ns": window["window_ns"] - window["exposed_comm_ns"],
                "compute_ns": window["compute_ns"],
                "data_ns": waited,
                "host_ns": window["free_ns"] - waited,
                "copy_ns": window["exposed_copy_ns"],
            }
        )
    return listed(db, rows, _STEP_TYPES)


def combined_stragglers(db: DuckDBPyConnection, parts: Result) -> Result:
    """Compare the ranks of each pipeline stage with each other; ranks of different stages are never compared.

    Three kinds of evidence: `arrival`: the rank comes last to more than half of the collectives of its stage, which
    chance (a binomial test against 1 / members) would do with less than 1 %; `score`: the median own time of the other
    ranks is less than 75 % of its own; `outlier`: its own time has a modified z score beyond 3.5 (three ranks at
    least). The last two count when the rank is the slowest in more than half of the steps. Calls whose members arrive
    within 10 us, or all wait for a rank that is not here, have no last one; point-to-point calls and calls across
    stages are left out.

    Returns:
        One row per profile with kernels, by stage and profile: profile_id, rank, stage, peers (ranks of its
        stage, itself included), steps, own_ns (median over the steps), peer_own_ns (median of the other ranks),
        score_ratio = peer_own_ns / own_ns, robust_z, slowest_ratio (share of the steps in which it is the
        slowest; null without peers), calls (with a last one), last_calls (those to which it came last),
        last_ratio (share of the calls), chance_ratio (probability of so many by chance), caused_wait_ns (median
        wait of the others in the calls to which it came last, per step), is_straggler, evidence (by commas),
        cause (compute, data, host or copy: what exceeds the other ranks' median most; null when not a
        straggler), and compute_excess_ns, data_excess_ns, host_excess_ns, copy_excess_ns (each: this part of
        its own time over the other ranks' median).
    """
    steps = parts.dicts()
    calls = selected(
        db,
        f"""
        select profile_id, group_id, op, sequence, coalesce(sync_ns, wait_ns) as late_ns
        from {completed_parts(db)}
        where sequence is not null and coalesce(sync_ns, wait_ns) is not null
          and op not in ('{"', '".join(POINT_TO_POINT)}')
        order by group_id, op, sequence, profile_id
        """,
    ).dicts()
    ranks: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(steps, key=lambda row: (row["profile_id"], row["step_key"])):
        ranks.setdefault(row["profile_id"], []).append(row)
    stage_of = {profile_id: rows[0]["stage"] for profile_id, rows in ranks.items()}
    arrivals = _arrivals(calls, stage_of)
    found = []
    for stage in sorted(set(stage_of.values()), key=lambda stage: -1 if stage is None else stage):
        members = {profile_id: rows for profile_id, rows in ranks.items() if stage_of[profile_id] == stage}
        found.extend(_judged(members, arrivals))
    return listed(db, found, _TYPES)


def _judged(members: dict[int, list[dict[str, Any]]], arrivals: dict[int, list[_Arrival]]) -> list[dict[str, Any]]:
    """Hold the ranks of one stage against each other."""
    names = ("own_ns", *(f"{part}_ns" for part in PARTS))
    middle = {profile_id: {name: _middle(rows, name) for name in names} for profile_id, rows in members.items()}
    scores = modified_z([middles["own_ns"] for middles in middle.values()])
    slowest = _slowest(members)
    judged = []
    for at, (profile_id, rows) in enumerate(members.items()):
        row: dict[str, Any] = dict.fromkeys(_TYPES)
        own = middle[profile_id]
        row |= {name: rows[0][name] for name in ("profile_id", "rank", "stage")}
        row |= {"peers": len(members), "steps": len(rows), "own_ns": own["own_ns"], "is_straggler": False}
        row |= _votes(arrivals.get(profile_id, []), len(rows))
        judged.append(row)
        if len(members) < 2:
            continue
        others = {name: median(one[name] for other, one in middle.items() if other != profile_id) for name in names}
        row |= {
            "peer_own_ns": round(others["own_ns"]),
            "score_ratio": others["own_ns"] / own["own_ns"] if own["own_ns"] else None,
            "robust_z": None if scores is None else float(scores[at]),
            "slowest_ratio": slowest[profile_id],
            **{f"{part}_excess_ns": round(own[f"{part}_ns"] - others[f"{part}_ns"]) for part in PARTS},
        }
        evidence = _evidence(row)
        if evidence:
            cause = max(PARTS, key=lambda part: row[f"{part}_excess_ns"])
            row |= {"is_straggler": True, "evidence": ",".join(evidence), "cause": cause}
    return judged


def _evidence(row: dict[str, Any]) -> list[str]:
    persistent = row["slowest_ratio"] is not None and row["slowest_ratio"] > PERSISTENT_RATIO
    found = []
    if row["calls"] and row["last_ratio"] > LAST_RATIO and row["chance_ratio"] < CHANCE_BELOW:
        found.append("arrival")
    if persistent and row["score_ratio"] is not None and row["score_ratio"] < SCORE_BELOW:
        found.append("score")
    if persistent and row["robust_z"] is not None and row["robust_z"] > OUTLIER_Z:
        found.append("outlier")
    return found


def _slowest(members: dict[int, list[dict[str, Any]]]) -> dict[int, float | None]:
    """Share of the steps, of those that another rank has too, in which each rank's own time is the largest."""
    by_step: dict[int, list[tuple[int, int]]] = {}
    for profile_id, rows in members.items():
        for step in rows:
            by_step.setdefault(step["step_key"], []).append((step["own_ns"], profile_id))
    first: dict[int, list[bool]] = {profile_id: [] for profile_id in members}
    for times in by_step.values():
        if len(times) < 2:
            continue
        times.sort(reverse=True)
        alone = times[0][0] > times[1][0]
        for place, (_, profile_id) in enumerate(times):
            first[profile_id].append(alone and place == 0)
    return {profile_id: fmean(found) if found else None for profile_id, found in first.items()}


class _Arrival:
    """One call of a rank: was it the last of how many, and how long did the others wait for it."""

    def __init__(self, members: int, was_last: bool, others_waited_ns: float) -> None:
        self.members = members
        self.was_last = was_last
        self.others_waited_ns = others_waited_ns


def _arrivals(calls: list[dict[str, Any]], stage_of: dict[int, int | None]) -> dict[int, list[_Arrival]]:
    meetings: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for call in calls:
        meetings.setdefault((call["group_id"], call["op"], call["sequence"]), []).append(call)
    arrivals: dict[int, list[_Arrival]] = {}
    for members in meetings.values():
        profiles = {call["profile_id"] for call in members}
        if len(profiles) < 2 or len(profiles) < len(members) or len({stage_of.get(one) for one in profiles}) > 1:
            continue
        waits = sorted((call["late_ns"], call["profile_id"]) for call in members)
        (shortest, last), (longest, _) = waits[0], waits[-1]
        if longest - shortest < ARRIVAL_SPREAD_NS or shortest > ABSENT_RATIO * longest:
            continue
        waited = median(late for late, _ in waits[1:]) - shortest
        for profile_id in sorted(profiles):
            arrivals.setdefault(profile_id, []).append(_Arrival(len(profiles), profile_id == last, waited))
    return arrivals


def _votes(arrivals: list[_Arrival], steps: int) -> dict[str, Any]:
    last = [arrival for arrival in arrivals if arrival.was_last]
    return {
        "calls": len(arrivals),
        "last_calls": len(last),
        "last_ratio": len(last) / len(arrivals) if arrivals else None,
        "chance_ratio": _at_least(len(last), len(arrivals), fmean(1 / arrival.members for arrival in arrivals))
        if arrivals
        else None,
        "caused_wait_ns": round(sum(arrival.others_waited_ns for arrival in last) / steps),
    }


def _at_least(hits: int, trials: int, chance: float) -> float:
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


def _middle(rows: list[dict[str, Any]], name: str) -> int:
    found: float = median(row[name] for row in rows)
    return round(found)


ANALYSIS = Analysis(
    code="A17",
    name="stragglers",
    title="Ranks that others wait for",
    per_profile=stragglers,
    combine=combined_stragglers,
    needs=(Need("kernel"),),
)
