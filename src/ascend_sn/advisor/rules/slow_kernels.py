"""R-OP-8 slow kernels among equals: the same work takes much longer now and then."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.finding import Evidence, Location
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Outcome, Rule
from ascend_sn.advisor.too_few import too_few_calls

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Slow(msgspec.Struct):
    """The slow kernels of one type on one rank (A10)."""

    profile_id: int
    op_type: str
    slow: int
    slow_steps: int
    excess_ns: int
    worst_ns: int
    worst_median_ns: int
    worst_ts_ns: int
    worst_step: int | None
    cohort: int


class _Most(msgspec.Struct):
    """Calls of the kernel that ran oftenest with the same shapes."""

    calls: int | None


class _SlowStep(msgspec.Struct):
    """A step with slow kernels of one type: what they lose in it, and how long it is."""

    excess_ns: int
    window_ns: int


def check(context: Context) -> Iterator[Outcome]:
    """Yield a claim per operator type, on the rank that loses most, the largest loss first."""
    steps = {step.profile_id: step for step in context.device_steps}
    seen: set[str] = set()
    for row in context.facts.query("slow_instances", _BY_TYPE, _Slow):
        step = steps.get(row.profile_id)
        if step is None or row.op_type in seen:
            continue
        per_step = row.excess_ns // step.step_count
        if per_step < context.limits["excess_from_ratio"] * step.window_ns:
            continue
        seen.add(row.op_type)
        yield _claim(context, step, row, per_step)
    if steps and not seen:
        least = round(context.limits["cohort_from_count"])
        for most in context.facts.query("kernel_shapes", "select max(calls)::bigint as calls from result", _Most):
            if most.calls is not None and most.calls < least:
                yield too_few_calls("slow_instances", most.calls, least)


def _claim(context: Context, step: MedianStep, row: _Slow, per_step: int) -> Claim:
    reason = None
    if row.cohort < context.limits["cohort_from_count"]:
        reason = Message("suppressed.few-equals", {"count": row.cohort})
    found = place(step, [row.op_type])
    direct = None if step.step_count == 1 else _direct(context, step, row.op_type)
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "op_type": row.op_type,
            "slow_count": row.slow,
            "call_count": sum(
                kernels["calls"]
                for kernels in context.facts.rows_of("kernel_statistics", row.profile_id)
                if kernels["op_type"] == row.op_type
            ),
            "excess_ns": per_step,
            "excess_ratio": per_step / step.window_ns,
            "worst_ns": row.worst_ns,
            "median_ns": row.worst_median_ns,
        },
        location=Location(
            profile_ids=found.profile_ids,
            ranks=found.ranks,
            steps=() if row.worst_step is None else (row.worst_step,),
            names=found.names,
        ),
        evidence=(
            *figures(step, "slow_instances", {"slow_kernels": row.slow, "excess_ns": row.excess_ns}),
            Evidence(
                name="dur_ns",
                value=row.worst_ns,
                source="slow_instances",
                ranks=found.ranks,
                steps=() if row.worst_step is None else (row.worst_step,),
                start_ns=row.worst_ts_ns,
                end_ns=row.worst_ts_ns + row.worst_ns,
            ),
        ),
        changes=(partial(_as_their_equals, op_type=row.op_type, profile_id=row.profile_id),),
        direct=direct,
        at_stake_ns=per_step,
        texts={"title": "rule.r-op-8.title-operator"},
        suppressed_by=reason,
        # What was seen in one step only may not come again.
        confidence="high" if row.slow_steps > 1 else "low",
    )


def _direct(context: Context, step: MedianStep, op_type: str) -> DirectGain:
    """Return what the steps with slow kernels are longer than the median by, no more than the kernels lose.

    The step that is replayed is the median one, in which they are seldom.
    """
    rows = context.facts.query("slow_instances", _STEPS, _SlowStep, profile_id=step.profile_id, op_type=op_type)
    lost = sum(max(min(row.excess_ns, row.window_ns - step.window_ns), 0) for row in rows) // step.step_count
    return DirectGain(0, lost, sum(row.excess_ns for row in rows) // step.step_count)


def _as_their_equals(graph: StepGraph, *, op_type: str, profile_id: int) -> Transform | Unpriced:
    from ascend_sn.replay import Where, operators_to_cohort

    return operators_to_cohort(graph, Where(part="device", op_types=(op_type,), profile_ids=(profile_id,)))


_BY_TYPE: Final = """
    select profile_id, op_type, count(*) as slow, count(distinct step_id) as slow_steps,
           sum(excess_ns)::bigint as excess_ns,
           max(dur_ns) as worst_ns, arg_max(median_ns, dur_ns) as worst_median_ns,
           arg_max(ts_ns, dur_ns) as worst_ts_ns, arg_max(step, dur_ns) as worst_step, max(cohort_count) as cohort
    from result
    where step_id is not null
          or profile_id not in (select profile_id from result where step_id is not null)
    group by profile_id, op_type
    order by sum(excess_ns) desc, op_type, profile_id
"""

_STEPS: Final = """
    select sum(excess_ns)::bigint as excess_ns, any_value(step.dur_ns) as window_ns
    from result
    join step using (profile_id, step_id)
    where profile_id = $profile_id and op_type = $op_type and origin <> 'inferred'
    group by step_id
    order by step_id
"""

RULE = Rule("R-OP-8", "slow-kernels", "compute", "code", check, needs=("slow_instances",))
