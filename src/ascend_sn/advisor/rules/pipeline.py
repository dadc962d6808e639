"""R-PP-1 pipeline: stages wait for each other, by schedule or because one of them computes longer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Rule, TextPart

__all__ = ["RULE"]


class _Bubble(msgspec.Struct, kw_only=True):
    """What is wanted of a row of `pipeline_bubble`."""

    profile_id: int
    rank: int | None
    stage: int | None
    stage_count: int | None
    window_ns: float
    bubble_ns: float
    bubble_ratio: float
    batched_per_step: float
    micro_batches: float | None
    ideal_ratio: float | None
    excess_ratio: float | None


class _Stage(msgspec.Struct, kw_only=True):
    """The stage that computes longer than the others, and its first operator (A17)."""

    stage: int
    stage_count: int
    is_last: bool
    compute_ns: float
    other_compute_ns: float
    excess_ns: float
    excess_ratio: float | None
    operators: list[str]
    vocabulary: bool


class _Slow(msgspec.Struct):
    """What is wanted of a row of `stragglers`."""

    rank: int | None
    caused_wait_ns: int


class _Pattern(msgspec.Struct):
    pattern: str


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim about a stage that computes longer, and one about the bubble of the worst rank."""
    uneven: list[Claim] = []
    if len(context.profiles) > 1 and context.facts.missing("stage_imbalance") is None:
        for stage in context.facts.query("stage_imbalance", _UNEVEN, _Stage)[:1]:
            uneven.extend(_uneven(context, stage))
    yield from uneven
    rows = context.facts.rows("pipeline_bubble", _Bubble, lambda row: row["bubble_ratio"] is not None)
    worst = max(rows, key=lambda row: row.bubble_ratio, default=None)
    if worst is not None:
        longer = uneven[0].location.stage if uneven else None
        yield from _bubble(context, worst, _not_by_schedule(context, rows, longer))


def _not_by_schedule(context: Context, rows: list[_Bubble], longer: int | None) -> Message | None:
    """Say what else than the schedule makes stages wait; None where the schedule does, or nothing is known to.

    What the schedule needs, every stage waits. Where the one that waits least waits no longer than that, the others
    wait for somebody: a stage that computes longer, a rank, a link.
    """
    least = min((row.excess_ratio for row in rows if row.excess_ratio is not None), default=None)
    if len(context.profiles) < 2 or least is None or least > context.limits["excess_above_ratio"]:
        return None
    if longer is not None:
        return Message("suppressed.stage-explains", {"stage": longer})
    slow = context.facts.rows("stragglers", _Slow, lambda row: row["is_straggler"])
    if slow:
        rank = max(slow, key=lambda row: row.caused_wait_ns).rank
        return Message("suppressed.straggler-explains", {"rank": "?" if rank is None else rank})
    if context.facts.query("link_matrix", _SLOW_LINK, _Pattern):
        return Message("suppressed.told-by", {"rule": "R-COMM-5"})
    return None


def _bubble(context: Context, row: _Bubble, reason: Message | None) -> Iterator[Claim]:
    limits = context.limits
    unknown = row.excess_ratio is None
    limit = limits["unknown_bubble_above_ratio"] if unknown else limits["excess_above_ratio"]
    if (row.bubble_ratio if row.excess_ratio is None else row.excess_ratio) <= limit:
        return
    params = {
        "rank": "?" if row.rank is None else row.rank,
        "stage": "?" if row.stage is None else row.stage,
        "bubble_ns": row.bubble_ns,
        "bubble_ratio": row.bubble_ratio,
        "ideal_ratio": row.ideal_ratio or 0.0,
        "micro_batch_count": row.micro_batches or 0,
    }
    yield Claim(
        params=params,
        location=msgspec.structs.replace(place(row), stage=row.stage),
        evidence=figures(
            row,
            "pipeline_bubble",
            {
                "bubble_ns": row.bubble_ns,
                "bubble_ratio": row.bubble_ratio,
                "ideal_ratio": row.ideal_ratio,
                "excess_ratio": row.excess_ratio,
                "micro_batches": row.micro_batches,
                "batched_per_step": row.batched_per_step,
            },
        ),
        direct=None if unknown else _twice_as_many(row),
        unpriced=Message("unpriced.micro-batches-unknown") if unknown else None,
        at_stake_ns=round(row.bubble_ns),
        texts=_UNKNOWN if unknown else {},
        confidence="low" if unknown else "medium",
        suppressed_by=reason,
    )


