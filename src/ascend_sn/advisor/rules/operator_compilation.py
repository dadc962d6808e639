"""R-HOST-4 operator compilation: operators are compiled while the training runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.median_step import MedianStep, is_marked, is_of, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Rule, Slices

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


class _Call(msgspec.Struct):
    profile_id: int
    thread: Any
    ts_ns: int
    dur_ns: int


class _Step(msgspec.Struct):
    """A marked step."""

    profile_id: int
    step_id: int
    step: int | None
    ts_ns: int
    window_ns: int

    @property
    def number(self) -> int:
        """Its number, else its place."""
        return self.step_id if self.step is None else self.step


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
        slices=Slices("host_call", _COMPILES),
        tells_hidden=True,
    )


def _compiled(context: Context) -> list[_Compiled]:
    from ascend_sn.analysis.host.host_calls import classify_calls

    facts, warm_up = context.facts, context.limits["warm_up_step_count"]
    calls: dict[int, list[_Call]] = {}
    for call in facts.table_rows(_CALLS.format(calls=classify_calls(facts.run.db)), _Call):
        calls.setdefault(call.profile_id, []).append(call)
    steps: dict[int, list[_Step]] = {}
    for step in facts.rows("step_breakdown", _Step, is_marked):
        steps.setdefault(step.profile_id, []).append(step)
    return [_summed(own, steps.get(profile_id, []), warm_up) for profile_id, own in calls.items()]


def _summed(calls: list[_Call], steps: list[_Step], warm_up: float) -> _Compiled:
    """Sum the calls within steps, if any are marked; what one thread does at the same time counts once."""
    steps = sorted(steps, key=lambda step: step.ts_ns)
    starts = [step.ts_ns for step in steps]
    warm = sum(step.number >= warm_up for step in steps) if steps else 1
    found = _Compiled(calls[0].profile_id, calls=0, total_ns=0, warm_up_ns=0, steps=warm)
    busy_until: dict[object, int] = {}
    for call in calls:
        before_ns, end_ns = busy_until.get(call.thread, call.ts_ns), call.ts_ns + call.dur_ns
        busy_until[call.thread] = max(before_ns, end_ns)
        own_ns = max(end_ns - max(call.ts_ns, before_ns), 0)
        at = bisect_right(starts, call.ts_ns) - 1
        if steps and (at < 0 or call.ts_ns >= steps[at].ts_ns + steps[at].window_ns):
            continue
        if steps and steps[at].number < warm_up:
            found.warm_up_ns += own_ns
        else:
            found.calls += own_ns > 0
            found.total_ns += own_ns
    return found


def _free_ns(context: Context, step: MedianStep) -> int:
    """Free time of the device in the median step that is laid to compiling (A04)."""
    rows = context.facts.rows("free_time_causes", _Freed, lambda row: row["cause"] == "compile" and is_of(row, step))
    return rows[0].cause_ns if rows else 0


def _not_compiled(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import Scale, TimeClass, Transform, Where

    return Transform.exactly("remove", Scale(Where(part="host", classes=(TimeClass.COMPILE,)), 0.0))


_CALLS: Final = """
    select profile_id, thread, ts_ns, dur_ns
    from {calls}
    where class = 'compile'
    order by profile_id, ts_ns, dur_ns desc
"""
_COMPILES: Final = (
    "(profile_id, host_call_id) in (select profile_id, host_call_id from {calls} where class = 'compile')"
)

RULE = Rule("R-HOST-4", "operator-compilation", "host", "config", check, needs=("host_pauses", "free_time_causes"))
