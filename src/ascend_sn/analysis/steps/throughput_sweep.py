"""A34: latency and throughput by batch size, where more stops helping, and the best size under a limit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ascend_sn.analysis.registry import Analysis, Need
from ascend_sn.analysis.relations import Result, listed
from ascend_sn.analysis.trend import theil_sen

__all__ = ["ANALYSIS", "BatchPoint", "Sweep", "sweep", "throughput_sweep"]

KNEE_RATIO: Final = 0.95
"""The knee is the smallest batch with at least this share of the highest throughput."""

_BATCH: Final = re.compile(r"batch(?:_?size)?\s*[=:_ ]\s*(\d{1,9})", re.IGNORECASE)

_TYPES: Final = {
    "profile_id": "integer",
    "rank": "integer",
    "batch_size": "bigint",
    "runs": "bigint",
    "mean_ns": "double",
    "p50_ns": "double",
    "p99_ns": "double",
    "samples_per_s": "double",
    "is_knee": "boolean",
    "is_highest": "boolean",
    "fixed_ns": "double",
    "per_sample_ns": "double",
}


class BatchPoint(NamedTuple):
    """Latency of one batch size, in ns, and samples per second at the mean latency."""

    batch_size: int
    runs: int
    mean_ns: float
    p50_ns: float
    p99_ns: float
    samples_per_s: float


class Sweep(NamedTuple):
    """A sweep over batch sizes.

    Attributes:
        points: By batch size.
        knee: Smallest size with 95 % of the highest throughput.
        highest: Size with the highest throughput, the smallest of equal ones.
        best: Size with the highest throughput whose p99 latency keeps the limit; None when none does, or no limit.
        fixed_ns: t0 of latency = t0 + k batch (Theil-Sen through the medians); None with a single size.
        per_sample_ns: k of it.
    """

    points: tuple[BatchPoint, ...]
    knee: int
    highest: int
    best: int | None
    fixed_ns: float | None
    per_sample_ns: float | None


def sweep(latencies: Mapping[int, Sequence[float] | npt.NDArray[Any]], limit_ns: float | None = None) -> Sweep | None:
    """Evaluate measured latencies by batch size.

    Args:
        latencies: Nanoseconds of each run, by batch size.
        limit_ns: Latency (p99) that must be kept.

    Returns:
        The sweep; None where nothing was measured.
    """
    points = tuple(
        _point(size, np.asarray(runs, np.float64)) for size, runs in sorted(latencies.items()) if size > 0 and len(runs)
    )
    if not points:
        return None
    top = max(point.samples_per_s for point in points)
    line = theil_sen([point.batch_size for point in points], [point.p50_ns for point in points])
    allowed = [point for point in points if limit_ns is not None and point.p99_ns <= limit_ns]
    return Sweep(
        points=points,
        knee=next(point.batch_size for point in points if point.samples_per_s >= KNEE_RATIO * top),
        highest=next(point.batch_size for point in points if point.samples_per_s == top),
        best=max(allowed, key=lambda point: (point.samples_per_s, -point.batch_size)).batch_size if allowed else None,
        fixed_ns=None if line is None else line.intercept,
        per_sample_ns=None if line is None else line.slope,
    )


def throughput_sweep(db: DuckDBPyConnection) -> Result:
    """Evaluate the ranges whose name gives a batch size (`batch_size=8`, `batch 8`): each is one run of it.

    Args:
        db: A connection with the table `span`.

    Returns:
        One row per profile and batch size: profile_id, rank, batch_size (as the name gives it), runs (ranges of
        it), mean_ns, p50_ns, p99_ns, samples_per_s (at the mean latency), is_knee (smallest size with 95 % of
        the highest throughput), is_highest, fixed_ns and per_sample_ns (each: from latency = fixed + per_sample
        x batch, the same on all rows of a profile; null with one size).
    """
    found: dict[int, dict[int, list[int]]] = {}
    ranks: dict[int, int | None] = {}
    for profile_id, rank, name, dur_ns in db.execute("""
        select profile_id, rank, name, dur_ns
        from span
        where name ilike '%batch%' and dur_ns > 0
        order by profile_id, ts_ns, name, dur_ns
    """).fetchall():
        size = _BATCH.search(name)
        if size is not None and int(size[1]):
            ranks[profile_id] = rank
            found.setdefault(profile_id, {}).setdefault(int(size[1]), []).append(dur_ns)
    rows = []
    for profile_id, latencies in found.items():
        result = sweep(latencies)
        for point in result.points if result is not None else ():
            rows.append(_row(profile_id, ranks[profile_id], point, result))
    return listed(db, rows, _TYPES)


def _row(profile_id: int, rank: int | None, point: BatchPoint, result: Sweep | None) -> dict[str, Any]:
    return {
        "profile_id": profile_id,
        "rank": rank,
        **point._asdict(),
        "is_knee": result is not None and point.batch_size == result.knee,
        "is_highest": result is not None and point.batch_size == result.highest,
        "fixed_ns": None if result is None else result.fixed_ns,
        "per_sample_ns": None if result is None else result.per_sample_ns,
    }


def _point(size: int, runs: npt.NDArray[np.float64]) -> BatchPoint:
    mean = float(runs.mean())
    p50, p99 = (float(value) for value in np.quantile(runs, [0.5, 0.99]))
    return BatchPoint(size, len(runs), mean, p50, p99, size / mean * 1e9 if mean else 0.0)


ANALYSIS = Analysis(
    code="A34",
    name="throughput_sweep",
    title="Throughput by batch size",
    per_profile=throughput_sweep,
    needs=(Need("span"),),
)
