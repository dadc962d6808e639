"""R-IMB-2 uneven ranks: ranks wait for each other, now for one and now for another, or always for the same many."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.heavier_work import compared_work, work_shared
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rank_names import ranks_named
from ascend_sn.advisor.rule import Claim, Context, Outcome, Rule, Slices, TextPart
from ascend_sn.advisor.rules.straggler import Straggler, uneven_load
from ascend_sn.advisor.too_few import missing_ranks
from ascend_sn.model.kinds import COMPUTE_KINDS, UNMATCHED

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]

_KERNELS: Final = 3
"""Operator types that are named."""


class _Wait(msgspec.Struct, kw_only=True):
    """What one rank waited in the collectives of one step (A14)."""

    profile_id: int
    rank: int | None
    step: int | None
    wait_ns: int
    absent: bool


class _Culprit(msgspec.Struct):
    rank: int | None


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim about the ranks that have more to do than the others; else one about all ranks together."""
    limits = context.limits
    windows = {step.profile_id: step.window_ns for step in context.steps}
    if len(windows) < limits["ranks_from_count"]:
        if (lacking := missing_ranks(context, "collective_parts")) is not None:
            yield lacking
        return
    heavier, _ = uneven_load(context)
    if heavier:
        yield _heavier(context, heavier, windows)
        return
    waits = [row for row in context.facts.query("collective_parts", _WAITS, _Wait) if row.profile_id in windows]
    if len({row.profile_id for row in waits}) < limits["ranks_from_count"]:
        return
    mean_ns = fmean(row.wait_ns for row in waits)
    spread = pstdev([row.wait_ns for row in waits]) / mean_ns if mean_ns else 0.0
    window_ns = fmean(windows.values())
    long = mean_ns > limits["wait_from_ns"] or mean_ns > limits["wait_from_ratio"] * window_ns
    if not long or spread < limits["spread_from_ratio"]:
        return
    culprits = context.facts.rows(
        "stragglers", _Culprit, lambda row: row["is_straggler"] and row["profile_id"] in windows
    )
    yield Claim(
        params={
            "wait_ns": mean_ns,
            "wait_ratio": mean_ns / window_ns,
            "spread_ratio": spread,
            "rank_count": len(windows),
        },
        location=Location(
            profile_ids=tuple(windows), ranks=tuple(sorted({row.rank for row in waits if row.rank is not None}))
        ),
        evidence=(
            Evidence(name="mean_wait_ns", value=mean_ns, source="collective_parts"),
            Evidence(name="wait_variation_ratio", value=spread, source="collective_parts"),
        ),
        changes=(work_shared(context.facts), _all_normal),
        at_stake_ns=round(mean_ns),
        suppressed_by=_reason(culprits, waits),
    )


def _heavier(context: Context, heavier: list[Straggler], windows: dict[int, int]) -> Claim:
    """Say who has more to do, as their kernels tell, or takes longer, where nothing tells why."""
    first = heavier[0]
    ranks = sorted(row.rank for row in heavier if row.rank is not None)
    compared = compared_work(context.facts)
    more_work = bool(first.has_more_work(context.facts))
    kernels = compared[first.profile_id].op_types if more_work else ()
    return Claim(
        params={
            "ranks": ranks_named(ranks),
            "count": len(heavier),
            "rank_count": len(windows),
            "excess_ns": first.excess_ns,
            "lost_ns": first.lost_ns,
            "lost_ratio": first.lost_ns / (windows[first.profile_id] or 1),
            "kernels": ", ".join(kernels[:_KERNELS]),
        },
        location=Location(profile_ids=tuple(row.profile_id for row in heavier), ranks=tuple(ranks)),
        evidence=(
            Evidence(name="compute_excess_ns", value=first.excess_ns, source="stragglers"),
            Evidence(name="caused_wait_ns", value=first.caused_wait_ns, source="stragglers"),
            Evidence(name="ranks", value=len(heavier), source="stragglers"),
        ),
        changes=(work_shared(context.facts) if more_work else _all_normal,),
        at_stake_ns=first.lost_ns,
        slices=Slices("kernel", f"kind in {COMPUTE_KINDS}"),
        texts=_MORE_WORK if more_work else _LONGER,
    )


def _reason(culprits: list[_Culprit], waits: list[_Wait]) -> Message | None:
    if culprits:
        rank = culprits[0].rank
        return Message("suppressed.straggler-explains", {"rank": "?" if rank is None else rank})
    return Message("suppressed.members-absent") if any(row.absent for row in waits) else None


def _all_normal(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import straggler_normalised

    return straggler_normalised(graph)


_WAITS: Final = f"""
    select profile_id, any_value(rank) as rank, step, sum(coalesce(sync_ns, wait_ns))::bigint as wait_ns,
           coalesce(bool_or(members_present < members_expected), false) as absent
    from result
    where coalesce(sync_ns, wait_ns) is not null and op not in {UNMATCHED}
    group by profile_id, step
    order by profile_id, step
"""

_MORE_WORK: Final[dict[TextPart, str]] = {
    "title": "rule.r-imb-2.title-more-work",
    "message": "rule.r-imb-2.message-more-work",
}
_LONGER: Final[dict[TextPart, str]] = {
    "title": "rule.r-imb-2.title-longer",
    "message": "rule.r-imb-2.message-longer",
}

RULE = Rule("R-IMB-2", "uneven-ranks", "communication", "model", check, needs=("collective_parts", "stragglers"))
