"""A17: which rank the others wait for, and what it does meanwhile."""

from __future__ import annotations

from math import exp, log
from statistics import NormalDist, median
from typing import Any, Final

import numpy as np
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.communication.arrivals import Votes, arrival_votes
from ascend_sn.analysis.host.free_time_causes import free_time_causes
from ascend_sn.analysis.host.own_time import compared
from ascend_sn.analysis.outliers import OUTLIER_Z, others_median
from ascend_sn.analysis.ranks.pipeline_stages import stages_of_profiles
from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.steps.step_breakdown import step_breakdown

__all__ = ["ANALYSIS", "combined_stragglers", "stragglers"]

SCORE_BELOW: Final = 0.75
"""A rank whose peers need less than this share of its own time is slow."""

EXCESS_AT_LEAST: Final = 0.05
"""Share of the peers' time by which an outlier has to be longer: less is within what equal devices differ."""

LAST_RATIO: Final = 0.5
"""A rank that comes last to more than this share of the calls holds the others up."""

CHANCE_BELOW: Final = 0.005
"""Probability, for all ranks of a run together, that chance alone would call one of them a straggler."""

PASSED_ON_RATIO: Final = 0.5
"""A rank whose own time exceeds the others' by less than this share of the longest wait that it causes in a step was
itself held up by another one, and only passes that on."""

PARTS: Final = ("compute", "data", "host", "copy")
"""What a rank's own time consists of; the one that exceeds the peers' most is the cause."""

_STEP_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "stage": "integer",
    "step_key": "bigint",
    "own_ns": "bigint",
    "exposed_comm_ns": "bigint",
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
        exposed communication, exposed_comm_ns, and of own_ns compute_ns, data_ns (free, waiting for data), host_ns
        (free otherwise), copy_ns.
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
                "exposed_comm_ns": window["exposed_comm_ns"],
                "compute_ns": window["compute_ns"],
                "data_ns": waited,
                "host_ns": window["free_ns"] - waited,
                "copy_ns": window["exposed_copy_ns"],
            }
        )
    return listed(db, rows, _STEP_TYPES)


def combined_stragglers(db: DuckDBPyConnection, parts: Result) -> Result:
    """Compare the ranks of each pipeline stage with each other; ranks of different stages are never compared.

    Three kinds of evidence:

    `arrival`: the rank comes last to more than half of the collectives of its stage. The calls that a communicator has
    in a step depend on each other and have one vote together; chance (a binomial test of the votes against 1 / members)
    would give that to any of the ranks with less than 0.5 %. A rank whose own time exceeds the others' by less than
    half of the longest wait that it causes in a step was held up itself, and only passes that on: it is none. (Where
    nothing tells own time from waiting, because no communication runs on the device, all of them count.)

    `score`: in more than half of the steps, the others' median own time is less than 75 % of its own.

    `outlier`: in more than half of the steps its own time is 5 % or more beyond the others' median, and that excess has
    a modified z score among the ranks beyond 3.5, with many ranks beyond what chance gives to any of them with 0.5 %.
    The spread counts as no less than the noise from step to step lets expect, nor than 1 %. Two ranks alone are held
    against the noise of their difference from step to step (Student's t as a normal score).

    Calls whose members arrive within 10 us, or all wait for a rank that is not here, have no last one; point-to-point
    calls and calls across stages are left out.

    Returns:
        One row per profile with kernels, by stage and profile: profile_id, rank, stage, peers (ranks of its
        stage, itself included), steps, own_ns (median over the steps), peer_own_ns (median of the other ranks),
        score_ratio = peer_own_ns / own_ns, robust_z, slowest_ratio (share of the steps in which
        it is the slowest; null without peers), calls (with a last one), last_calls (those to which it came last),
        last_ratio (share of the calls), chance_ratio (probability that this rank comes last so often by chance),
        caused_wait_ns (median wait of the others in the calls to which it came last, summed over the calls of the
        communicator where this is most, per step; not more than its own time exceeds theirs or the longest such
        wait, because calls beside compute show the same lateness again, and not more than the former where it passes
        on what held it up itself), is_straggler, evidence (by commas),
        cause (compute, data, host or copy: what exceeds the other ranks' median most; null when not a
        straggler), and compute_excess_ns, data_excess_ns, host_excess_ns, copy_excess_ns (each: this part of
        its own time over the other ranks' median).
    """
    ranks: dict[int, list[dict[str, Any]]] = {}
    for row in sorted(parts.shared(), key=lambda row: (row["profile_id"], row["step_key"])):
        ranks.setdefault(row["profile_id"], []).append(row)
    stage_of = {profile_id: rows[0]["stage"] for profile_id, rows in ranks.items()}
    votes = arrival_votes(db, stage_of)
    found = []
    for stage in sorted(set(stage_of.values()), key=lambda stage: -1 if stage is None else stage):
        members = {profile_id: rows for profile_id, rows in ranks.items() if stage_of[profile_id] == stage}
        found.extend(_judged(members, votes, len(ranks)))
    return listed(db, found, _TYPES)


