"""Two groups of runs to one comparison: what stands against it, every metric judged, the difference divided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec

from ascend_sn.compare.attribution import Attribution, attribution
from ascend_sn.compare.collectives import CollectiveChange, collective_changes
from ascend_sn.compare.comparability import Comparability, comparability
from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.judge import Judgement, Verdict, judge
from ascend_sn.compare.metrics import DEFAULT_LIMITS, METRICS
from ascend_sn.compare.operators import OperatorChange, operator_changes
from ascend_sn.model.message import Message

__all__ = ["MAIN", "Comparison", "Outcome", "Scaling", "compared", "representative"]

Outcome = Literal["cannot compare", "scaling", "regression", "possible", "inconclusive", "no change", "improved"]

MAIN: Final = "step_time"
"""The metric that the verdict is about where no other one is a regression."""


_SAME_WORK_RATIO: Final = 0.5
"""Operator time with a counterpart, of all: below it the sides did not do the same work."""


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """What more (or fewer) ranks brought.

    Whether the job grew with its ranks is not in the capture, so both readings are given.

    Attributes:
        base_size: Ranks of the baseline.
        candidate_size: Ranks of the candidate.
        step_ratio: Step of the baseline over that of the candidate.
        weak_speed_up: Where each rank does the same work as before: work per time against the baseline.
        weak_efficiency: The same per rank; 1 is ideal.
        strong_speed_up: Where all ranks together do the same work as before.
        strong_efficiency: The same per rank.
    """

    base_size: int
    candidate_size: int
    step_ratio: float
    weak_speed_up: float
    weak_efficiency: float
    strong_speed_up: float
    strong_efficiency: float


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison found; nothing in it has a language yet.

    Attributes:
        verdict: That of the step time, unless another metric with a limit is a regression. `cannot
            compare` where there are obstacles, `scaling` where the sides are of different size.
        decided_by: Metrics that the verdict is about.
        confidence: `low` where any of these is.
        obstacles: Why the runs cannot be compared.
        remarks: What must be said first.
        is_same_setup: Whether device, size and structure of the job are the same.
        judgements: The metrics that both sides have.
        lacking: Metrics that only one side has, and which: `baseline` or `candidate`.
        absent: Metrics that neither has.
        attribution: The difference of the steps, divided; null without kernels.
        operators: Operators with enough runs for a rank test of each, corrected for their number; empty otherwise.
        collectives: By primitive, before and after.
        scaling: Where the sides are of different size and did the same work on the same devices.
    """

    verdict: Outcome
    decided_by: list[str]
    confidence: Literal["normal", "low"]
    obstacles: list[Message]
    remarks: list[Message]
    is_same_setup: bool
    judgements: list[Judgement]
    lacking: dict[str, Literal["baseline", "candidate"]]
    absent: list[str]
    attribution: Attribution | None
    operators: list[OperatorChange]
    collectives: list[CollectiveChange]
    scaling: Scaling | None

    def judgement(self, metric: str) -> Judgement | None:
        """Return the judgement of a metric."""
        return next((one for one in self.judgements if one.metric == metric), None)


def compared(
    base: Sequence[RunFigures], candidate: Sequence[RunFigures], limits: Mapping[str, float] | None = None
) -> Comparison:
    """Compare a candidate with a baseline, each of one or several runs.

    Args:
        base: Runs of the baseline.
        candidate: Runs of the candidate.
        limits: Limit of each metric that is judged; default those of `metrics.DEFAULT_LIMITS`.
    """
    checked = comparability(base, candidate)
    if checked.obstacles:
        return _not_compared(checked.obstacles, checked.remarks)
    judgements, lacking, absent = _judged(base, candidate, DEFAULT_LIMITS if limits is None else limits)
    main = next((one for one in judgements if one.metric == MAIN), None)
    verdict, decided_by = _verdict(judgements)
    deciding = [one for one in judgements if one.metric in decided_by]
    divided = None
    if main is not None:
        divided = attribution(base, candidate, round(main.base), round(main.candidate))
    scaling, remarks = None, list(checked.remarks)
    if checked.is_scaling:
        why = _other_work(checked, divided if all(run.work for run in (*base, *candidate)) else None)
        scaling = _scaling(base, candidate, main) if why is None else None
        remarks += [] if why is None else [why]
    return Comparison(
        verdict="scaling" if checked.is_scaling and main is not None else verdict,
        decided_by=[MAIN] if checked.is_scaling and main is not None else decided_by,
        confidence="low" if any(one.confidence == "low" for one in deciding) else "normal",
        obstacles=[],
        remarks=remarks,
        is_same_setup=checked.is_same_setup,
        judgements=judgements,
        lacking=lacking,
        absent=absent,
        attribution=divided,
        operators=operator_changes(base, candidate, divided) if divided else [],
        collectives=collective_changes(base, candidate),
        scaling=scaling,
    )


