"""The joint plan: which change first, and what the next one still gains.

Gains do not add: each step of the plan is priced on the graph as the ones before leave it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, Literal

import msgspec

from ascend_sn.replay.graph import StepGraph
from ascend_sn.replay.prices import Bound, Confidence, Gain, Transform, least, replayed_ns

__all__ = ["Candidate", "Effort", "Plan", "PlanStep", "joint_plan"]

Effort = Literal["config", "code", "model"]

_CLASS_OF_EFFORT: Final[dict[Effort, int]] = {"config": 1, "code": 2, "model": 3}

STOP_RATIO: Final = 0.01
"""The plan ends when nothing gains this share of the step any more."""


class Candidate(msgspec.Struct, frozen=True, eq=False):
    """A change that may become part of the plan."""

    name: str
    transform: Transform
    effort: Effort


class PlanStep(msgspec.Struct, frozen=True):
    """One change of the plan: what it gains after those before it, and how long the step then is, ns."""

    name: str
    effort: Effort
    gain: Gain
    step_ns: int


class Plan(msgspec.Struct, frozen=True):
    """Changes in the order in which they are worth making.

    Attributes:
        steps: The changes; `step_ns` falls from one to the next.
        base_ns: Length of the step today.
        left_out: Names of candidates that were not taken, and why: `gain` (it gains less than 1 % after the others)
            or `conflict` with a change that was.
    """

    steps: tuple[PlanStep, ...]
    base_ns: int
    left_out: tuple[tuple[str, Literal["gain", "conflict"]], ...]


class _State(msgspec.Struct, frozen=True):
    """One bound of the plan so far: its edits, its step time, and what steps that keep the old way add to it."""

    bounds: tuple[Bound, ...]
    step_ns: float
    kept_ns: float
    guesses: bool

    def after(self, graph: StepGraph, bound: Bound) -> _State:
        bounds = (*self.bounds, bound)
        full = replayed_ns(graph, *bounds, guesses=self.guesses) + self.kept_ns
        kept = (self.step_ns - full) * (1 - bound.share_ratio)
        return _State(bounds, full + kept, self.kept_ns + kept, self.guesses)


def joint_plan(
    graph: StepGraph,
    base_ns: int,
    candidates: Sequence[Candidate],
    confidence: Confidence,
    conflicts: Collection[tuple[str, str]] = (),
) -> Plan:
    """Take again and again the change with the best expected gain per class of effort (config 1, code 2, model 3).

    Args:
        graph: The replayed step.
        base_ns: Its length.
        candidates: What could be changed.
        confidence: That of gains on this graph.
        conflicts: Pairs of names of which only one can be part of the plan.
    """
    states = [_State((), float(base_ns), 0.0, guesses) for guesses in (False, True, True)]
    open_ = list(candidates)
    steps: list[PlanStep] = []
    left_out: list[tuple[str, Literal["gain", "conflict"]]] = []
    while open_:
        gains = [
            states[1].step_ns - states[1].after(graph, candidate.transform.expected).step_ns for candidate in open_
        ]
        worth = [
            (gain / _CLASS_OF_EFFORT[candidate.effort], -at)
            for at, (gain, candidate) in enumerate(zip(gains, open_, strict=True))
            if gain >= STOP_RATIO * base_ns
        ]
        if not worth:
            break
        best = open_.pop(-max(worth)[1])
        bounds = (best.transform.low, best.transform.expected, best.transform.high)
        after = [state.after(graph, bound) for state, bound in zip(states, bounds, strict=True)]
        low, expected, high = (
            round(before.step_ns - behind.step_ns) for before, behind in zip(states, after, strict=True)
        )
        states = after
        gain = Gain(
            low_ns=min(low, expected),
            expected_ns=expected,
            high_ns=max(high, expected),
            base_ns=base_ns,
            confidence=least(confidence, best.transform.confidence),
            remarks=best.transform.remarks,
        )
        steps.append(PlanStep(best.name, best.effort, gain, round(states[1].step_ns)))
        clashing = [one for one in open_ if (one.name, best.name) in conflicts or (best.name, one.name) in conflicts]
        left_out += [(one.name, "conflict") for one in clashing]
        open_ = [one for one in open_ if one not in clashing]
    left_out += [(one.name, "gain") for one in open_]
    return Plan(tuple(steps), base_ns, tuple(left_out))
