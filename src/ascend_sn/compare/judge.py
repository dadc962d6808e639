"""One metric of two sides to a judgement: how much it changed, how sure that is, and the verdict.

The rule was chosen by simulation (docs/explanation/gate-statistics.md): a regression is a change of at least the limit
whose 95 % interval leaves no doubt about its direction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np
import numpy.typing as npt

from ascend_sn.compare.drift import SURE, dependence, drift_margin, prediction_margin, recorded_in_turn, widening
from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.further_runs import more_to_tell, told_apart
from ascend_sn.compare.metrics import Metric, Samples
from ascend_sn.compare.statistics import (
    SEED,
    block_replicates,
    interval_of,
    mann_whitney_greater,
    robust_variation,
    run_replicates,
    runs_needed,
)

__all__ = ["MIN_RUNS", "MIN_STEPS", "Judgement", "Method", "Verdict", "judge", "judged"]

Reals = npt.NDArray[np.float64]

Method = Literal["runs", "prediction", "steps", "none"]
_Interval = tuple[float | None, float | None]

Verdict = Literal["regression", "possible", "inconclusive", "no change", "improved"]

MIN_RUNS: Final = 5
"""Runs per side from which on runs are the samples: with fewer the rank test cannot reach p < 0.01."""

MIN_STEPS: Final = 5
"""Steady steps per side (epochs, for their time) below which steps say nothing about chance."""

_CLOSE: Final = 1e-9
_LARGE: Final = 50.0


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one metric. Changes are signed as measured; `worse` says which sign is bad.

    Attributes:
        metric: Its name.
        unit: ns, bytes or ratio: of `base` and `candidate`.
        change_kind: `relative` (0.1 is 10 %) or `points` (0.1 is 10 points).
        worse: `up` or `down`.
        base: The baseline's value.
        candidate: The candidate's.
        base_spread: Smallest and largest sample (runs, else steps: tenth and ninetieth percentile); null for one.
        candidate_spread: The same.
        change: Candidate against baseline.
        low: Lower end of the 95 % interval of the change; null where nothing can be said about chance.
        high: Upper end.
        limit: Change from which on it is a regression; null where it is not judged.
        verdict: See `judge`; null where it is not judged.
        confidence: `low` where steps stand for runs.
        method: `runs` are the samples; `prediction`: runs of the baseline say where a further one would lie; `steps`;
            or `none`: one value a side.
        base_count: Samples of the baseline.
        candidate_count: Samples of the candidate.
        p_value: One-sided exact rank test that the candidate is worse; null unless runs are the samples.
        variation_ratio: Coefficient of variation between the samples, the larger of both sides.
        more_runs: How many more runs per side would settle it; null where it is settled.
        drift_ratio: Share of a run that is taken to be that of the run before it: what such a drift could do is no
            regression. Null where runs are not the samples, or both sides were recorded in turn.
    """

    metric: str
    unit: Literal["ns", "bytes", "ratio"]
    change_kind: Literal["relative", "points"]
    worse: Literal["up", "down"]
    base: float
    candidate: float
    base_spread: tuple[float, float] | None
    candidate_spread: tuple[float, float] | None
    change: float
    low: float | None
    high: float | None
    limit: float | None
    verdict: Verdict | None
    confidence: Literal["normal", "low"]
    method: Method
    base_count: int
    candidate_count: int
    p_value: float | None
    variation_ratio: float
    more_runs: int | None
    drift_ratio: float | None = None


def judge(
    metric: Metric, base: Sequence[RunFigures], candidate: Sequence[RunFigures], limit: float | None
) -> Judgement | None:
    """Judge one metric; None where a run of either side does not have it.

    With five runs a side their values are the samples; unless both sides were recorded in turn, a regression has to be
    more than what a machine that drifts could do. With five runs of the baseline and fewer of the candidate, the
    interval is that in which further runs of the baseline lie, and a regression of a time or a share is each run of
    the candidate worse than all of the baseline, by more than a disturbance of single runs accounts for (see
    `further_runs`); else the steady steps of all runs of a side are drawn in blocks. In both cases the confidence is
    low. What has one value a run and varies little by itself (memory) is then judged by the limit alone.

    Verdicts: `regression`: worse by the limit or more, and the interval is on the worse side of no change; `possible`:
    worse by as much, but the interval is not, or there is none, or a drift could have done it; `improved`: better by
    the limit, and the interval is on that side; `no change`: the interval lies within the limit on both sides, or both
    sides are the same data; `inconclusive`: anything else. A limit on a ratio up is met by its inverse downward.

    Args:
        metric: What to judge.
        base: Runs of the baseline.
        candidate: Runs of the candidate.
        limit: Change from which on it is a regression, 0.1 for 10 % or 10 points; None: only say what changed.
    """
    turns = recorded_in_turn([run.start_ns for run in base], [run.start_ns for run in candidate])
    before, after = metric.samples(_by_start(base)), metric.samples(_by_start(candidate))
    return None if before is None or after is None else judged(metric, before, after, limit, in_turn=turns)