def _judged(members: dict[int, list[dict[str, Any]]], votes: dict[int, Votes], rank_count: int) -> list[dict[str, Any]]:
    """Hold the ranks of one stage against each other, in a run of `rank_count`."""
    names = ("own_ns", "exposed_comm_ns", *(f"{part}_ns" for part in PARTS))
    middle = {name: np.array([_middle(rows, name) for rows in members.values()]) for name in names}
    rows = [
        {
            **dict.fromkeys(_TYPES),
            **{name: steps[0][name] for name in ("profile_id", "rank", "stage")},
            **{"peers": len(members), "steps": len(steps), "own_ns": own_ns, "is_straggler": False},
            **_arrival_figures(votes.get(profile_id), len(steps)),
        }
        for (profile_id, steps), own_ns in zip(members.items(), middle["own_ns"].tolist(), strict=True)
    ]
    if len(members) < 2:
        return rows
    others = {name: others_median(values) for name, values in middle.items()}
    times = compared(_own_times(members))
    z_beyond = max(OUTLIER_Z, NormalDist().inv_cdf(1 - CHANCE_BELOW / rank_count))
    for at, (profile_id, row) in enumerate(zip(members, rows, strict=True)):
        own, peers = float(middle["own_ns"][at]), float(others["own_ns"][at])
        row |= {
            "peer_own_ns": round(peers),
            "score_ratio": peers / own if own else None,
            "robust_z": _number(times.z[at]),
            "slowest_ratio": _number(times.slowest[at]),
            **{
                f"{part}_excess_ns": round(float(middle[f"{part}_ns"][at] - others[f"{part}_ns"][at])) for part in PARTS
            },
        }
        evidence = _evidence_of_time(float(times.excess[at]), float(times.z[at]), z_beyond)
        vote = votes.get(profile_id)
        if vote is not None:
            # Without communication on the device its own time holds the waiting, too, and says nothing here.
            behind = own - peers if others["exposed_comm_ns"][at] > 0 else vote.others_waited_ns
            holds_up = behind >= PASSED_ON_RATIO * vote.longest_wait_ns
            at_most = max(behind, vote.longest_wait_ns if holds_up else 0.0)
            row["caused_wait_ns"] = round(min(row["caused_wait_ns"], at_most))
            if holds_up and _comes_last(row, rank_count):
                evidence.insert(0, "arrival")
        if evidence:
            cause = max(PARTS, key=lambda part: row[f"{part}_excess_ns"])
            row |= {"is_straggler": True, "evidence": ",".join(evidence), "cause": cause}
    return rows


def _own_times(members: dict[int, list[dict[str, Any]]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Own time by rank (rows) and step (columns); NaN where a rank has no such step."""
    keys = {key: at for at, key in enumerate(sorted({step["step_key"] for rows in members.values() for step in rows}))}
    own = np.full((len(members), len(keys)), np.nan)
    for at, rows in enumerate(members.values()):
        for step in rows:
            own[at, keys[step["step_key"]]] = step["own_ns"]
    return own


def _evidence_of_time(excess: float, z: float, z_beyond: float) -> list[str]:
    found = []
    if exp(-excess) < SCORE_BELOW:
        found.append("score")
    if excess >= log(1 + EXCESS_AT_LEAST) and z > z_beyond:
        found.append("outlier")
    return found


def _comes_last(row: dict[str, Any], rank_count: int) -> bool:
    return bool(row["last_ratio"] > LAST_RATIO and row["chance_ratio"] * rank_count < CHANCE_BELOW)


def _arrival_figures(votes: Votes | None, steps: int) -> dict[str, Any]:
    if votes is None:
        return {"calls": 0, "last_calls": 0, "caused_wait_ns": 0}
    return {
        "calls": votes.calls,
        "last_calls": votes.last_calls,
        "last_ratio": votes.last_calls / votes.calls,
        "chance_ratio": votes.chance_ratio,
        "caused_wait_ns": round(votes.others_waited_ns / steps),
    }


def _middle(rows: list[dict[str, Any]], name: str) -> int:
    found: float = median(row[name] for row in rows)
    return round(found)


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


ANALYSIS = Analysis(
    code="A17",
    name="stragglers",
    title="Ranks that others wait for",
    per_profile=stragglers,
    combine=combined_stragglers,
    needs=(Need("kernel"),),
)
