"""The gate: whether a candidate may pass, and how often the gate would be wrong on the baseline alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from ascend_sn.compare.comparison import Comparison, compared
from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.judge import MIN_RUNS, MIN_STEPS, judged
from ascend_sn.compare.metrics import BY_NAME, Samples
from ascend_sn.compare.settings import GateSettings
from ascend_sn.compare.statistics import SEED, block_length
from ascend_sn.errors import NotComparableError
from ascend_sn.model.message import Message

__all__ = ["GateResult", "NullMetric", "NullTest", "Reason", "gated", "null_test"]

_SPLITS: Final = 200
_MOST_STEPS: Final = 1_000
"""Steps of a run that take part in the null test; of a longer run the last ones."""


class Reason(msgspec.Struct, frozen=True, kw_only=True):
    """Why a metric does not simply pass."""

    metric: str
    kind: Literal["regression", "possible", "inconclusive", "low confidence", "not in candidate", "not in baseline"]
    fails: bool


class GateResult(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate says.

    Attributes:
        verdict: `passed`, `failed`, `unsure` (passed, with a warning), or `cannot compare`.
        reasons: What is not simply fine, by metric.
        obstacles: Why the runs cannot be compared.
        comparison: The comparison behind it.
    """

    verdict: Literal["passed", "failed", "unsure", "cannot compare"]
    reasons: list[Reason]
    obstacles: list[Message]
    comparison: Comparison


class NullMetric(msgspec.Struct, frozen=True, kw_only=True):
    """False alarms of one metric among the splits."""

    metric: str
    alarms: int
    splits: int
    method: Literal["runs", "steps"]


class NullTest(msgspec.Struct, frozen=True, kw_only=True):
    """How often the gate would have failed the baseline against itself.

    Attributes:
        run_count: Runs of the baseline.
        runs_per_side: Runs in each half of a split; null where steps were split.
        metrics: By metric; one without noise of its own (memory of one run) cannot be split and is left out.
    """

    run_count: int
    runs_per_side: int | None
    metrics: list[NullMetric]


def gated(base: Sequence[RunFigures], candidate: Sequence[RunFigures], settings: GateSettings) -> GateResult:
    """Judge a candidate against a baseline.

    Only the metrics with a limit are looked at. A candidate on another device, of another size or structure cannot be
    compared: a gate that passes there would say nothing.

    Args:
        base: Runs of the baseline.
        candidate: Runs of the candidate.
        settings: Limits, and what fails.
    """
    comparison = compared(base, candidate, settings.limits)
    obstacles = list(comparison.obstacles)
    if not obstacles and not comparison.is_same_setup:
        obstacles = [Message("gate.other-setup")]  # which of them differs, the remarks say
    missing = [name for name in sorted(settings.declared) if name in comparison.absent or name in comparison.lacking]
    obstacles += [Message("gate.not-there", {"metric": name}) for name in missing if not obstacles]
    if obstacles:
        return GateResult(verdict="cannot compare", reasons=[], obstacles=obstacles, comparison=comparison)
    reasons = [*_reasons(comparison, settings), *_lacking(comparison, settings)]
    verdict: Literal["passed", "failed", "unsure"] = (
        "failed" if any(reason.fails for reason in reasons) else "unsure" if reasons else "passed"
    )
    return GateResult(verdict=verdict, reasons=reasons, obstacles=[], comparison=comparison)


def _reasons(comparison: Comparison, settings: GateSettings) -> list[Reason]:
    reasons = []
    for one in comparison.judgements:
        if one.limit is None or one.verdict is None:
            continue
        if settings.require_confidence and one.confidence == "low" and one.method != "none":
            reasons.append(Reason(metric=one.metric, kind="low confidence", fails=True))
        elif one.verdict == "regression":
            reasons.append(Reason(metric=one.metric, kind="regression", fails=True))
        elif one.verdict == "possible":
            reasons.append(Reason(metric=one.metric, kind="possible", fails=settings.strict))
        elif one.verdict == "inconclusive":
            fails = settings.strict or settings.require_confidence
            reasons.append(Reason(metric=one.metric, kind="inconclusive", fails=fails))
    return reasons


def _lacking(comparison: Comparison, settings: GateSettings) -> list[Reason]:
    """Metrics with a limit that only one side has: they were watched, and now nobody sees them."""
    return [
        Reason(
            metric=name,
            kind="not in candidate" if side == "candidate" else "not in baseline",
            fails=settings.strict and side == "candidate",
        )
        for name, side in comparison.lacking.items()
        if name in settings.limits
    ]


def null_test(runs: Sequence[RunFigures], limits: Mapping[str, float]) -> NullTest:
    """Split the baseline at random in two halves, two hundred times, and count how often the gate fails the second.

    Four runs and more are split by runs; of fewer, blocks of neighbouring steps go to one half or the other.

    Raises:
        NotComparableError: There is too little to split.
    """
    by_runs = len(runs) >= 4
    found = []
    for name, limit in limits.items():
        metric = BY_NAME[name]
        samples = metric.samples(runs)
        if samples is None or not (by_runs or samples.steps):
            continue
        generator = np.random.default_rng(SEED)
        if not by_runs and min(map(len, samples.steps)) < 2 * MIN_STEPS:
            continue
        splits = [_by_runs(samples, generator) if by_runs else _by_steps(samples, generator) for _ in range(_SPLITS)]
        alarms = sum(judged(metric, first, second, limit).verdict == "regression" for first, second in splits)
        has_runs = by_runs and len(runs) // 2 >= MIN_RUNS
        found.append(NullMetric(metric=name, alarms=alarms, splits=_SPLITS, method="runs" if has_runs else "steps"))
    if not found:
        raise NotComparableError(
            f"the baseline is too small to be split: four runs, or {2 * MIN_STEPS} steps after the warm-up, are needed"
        )
    return NullTest(run_count=len(runs), runs_per_side=len(runs) // 2 if by_runs else None, metrics=found)


def _by_runs(samples: Samples, generator: np.random.Generator) -> tuple[Samples, Samples]:
    order = generator.permutation(len(samples.runs))
    half = len(order) // 2
    halves = np.sort(order[:half]), np.sort(order[half : 2 * half])
    first, second = (
        Samples(samples.runs[part], tuple(samples.steps[at] for at in part) if samples.steps else ()) for part in halves
    )
    return first, second


def _by_steps(samples: Samples, generator: np.random.Generator) -> tuple[Samples, Samples]:
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for run in samples.steps:
        steps = run[-_MOST_STEPS:]
        length = block_length(steps if steps.ndim == 1 else steps[:, 0])
        blocks = [steps[at : at + length] for at in range(0, len(steps), length)]
        order = generator.permutation(len(blocks))
        for side, part in zip(sides, (order[: len(order) // 2], order[len(order) // 2 :]), strict=True):
            side.append(np.concatenate([blocks[at] for at in sorted(part.tolist())]))
    values = np.zeros(len(samples.steps))
    return Samples(values, tuple(sides[0])), Samples(values + 1, tuple(sides[1]))
