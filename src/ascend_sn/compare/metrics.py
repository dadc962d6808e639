"""What is compared: each metric with its unit, which way is worse, its usual limit, and where its samples come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from ascend_sn.compare.figures import RunFigures
from ascend_sn.errors import UnknownNameError

__all__ = ["BY_NAME", "DEFAULT_LIMITS", "METRICS", "Metric", "Samples", "metric_of"]

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Samples:
    """One metric of one side.

    Attributes:
        runs: Its value in each run.
        steps: What its steps are in each run by time, one row a step; empty where the metric has one value a run.
    """

    runs: Reals
    steps: tuple[Reals, ...] = ()


@dataclass(frozen=True)
class Metric:
    """A figure of a run.

    Attributes:
        name: As in limits and results.
        unit: ns, bytes, or ratio.
        change: `relative` to the baseline, or in `points` (a difference of ratios).
        worse: The direction that is worse.
        limit: The usual limit: 0.1 is 10 % or 10 points; null: judged only where a limit is given.
        samples: Its samples, None where a run does not have it.
        statistic: From resampled steps (rows of a run's `steps`) to one value each.
    """

    name: str
    unit: Literal["ns", "bytes", "ratio"]
    change: Literal["relative", "points"]
    worse: Literal["up", "down"]
    limit: float | None
    samples: Callable[[Sequence[RunFigures]], Samples | None]
    statistic: Callable[[Reals], Reals]


def metric_of(name: str) -> Metric:
    """Return a metric by name; dashes and underscores are alike.

    Raises:
        UnknownNameError: No metric of that name.
    """
    plain = name.strip().lower().replace("-", "_")
    if plain not in BY_NAME:
        raise UnknownNameError("metric", name, tuple(BY_NAME), next(iter(get_close_matches(plain, BY_NAME, n=1)), None))
    return BY_NAME[plain]


def _median(drawn: Reals) -> Reals:
    found: Reals = np.median(drawn, axis=1)
    return found


def _share(drawn: Reals) -> Reals:
    """First column over the second one, of the sums."""
    sums = drawn.sum(axis=1)
    found: Reals = sums[:, 0] / np.maximum(sums[:, 1], 1)
    return found


def _step_time(runs: Sequence[RunFigures]) -> Samples | None:
    steps = tuple(np.array([step.dur_ns for step in run.steps], np.float64) for run in runs)
    if not all(map(len, steps)):
        return None
    return Samples(np.array([np.median(one) for one in steps]), steps)


def _epoch_time(runs: Sequence[RunFigures]) -> Samples | None:
    epochs = tuple(np.array(run.epochs_ns, np.float64) for run in runs)
    if not all(map(len, epochs)):
        return None
    return Samples(np.array([np.median(one) for one in epochs]), epochs)


def _share_of_step(part: Callable[[RunFigures], list[int | None]]) -> Callable[[Sequence[RunFigures]], Samples | None]:
    def samples(runs: Sequence[RunFigures]) -> Samples | None:
        steps = []
        for run in runs:
            values = part(run)
            if not values or any(value is None for value in values):
                return None
            windows = [step.window_ns for step in run.steps]
            steps.append(np.array([values, windows], np.float64).T)
        return Samples(np.array([float(_share(one[None])[0]) for one in steps]), tuple(steps))

    return samples


def _per_run(value: Callable[[RunFigures], float | None]) -> Callable[[Sequence[RunFigures]], Samples | None]:
    def samples(runs: Sequence[RunFigures]) -> Samples | None:
        values = [value(run) for run in runs]
        return None if any(one is None for one in values) else Samples(np.array(values, np.float64))

    return samples


def _memory(runs: Sequence[RunFigures]) -> Samples | None:
    if len({run.peak.basis for run in runs if run.peak}) > 1:
        return None
    return _per_run(lambda run: run.peak.peak_bytes if run.peak else None)(runs)


METRICS: Final = (
    Metric("step_time", "ns", "relative", "up", 0.10, _step_time, _median),
    Metric("epoch_time", "ns", "relative", "up", 0.10, _epoch_time, _median),
    Metric(
        "utilisation",
        "ratio",
        "points",
        "down",
        0.15,
        _share_of_step(lambda run: [step.compute_ns for step in run.steps]),
        _share,
    ),
    Metric("peak_memory", "bytes", "relative", "up", 0.05, _memory, _median),
    Metric(
        "exposed_communication",
        "ratio",
        "points",
        "up",
        None,
        _share_of_step(lambda run: [step.exposed_comm_ns for step in run.steps]),
        _share,
    ),
    Metric("mfu", "ratio", "points", "down", None, _per_run(lambda run: run.mfu_ratio), _median),
)

BY_NAME: Final[Mapping[str, Metric]] = {metric.name: metric for metric in METRICS}

DEFAULT_LIMITS: Final[Mapping[str, float]] = {
    metric.name: metric.limit for metric in METRICS if metric.limit is not None
}
"""The limits of the guide, and +5 % of peak memory."""
