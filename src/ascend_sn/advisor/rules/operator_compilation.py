"""R-HOST-4 operator compilation: operators are compiled while the training runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, is_of, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Compiled(msgspec.Struct):
    """Compilations of a profile: in the steps that count, and in its first ones."""

    profile_id: int
    calls: int
    total_ns: int
    warm_up_ns: int
    steps: int


class _Pause(msgspec.Struct):
    """Compilations of one operator (A32)."""

    calls: int


class _Freed(msgspec.Struct):
    cause_ns: int


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the rank that compiles longest in its steps after the warm-up."""
    limits = context.limits
    steps = {step.profile_id: step for step in context.device_steps}
    if not context.facts.rows("host_pauses", _Pause, lambda row: row["kind"] == "compile"):
        return
    compiled = [row for row in _compiled(context) if row.profile_id in steps]
    if not compiled:
        return
    row = max(compiled, key=lambda row: (row.total_ns / max(row.steps, 1), row.warm_up_ns))
    step = steps[row.profile_id]
    only_warm_up = row.calls == 0
    per_step = row.warm_up_ns if only_warm_up else row.total_ns // max(row.steps, 1)
    if per_step < limits["compiled_from_ratio"] * step.window_ns:
        return
    free_ns = _free_ns(context, step)
    yield Claim(
        params={
            "where": where(step, len(context.steps)),
            "compile_ns": per_step,
            "compile_ratio": per_step / step.window_ns,
            "compile_count": round(row.calls / max(row.steps, 1), 1),
            "free_ns": free_ns,
        },
        location=place(step),
        evidence=(
            *figures(step, "host_call", {"compile_calls": row.calls, "compile_ns": row.total_ns}),
            *figures(step, "free_time_causes", {"compile_free_ns": free_ns}),
        ),
        changes=(_not_compiled,),
        # While the device works, compiling costs nothing yet.
        at_stake_ns=free_ns or per_step,
        suppressed_by=Message("suppressed.only-warm-up") if only_warm_up else None,
        tells_hidden=True,
    )


def _compiled(context: Context) -> list[_Compiled]:
    from ascend_sn.analysis.host_calls import classify_calls

    calls = classify_calls(context.facts.run.db)
    return context.facts.table_rows(
        _COMPILED.format(calls=calls), _Compiled, warm_up=context.limits["warm_up_step_count"]
    )


def _free_ns(context: Context, step: MedianStep) -> int:
    """Free time of the device in the median step that is laid to compiling (A04)."""
    rows = context.facts.rows("free_time_causes", _Freed, lambda row: row["cause"] == "compile" and is_of(row, step))
    return rows[0].cause_ns if rows else 0


def _not_compiled(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import Scale, TimeClass, Transform, Where

    return Transform.exactly("remove", Scale(Where(part="host", classes=(TimeClass.COMPILE,)), 0.0))


_COMPILED: Final = """
    with placed as (
        select call.profile_id, call.thread, call.ts_ns, call.ts_ns + call.dur_ns as end_ns, step.step_id,
               step.step, row_number() over (partition by call.profile_id, call.thread, step.step_id
                                             order by call.ts_ns, call.dur_ns desc) as place,
               max(call.ts_ns + call.dur_ns) over (partition by call.profile_id, call.thread order by call.ts_ns,
                   call.dur_ns desc rows between unbounded preceding and 1 preceding) as before_ns
        from {calls} call
        left join (select profile_id, step_id, step, ts_ns, dur_ns from step where origin <> 'inferred') step
            on step.profile_id = call.profile_id and call.ts_ns >= step.ts_ns and call.ts_ns < step.ts_ns + step.dur_ns
        where class = 'compile'
    ),
    marked as (
        select profile_id, count(*) as steps,
               count(*) filter (where coalesce(step, step_id) >= $warm_up) as warm_steps
        from step
        where origin <> 'inferred'
        group by profile_id
    ),
    counted as (
        select placed.profile_id, greatest(end_ns - greatest(ts_ns, coalesce(before_ns, ts_ns)), 0) as own_ns,
               marked.steps is null or coalesce(step, step_id) >= $warm_up as counts,
               marked.steps is null or step_id is not null as in_step,
               coalesce(marked.warm_steps, 1) as steps
        from placed
        left join marked using (profile_id)
    )
    select profile_id,
           count(*) filter (where counts and in_step and own_ns > 0)               as calls,
           coalesce(sum(own_ns) filter (where counts and in_step), 0)::bigint      as total_ns,
           coalesce(sum(own_ns) filter (where not counts and in_step), 0)::bigint  as warm_up_ns,
           any_value(steps)::bigint                                                as steps
    from counted
    group by profile_id
    order by profile_id
"""

RULE = Rule("R-HOST-4", "operator-compilation", "host", "config", check, needs=("host_pauses", "free_time_causes"))