def judged(
    metric: Metric, base: Samples, candidate: Samples, limit: float | None, *, in_turn: bool = False
) -> Judgement:
    """Judge one metric from its samples, runs in the order of recording; see `judge`."""
    method = _method(base, candidate)
    by_runs = method == "runs"
    has_values = method in ("runs", "prediction")
    before, after = (_Side(metric, side, has_values, SEED + at) for at, side in enumerate((base, candidate)))
    relative = metric.change == "relative"
    change = _change(before.value, after.value, relative)
    low, high = _interval(metric, base, candidate, before, after, method)
    drift = dependence([base.runs, candidate.runs]) if by_runs and not in_turn else None
    sure = low, high
    if method == "prediction":
        margin = prediction_margin(_scaled(base.runs, relative), len(candidate.runs), SURE)
        sure = _around(float(change), margin, relative)
    elif drift is not None and low is not None and high is not None:
        sure = _widened(float(change), low, high, base, candidate, drift, relative)
    verdict: Verdict | None = None
    if limit is not None:
        verdict = "no change"
        if not _same(base, candidate):
            verdict = _verdict(change, (low, high), sure, limit, metric, method)
            if verdict == "regression" and method == "prediction" and not _is_apart(metric, base, candidate, limit):
                verdict = "possible"
    variation = before.variation if method == "prediction" else max(before.variation, after.variation)
    scale = 1.0 if relative else max(abs(before.value), _CLOSE)
    return Judgement(
        metric=metric.name,
        unit=metric.unit,
        change_kind=metric.change,
        worse=metric.worse,
        base=before.value,
        candidate=after.value,
        base_spread=before.spread,
        candidate_spread=after.spread,
        change=float(change),
        low=low,
        high=high,
        limit=limit,
        verdict=verdict,
        confidence="normal" if by_runs else "low",
        method=method,
        base_count=before.count,
        candidate_count=after.count,
        p_value=_p_value(base.runs, candidate.runs, metric) if by_runs else None,
        variation_ratio=variation,
        more_runs=None
        if limit is None
        else _more_runs(verdict, method, variation, limit / scale, base, candidate, in_turn),
        drift_ratio=drift,
    )


def _method(base: Samples, candidate: Samples) -> Method:
    if len(base.runs) >= MIN_RUNS:
        return "runs" if len(candidate.runs) >= MIN_RUNS else "prediction"
    return "steps" if base.steps and candidate.steps else "none"


def _interval(
    metric: Metric, base: Samples, candidate: Samples, before: _Side, after: _Side, method: Method
) -> tuple[float | None, float | None]:
    """The 95 % interval of the change."""
    relative = metric.change == "relative"
    if method == "prediction":
        margin = prediction_margin(_scaled(base.runs, relative), len(candidate.runs))
        return _around(float(_change(before.value, after.value, relative)), margin, relative)
    if before.replicates is None or after.replicates is None:
        return None, None
    return interval_of(_change(before.replicates, after.replicates, relative))


def _widened(
    change: float, low: float, high: float, base: Samples, candidate: Samples, drift: float, relative: bool
) -> tuple[float, float]:
    """The interval with what a drift may have added to the change."""
    factor = widening(drift)
    margin = drift_margin(_scaled(base.runs, relative), _scaled(candidate.runs, relative), drift)
    least, most = _around(change, margin, relative)
    return min(change - (change - low) * factor, least), max(change + (high - change) * factor, most)


def _scaled(values: Reals, relative: bool) -> Reals:
    """Logarithms, where changes are relative."""
    return np.log(np.maximum(values, _CLOSE)) if relative else values


def _around(change: float, margin: float, relative: bool) -> tuple[float, float]:
    if not relative:
        return change - margin, change + margin
    factor = math.exp(min(margin, _LARGE))
    return (1 + change) / factor - 1, (1 + change) * factor - 1


def _by_start(runs: Sequence[RunFigures]) -> list[RunFigures]:
    """By time, where all starts are known."""
    if any(run.start_ns is None for run in runs):
        return list(runs)
    return sorted(runs, key=lambda run: run.start_ns or 0)


