"""R-DATA-3 slow production: making a batch takes so long that no number of workers keeps up."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule
from ascend_sn.advisor.surroundings import Surroundings, surroundings

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Input(msgspec.Struct, kw_only=True):
    """A row of `input_pipeline`: means per step."""

    profile_id: int
    rank: int | None
    data_ns: int
    compute_ns: int
    window_ns: int
    data_share_ratio: float

    def production_ns(self, workers: int) -> int:
        """Time to make one batch: without workers what the step waits; w workers that are waited for take w steps."""
        return workers * self.window_ns if workers else self.data_ns


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank whose production is furthest behind."""
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
    if known.has_workers and worst.data_share_ratio < limits["with_workers_from_ratio"]:
        return
    if known.workers is None or known.cores is None:
        # Without workers more of them are the first thing to try: R-DATA-1 says so.
        if known.has_workers:
            yield _unknown(worst)
        return
    most = max(known.workers, known.cores - 1, 1)
    production_ns = worst.production_ns(known.workers)
    if production_ns / most > worst.compute_ns:
        yield _too_slow(worst, known, most, limits["offline_ratio"])


def _too_slow(row: _Input, known: Surroundings, most: int, offline_ratio: float) -> Claim:
    production_ns = row.production_ns(known.workers or 0)
    return Claim(
        params={
            "rank": "?" if row.rank is None else row.rank,
            "production_ns": production_ns,
            "most": most,
            "each_ns": round(production_ns / most),
            "compute_ns": row.compute_ns,
            "data_ns": row.data_ns,
        },
        location=place(row),
        evidence=figures(row, "input_pipeline", {"data_ns": row.data_ns, "compute_ns": row.compute_ns})
        + figures(row, "metric", {"workers_count": known.workers, "cores_count": known.cores}),
        changes=(
            partial(
                _cheaper,
                workers=known.workers or 0,
                cores=known.cores,
                produce_ns=round(production_ns * offline_ratio),
                to_workers=most,
            ),
        ),
        at_stake_ns=row.data_ns,
        # A loader without workers gets some first: what is left then is measured, and not guessed.
        suppressed_by=None if known.has_workers else Message("suppressed.workers-first", {"rule": "R-DATA-1"}),
        texts={"advice": "rule.r-data-3.advice-workers"},
        confidence="medium",
    )


def _unknown(row: _Input) -> Claim:
    return Claim(
        params={
            "rank": "?" if row.rank is None else row.rank,
            "data_ns": row.data_ns,
            "share_ratio": row.data_share_ratio,
        },
        location=place(row),
        evidence=figures(row, "input_pipeline", {"data_ns": row.data_ns, "data_share_ratio": row.data_share_ratio}),
        unpriced=Message("unpriced.production-unknown"),
        at_stake_ns=row.data_ns,
        texts={
            "title": "rule.r-data-3.title-unknown",
            "message": "rule.r-data-3.message-unknown",
            "verify": "rule.r-data-3.verify-unknown",
        },
        in_plan=False,
    )


def _cheaper(
    graph: StepGraph, *, workers: int, cores: int | None, produce_ns: int, to_workers: int
) -> Transform | Unpriced:
    from ascend_sn.replay import input_hidden

    return input_hidden(graph, workers=workers, cores=cores, produce_ns=produce_ns, to_workers=to_workers)


RULE = Rule("R-DATA-3", "slow-production", "data", "code", check, needs=("input_pipeline",))
