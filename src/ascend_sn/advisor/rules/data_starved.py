"""R-DATA-1 data starved: the step waits for its input.

Graded like the input analysis: moderate from 5 % of the step, high from 20 %. Where Python calls were recorded, the
function of the program that takes the time is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures
from ascend_sn.advisor.finding import Location
from ascend_sn.advisor.loading_calls import LoadingCall, loading_call
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Rule, TextPart
from ascend_sn.advisor.surroundings import Surroundings, surroundings

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]

_LOGGED: Final = "logged"


class _Input(msgspec.Struct, kw_only=True):
    """A row of `input_pipeline`: means per step."""

    profile_id: int
    rank: int | None
    data_ns: int
    compute_ns: int
    window_ns: int
    data_share_ratio: float
    grade: str
    bottleneck: str
    source: str


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank that waits for the largest share of its step."""
    from ascend_sn.replay.input_transforms import MORE_WORKERS

    limits = context.limits
    waiting = [
        row
        for row in context.facts.rows("input_pipeline", _Input)
        if row.data_share_ratio >= limits["share_from_ratio"]
    ]
    if not waiting:
        return
    worst = max(waiting, key=lambda row: row.data_share_ratio)
    known = surroundings(context.facts)[worst.profile_id]
    exposed_ratio = _exposed_ratio(context, worst)
    logged = worst.source == _LOGGED
    call = loading_call(context.facts, worst.profile_id, limits["call_from_ratio"])
    more = MORE_WORKERS if known.cores is None else max(min(MORE_WORKERS, known.cores), 1)
    yield Claim(
        params={
            "rank": "?" if worst.rank is None else worst.rank,
            "data_ns": worst.data_ns,
            "window_ns": worst.window_ns,
            "share_ratio": worst.data_share_ratio,
            "more": more,
            "exposed_ratio": worst.data_share_ratio if exposed_ratio is None else exposed_ratio,
            "call": "" if call is None else call.name,
            "call_ratio": 0.0 if call is None else _share(call),
        },
        location=Location(
            profile_ids=tuple(row.profile_id for row in waiting),
            ranks=tuple(row.rank for row in waiting if row.rank is not None),
            site="" if call is None else call.name,
        ),
        evidence=figures(
            worst,
            "input_pipeline",
            {
                "data_ns": worst.data_ns,
                "compute_ns": worst.compute_ns,
                "data_share_ratio": worst.data_share_ratio,
                "bottleneck": worst.bottleneck,
            },
        )
        + figures(worst, "step_phases", {"exposed_ratio": exposed_ratio})
        + figures(worst, "span", {"call_ratio": None if call is None else _share(call)})
        + figures(worst, "metric", {"workers_count": known.workers, "cores_count": known.cores}),
        direct=_direct(worst, known) if logged else None,
        changes=() if logged else (partial(_hidden, workers=known.workers, cores=known.cores),),
        at_stake_ns=worst.data_ns,
        suppressed_by=_held_back(context, worst, known, exposed_ratio),
        texts=_texts(known, call),
        grade=worst.grade,
        confidence="low" if logged else "high",
    )


def _texts(known: Surroundings, call: LoadingCall | None) -> dict[TextPart, str]:
    texts: dict[TextPart, str] = {}
    if known.workers == 0:
        texts["advice"] = "rule.r-data-1.advice-no-workers"
    if call is not None:
        texts["message"] = "rule.r-data-1.message-call"
    return texts


def _share(call: LoadingCall) -> float:
    """A function that calls itself counts more than once."""
    return min(call.total_ns / call.loading_ns, 1.0)


def _exposed_ratio(context: Context, row: _Input) -> float | None:
    """Share of the median step in which the host loads data and the device does nothing; None: only logged."""
    if row.source == _LOGGED:
        return None
    phases = next((phases for phases in context.phases if phases.profile_id == row.profile_id), None)
    return None if phases is None or not phases.window_ns else phases.data_ns / phases.window_ns


def _held_back(context: Context, row: _Input, known: Surroundings, exposed_ratio: float | None) -> Message | None:
    from ascend_sn.replay.input_transforms import HAND_OVER_NS

    limits = context.limits
    if exposed_ratio is not None and exposed_ratio < limits["exposed_from_ratio"]:
        return Message("suppressed.data-hidden", {"exposed_ratio": exposed_ratio})
    if known.workers and known.cores is not None and known.workers >= known.cores:
        return Message("suppressed.workers-at-cores", {"workers": known.workers, "cores": known.cores})
    if known.shared_memory_bytes is not None and known.shared_memory_bytes < limits["shm_free_from_bytes"]:
        return Message("suppressed.shm-full", {"free_bytes": known.shared_memory_bytes})
    if row.data_ns <= HAND_OVER_NS:
        return Message("suppressed.hand-over", {"data_ns": row.data_ns, "hand_over_ns": HAND_OVER_NS})
    return None


def _direct(row: _Input, known: Surroundings) -> DirectGain:
    """Price a data time that no slice shows: step -> max(rest + hand-over, production / workers), as W1 does."""
    from ascend_sn.replay.input_transforms import (
        CONTENTION_RATIO,
        HAND_OVER_NS,
        MORE_WORKERS,
        SLOW_HAND_OVER_RATIO,
    )

    workers = known.workers or 0
    produce_ns = workers * row.window_ns if workers else row.data_ns

    def gain(production_ns: float, hand_over_ns: float) -> int:
        return max(round(row.window_ns - max(row.compute_ns + hand_over_ns, production_ns)), 0)

    slow_ns = SLOW_HAND_OVER_RATIO * HAND_OVER_NS
    return DirectGain(
        low_ns=gain((produce_ns * CONTENTION_RATIO + slow_ns) / (workers + 1), slow_ns),
        expected_ns=gain(produce_ns / (workers + MORE_WORKERS), HAND_OVER_NS),
        high_ns=gain(0, 0),
        base_ns=row.window_ns,
    )


def _hidden(graph: StepGraph, *, workers: int | None, cores: int | None) -> Transform | Unpriced:
    from ascend_sn.replay import input_hidden

    return input_hidden(graph, workers=workers, cores=cores)


RULE = Rule("R-DATA-1", "data-starved", "data", "config", check, needs=("input_pipeline",))