def _twice_as_many(row: _Bubble) -> DirectGain:
    """What the step loses with twice the micro-batches of half the size.

    The ideal bubble of p stages and m micro-batches is (p - 1) / m of the work: half of it goes. What exceeds it has
    other causes, as a slow rank. Low: a quarter of the ideal one, as smaller kernels are slower; high: beside its half,
    what exceeds it.
    """
    excess_ns = max(row.excess_ratio or 0.0, 0.0) * row.window_ns
    ideal_ns = max(row.bubble_ns - excess_ns, 0.0)
    return DirectGain(
        low_ns=round(ideal_ns / 4),
        expected_ns=round(ideal_ns / 2),
        high_ns=round(ideal_ns / 2 + excess_ns),
        base_ns=round(row.window_ns),
    )


def _uneven(context: Context, stage: _Stage) -> Iterator[Claim]:
    limits = context.limits
    if stage.excess_ratio is None or stage.excess_ratio <= limits["stage_above_ratio"]:
        return
    window_ns = max((step.window_ns for step in context.steps), default=0)
    shared = stage.excess_ns * (stage.stage_count - 1) / stage.stage_count
    yield Claim(
        params={
            "stage": stage.stage,
            "stage_count": stage.stage_count,
            "compute_ns": stage.compute_ns,
            "other_ns": stage.other_compute_ns,
            "excess_ratio": stage.excess_ratio,
            "kernels": ", ".join(stage.operators[:3]),
        },
        location=Location(stage=stage.stage, names=tuple(stage.operators[:3])),
        evidence=(
            Evidence(name="compute_ns", value=stage.compute_ns, source="stage_imbalance"),
            Evidence(name="other_compute_ns", value=stage.other_compute_ns, source="stage_imbalance"),
            Evidence(name="excess_ns", value=stage.excess_ns, source="stage_imbalance"),
            *(Evidence(name="op_type", value=name, source="stage_imbalance") for name in stage.operators[:3]),
        ),
        direct=DirectGain(
            low_ns=0, expected_ns=round(shared), high_ns=round(stage.excess_ns), base_ns=window_ns or None
        ),
        at_stake_ns=round(stage.excess_ns),
        texts=_VOCABULARY if stage.vocabulary else _STAGE,
        confidence="medium",
        effort="model",
    )


_UNEVEN: Final = """
    select stage, any_value(stage_count) as stage_count, any_value(is_last) as is_last,
           any_value(compute_ns) as compute_ns, any_value(other_compute_ns) as other_compute_ns,
           any_value(excess_ns) as excess_ns, any_value(excess_ratio) as excess_ratio,
           list(distinct_type order by op_excess_ns desc) as operators, bool_or(vocabulary_sized) as vocabulary
    from (
        select *, op_type as distinct_type
        from result
        qualify row_number() over (partition by stage, op_type order by op_excess_ns desc) = 1
    )
    group by stage
    order by excess_ns desc
"""
_SLOW_LINK: Final = "select pattern from result where pattern is not null limit 1"
_UNKNOWN: Final[dict[TextPart, str]] = {
    "message": "rule.r-pp-1.message-unknown",
    "advice": "rule.r-pp-1.advice-unknown",
    "verify": "rule.r-pp-1.verify-unknown",
}
_STAGE: Final[dict[TextPart, str]] = {
    "title": "rule.r-pp-1.title-stage",
    "message": "rule.r-pp-1.message-stage",
    "advice": "rule.r-pp-1.advice-stage",
    "verify": "rule.r-pp-1.verify-stage",
}
_VOCABULARY: Final[dict[TextPart, str]] = {**_STAGE, "advice": "rule.r-pp-1.advice-vocabulary"}

RULE = Rule("R-PP-1", "pipeline", "communication", "config", check, needs=("pipeline_bubble",))