class _Side:
    """One side's value, its resamples, and how much its samples differ."""

    def __init__(self, metric: Metric, samples: Samples, by_runs: bool, seed: int) -> None:
        self.replicates: Reals | None = None
        if by_runs:
            values = samples.runs
            self.value = float(np.median(values))
            self.replicates = run_replicates(values, lambda drawn: np.median(drawn, axis=1), seed)
            self.spread: tuple[float, float] | None = (float(values.min()), float(values.max()))
        elif samples.steps:
            pooled = np.concatenate(samples.steps)
            self.value = float(metric.statistic(pooled[None])[0])
            values = pooled if pooled.ndim == 1 else pooled[:, 0] / np.maximum(pooled[:, 1], 1)
            if len(pooled) >= MIN_STEPS:
                self.replicates = block_replicates(samples.steps, metric.statistic, seed)
            low, high = np.quantile(values, [0.1, 0.9])
            self.spread = (float(low), float(high)) if len(values) > 1 else None
        else:
            values = samples.runs
            self.value = float(np.median(values))
            self.spread = (float(values.min()), float(values.max())) if len(values) > 1 else None
        self.count = len(values)
        self.variation = robust_variation(samples.runs.tolist() if len(samples.runs) > 2 else values.tolist())


def _change(base: Reals | float, candidate: Reals | float, relative: bool) -> Reals:
    """Relative change, or difference; from nothing to something is a very large one."""
    before, after = np.asarray(base, np.float64), np.asarray(candidate, np.float64)
    if not relative:
        return np.asarray(after - before)
    return np.where(after == before, 0.0, after / np.maximum(before, _CLOSE) - 1)


def _is_apart(metric: Metric, base: Samples, candidate: Samples, limit: float) -> bool:
    """Whether no disturbance of single runs accounts for a regression; the size of memory is not disturbed."""
    if metric.unit == "bytes":
        return True
    relative = metric.change == "relative"
    sign = 1.0 if metric.worse == "up" else -1.0
    before, after = (sign * _scaled(side.runs, relative) for side in (base, candidate))
    return told_apart(before, after, (math.log1p(limit) if relative else limit) - _CLOSE)


def _more_runs(
    verdict: Verdict | None,
    method: Method,
    variation: float,
    limit: float,
    base: Samples,
    candidate: Samples,
    in_turn: bool,
) -> int | None:
    """How many more runs per side would settle it; a limit on shares is given as a share of the baseline's.

    Where only the candidate lacks runs, it is how many more of these.
    """
    fewest = min(len(base.runs), len(candidate.runs))
    if verdict == "regression" and method != "runs":
        return max(1, MIN_RUNS - fewest)
    if verdict not in ("possible", "inconclusive"):
        return None
    if method == "prediction" and verdict == "possible":
        more = more_to_tell(len(base.runs), len(candidate.runs))
        return more or max(1, MIN_RUNS - fewest)
    return max(1, runs_needed(variation, limit, in_turn=in_turn) - fewest)


def _verdict(
    change: Reals, interval: _Interval, sure: _Interval, limit: float, metric: Metric, method: Method
) -> Verdict:
    """Decide in the direction that is worse; `best` is a change of the limit the other way.

    That something changed has to be sure whatever drifted; that nothing did is said by the plain interval.
    """
    relative = metric.change == "relative"
    (low, high), (sure_low, sure_high) = interval, sure
    if metric.worse == "down":
        change = -change
        low, high, sure_low, sure_high = (None if end is None else -end for end in (high, low, sure_high, sure_low))
    best = 1 / (1 + limit) - 1 if relative else -limit
    reached, undercut = float(change) >= limit - _CLOSE, float(change) <= best + _CLOSE
    if method == "none":
        return "regression" if reached else "improved" if undercut else "no change"
    if low is None or high is None or sure_low is None or sure_high is None:
        return "possible" if reached else "inconclusive"
    if reached:
        return "regression" if sure_low > 0 else "possible"
    if undercut and sure_high < 0:
        return "improved"
    return "no change" if low >= best - _CLOSE and high <= limit + _CLOSE else "inconclusive"


def _same(base: Samples, candidate: Samples) -> bool:
    """Whether both sides hold the same values, as a run against itself or its copy does."""
    if len(base.steps) != len(candidate.steps) or not np.array_equal(base.runs, candidate.runs):
        return False
    return all(np.array_equal(was, now) for was, now in zip(base.steps, candidate.steps, strict=True))


def _p_value(base: Reals, candidate: Reals, metric: Metric) -> float:
    sign = 1 if metric.worse == "up" else -1
    return mann_whitney_greater((sign * base).tolist(), (sign * candidate).tolist())
