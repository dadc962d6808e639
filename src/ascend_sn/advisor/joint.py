"""The joint plan of the findings that have a price on the replayed step."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Final

import msgspec

from ascend_sn.advisor.finding import Finding, Plan, PlanStep
from ascend_sn.advisor.rule import Shared

if TYPE_CHECKING:
    from ascend_sn.replay import Transform

__all__ = ["CONFLICTS", "Option", "planned"]

CONFLICTS: Final = (
    ("R-COMM-4", "R-COMM-1"),  # bigger buckets are ready later
    ("R-BS-1", "R-MEM-1"),  # a larger batch takes the memory that is short
    ("R-OP-7", "R-COMM-3"),  # gradients in half precision are half as long already
)
"""Pairs of rules of which only one can be part of the plan."""

_LEAST_RATIO: Final = 0.01
"""A change that alone gains less is not tried in the plan."""


class Option(msgspec.Struct, frozen=True):
    """A finding, and what was replayed for it."""

    finding: Finding
    transform: Transform
    expected_ratio: float


def planned(shared: Shared, options: Sequence[Option]) -> Plan | None:
    """Return the plan; None where nothing has a price on the replayed step."""
    if not options:
        return None
    from ascend_sn.replay import Candidate, Unpriced

    replay = shared.replay
    if isinstance(replay, Unpriced):
        return None
    tried = [option for option in options if option.expected_ratio >= _LEAST_RATIO]
    by_id = {option.finding.id: option.finding for option in tried}
    plan = replay.joint(
        [Candidate(option.finding.id, option.transform, option.finding.effort) for option in tried],
        _conflicts([option.finding for option in tried]),
    )
    if isinstance(plan, Unpriced):
        return None
    steps = tuple(
        PlanStep(
            id=step.name,
            code=by_id[step.name].code,
            title=by_id[step.name].title,
            effort=step.effort,
            confidence=min(step.gain.confidence, by_id[step.name].confidence, key=("low", "medium", "high").index),
            low_ns=step.gain.low_ns,
            expected_ns=step.gain.expected_ns,
            high_ns=step.gain.high_ns,
            step_ns=step.step_ns,
        )
        for step in plan.steps
    )
    alone = [option.finding.id for option in options if option.finding.id not in by_id]
    return Plan(
        base_ns=plan.base_ns,
        steps=steps,
        too_small=tuple([name for name, why in plan.left_out if why == "gain"] + alone),
        in_conflict=tuple(name for name, why in plan.left_out if why == "conflict"),
    )


def _conflicts(findings: Sequence[Finding]) -> list[tuple[str, str]]:
    ids: dict[str, list[str]] = {}
    for finding in findings:
        ids.setdefault(finding.code, []).append(finding.id)
    return [pair for one, other in CONFLICTS for pair in product(ids.get(one, []), ids.get(other, []))]
