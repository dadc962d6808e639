"""From opened runs to a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike

from ascend_sn.compare.comparison import Comparison, compared
from ascend_sn.compare.figures import RunFigures
from ascend_sn.compare.measure import figures_of
from ascend_sn.compare.metrics import metric_of
from ascend_sn.store import Run

__all__ = ["compare", "measured"]


def compare(
    baseline: Run | Iterable[Run], candidate: Run | Iterable[Run], *, limits: Mapping[str, float] | None = None
) -> Comparison:
    """Compare two runs, or two groups of runs.

    An input that holds several jobs counts as so many runs.

    Args:
        baseline: An opened run of the baseline, as `ascend_sn.open` returns it, or several; no path.
        candidate: An opened run of the candidate, or several.
        limits: Change of each metric from which on it is a regression, as a ratio: `{"step_time": 0.1}` is 10 %, for
            shares 10 points. Default: step and epoch time 0.10, utilisation 0.15, peak memory 0.05.

    Returns:
        The comparison; its `verdict` is one of regression, possible, inconclusive, no change, improved, scaling and
        cannot compare.

    Raises:
        TypeError: A path in the place of an opened run.
        UnknownNameError: No metric of a name in `limits`.
    """
    known = None if limits is None else {metric_of(name).name: limit for name, limit in limits.items()}
    sides = [[one for run in _runs(side) for one in measured(run)] for side in (baseline, candidate)]
    return compared(sides[0], sides[1], known)


def measured(run: Run, name: str | None = None) -> list[RunFigures]:
    """Measure an opened run, each of its jobs where it holds several.

    Args:
        run: An opened run.
        name: What to call it; default the name of the input.
    """
    called = name or run.input.name
    if run.job is not None or len(run.jobs) < 2:
        return [figures_of(run, called)]
    found = []
    for job in run.jobs:
        with Run(run.path, run.input, job=job) as one:
            found.append(figures_of(one, f"{called}:{job}"))
    return found


def _runs(side: Run | Iterable[Run]) -> list[Run]:
    runs = [side] if isinstance(side, Run) else [] if isinstance(side, str | PathLike) else list(side)
    if not runs or not all(isinstance(run, Run) for run in runs):
        raise TypeError("each side must be one or more opened runs, such as ascend_sn.open(PATH)")
    return runs
