"""R-HOST-5 dispatch bound: operators cost the host more than they give the device to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.late_hosts import late_host_explains, late_hosts
from ascend_sn.advisor.median_step import MedianStep, where
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, Lacking, Outcome, Rule
from ascend_sn.advisor.rules.host_bound import starved_step

if TYPE_CHECKING:
    from ascend_sn.replay import StepGraph, Transform, Unpriced

__all__ = ["RULE"]


class _Sums(msgspec.Struct):
    """Time of all operators of a profile that launched kernels (A09); the device time is null without links."""

    profile_id: int
    host_ns: int
    device_ns: int | None


class _Operator(msgspec.Struct):
    name: str
    calls: int
    host_ns: int
    device_ns: int


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim, about the rank whose operators cost its host most; one whose host alone is late comes last."""
    limits = context.limits
    steps = {step.profile_id: step for step in context.device_steps}
    sums = [row for row in context.facts.query("operator_statistics", _SUMS, _Sums) if row.profile_id in steps]
    known = [row for row in sums if row.device_ns is not None]
    if sums and not known:
        yield Lacking("operator_statistics", reason="no kernel is linked to its operator")
        return
    bound = [
        row
        for row in known
        if row.host_ns > limits["host_above_ratio"] * (row.device_ns or 0)
        and row.host_ns
        >= limits["host_from_ratio"] * steps[row.profile_id].window_ns * steps[row.profile_id].step_count
    ]
    if bound:
        late = late_hosts(context.facts)
        most = max(bound, key=lambda row: (row.profile_id not in late, row.host_ns / steps[row.profile_id].step_count))
        yield _claim(context, steps[most.profile_id], most)


def _claim(context: Context, step: MedianStep, sums: _Sums) -> Claim:
    top = context.facts.query(
        "operator_statistics", _TOP, _Operator, profile_id=step.profile_id, ratio=context.limits["host_above_ratio"]
    )
    limits = context.limits
    found = starved_step(
        context, limits["starved_above_ratio"], limits["free_above_ratio"], limits["launches_known_from_ratio"]
    )
    names = [operator.name for operator in top]
    return Claim(
        params={
            "where": where(step, len(context.steps)),
            "host_ns": sums.host_ns // step.step_count,
            "device_ns": (sums.device_ns or 0) // step.step_count,
            "names": ", ".join(names),
        },
        location=place(step, names),
        evidence=(
            *figures(step, "operator_statistics", {"host_ns": sums.host_ns, "device_ns": sums.device_ns}),
            *(
                evidence
                for operator in top
                for evidence in figures(
                    step, "operator_statistics", {"operator": operator.name, "operator_host_ns": operator.host_ns}
                )
            ),
        ),
        changes=(_dispatched_as_graph,),
        at_stake_ns=sums.host_ns // step.step_count,
        suppressed_by=late_host_explains(context.facts, step.profile_id)
        or (Message("suppressed.told-by", {"rule": "R-HOST-1"}) if found is not None else None),
    )


def _dispatched_as_graph(graph: StepGraph) -> Transform | Unpriced:
    from ascend_sn.replay import launches_removed

    return launches_removed(graph)


_SUMS: Final = """
    select profile_id, coalesce(sum(host_ns) filter (where kernel_count > 0 or kernel_count is null), 0)::bigint
               as host_ns,
           sum(device_ns)::bigint as device_ns
    from result
    group by profile_id
    order by profile_id
"""
_TOP: Final = """
    select name, calls, host_ns, device_ns
    from result
    where profile_id = $profile_id and kernel_count > 0 and host_ns > $ratio * device_ns
    order by host_ns desc, name
    limit 3
"""

RULE = Rule("R-HOST-5", "dispatch-bound", "host", "code", check, needs=("operator_statistics",))