def representative(
    comparison: Comparison, runs: Sequence[RunFigures], side: Literal["base", "candidate"] = "candidate"
) -> int | None:
    """Return which of several runs stands for its side: the one whose median step is closest to the compared one."""
    step = comparison.judgement(MAIN)
    if step is None:
        return None
    compared_ns = step.base if side == "base" else step.candidate
    return min(range(len(runs)), key=lambda at: abs(runs[at].median_step_ns - compared_ns))


def _not_compared(obstacles: Sequence[Message], remarks: Sequence[Message]) -> Comparison:
    return Comparison(
        verdict="cannot compare",
        decided_by=[],
        confidence="low",
        obstacles=list(obstacles),
        remarks=list(remarks),
        is_same_setup=False,
        judgements=[],
        lacking={},
        absent=[],
        attribution=None,
        operators=[],
        collectives=[],
        scaling=None,
    )


def _judged(
    base: Sequence[RunFigures], candidate: Sequence[RunFigures], limits: Mapping[str, float]
) -> tuple[list[Judgement], dict[str, Literal["baseline", "candidate"]], list[str]]:
    judgements = []
    lacking: dict[str, Literal["baseline", "candidate"]] = {}
    absent = []
    for metric in METRICS:
        found = judge(metric, base, candidate, limits.get(metric.name))
        if found is not None:
            judgements.append(found)
            continue
        has_base, has_candidate = (metric.samples(side) is not None for side in (base, candidate))
        if has_base or has_candidate:
            lacking[metric.name] = "candidate" if has_base else "baseline"
        else:
            absent.append(metric.name)
    return judgements, lacking, absent


def _verdict(judgements: Sequence[Judgement]) -> tuple[Verdict, list[str]]:
    """Return the verdict and the metrics that it is about."""
    worse = [one.metric for one in judgements if one.verdict == "regression"]
    if worse:
        return "regression", worse
    main = next((one for one in judgements if one.metric == MAIN and one.verdict is not None), None)
    if main is None:
        main = next((one for one in judgements if one.verdict is not None), None)
    if main is None or main.verdict is None:
        return "inconclusive", []
    return main.verdict, [main.metric]


def _other_work(checked: Comparability, divided: Attribution | None) -> Message | None:
    """Say why a speed-up would mean nothing: another device, or another program."""
    if any(remark.message_id == "compare.other-device" for remark in checked.remarks):
        return Message("compare.no-scaling-device")
    if divided is not None and divided.matched_ratio < _SAME_WORK_RATIO:
        return Message("compare.no-scaling-work", {"matched_ratio": divided.matched_ratio})
    return None


def _scaling(base: Sequence[RunFigures], candidate: Sequence[RunFigures], step: Judgement | None) -> Scaling | None:
    if step is None or step.candidate <= 0:
        return None
    was, now = base[0].size, candidate[0].size
    ratio = step.base / step.candidate
    return Scaling(
        base_size=was,
        candidate_size=now,
        step_ratio=ratio,
        weak_speed_up=ratio * now / was,
        weak_efficiency=ratio,
        strong_speed_up=ratio,
        strong_efficiency=ratio * was / now,
    )
