"""R-INF-3 batch knee: a sweep over batch sizes shows the one beyond which more stops helping."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.message import Message
from ascend_sn.advisor.rule import Claim, Context, DirectGain, Outcome, Rule, Slices
from ascend_sn.advisor.thresholds import Limits
from ascend_sn.advisor.too_few import too_few_sizes

__all__ = ["RULE"]


class _Point(msgspec.Struct, kw_only=True):
    """A row of `throughput_sweep`: one batch size."""

    profile_id: int
    rank: int | None
    batch_size: int
    runs: int
    mean_ns: float
    p99_ns: float
    samples_per_s: float
    is_knee: bool
    is_highest: bool

    @property
    def sample_ns(self) -> float:
        """Time of one sample."""
        return self.mean_ns / self.batch_size


def check(context: Context) -> Iterator[Outcome]:
    """Yield one claim per profile with a sweep of two sizes or more."""
    sweeps: dict[int, list[_Point]] = {}
    for point in context.facts.rows("throughput_sweep", _Point):
        sweeps.setdefault(point.profile_id, []).append(point)
    if sweeps and all(len(points) == 1 for points in sweeps.values()):
        yield too_few_sizes("throughput_sweep", 1, 2)
    for points in sweeps.values():
        if len(points) > 1 and not _are_numbered(points):
            yield _best(points, context.limits)


def _are_numbered(points: Sequence[_Point]) -> bool:
    """Whether the sizes are three or more numbers in a row: then they number the batches of a loop."""
    return len(points) > 2 and points[-1].batch_size - points[0].batch_size == len(points) - 1


def _best(points: Sequence[_Point], limits: Limits) -> Claim:
    """Name the knee; under a limit, the size with the highest throughput whose p99 keeps it, if that is smaller."""
    limit_ns = limits["latency_limit_ns"]
    knee = next(point for point in points if point.is_knee)
    kept = [point for point in points if not limit_ns or point.p99_ns <= limit_ns]
    smallest = points[0]
    best = knee if knee in kept or not kept else max(kept, key=lambda point: point.samples_per_s)
    saved_ns = round(smallest.sample_ns - best.sample_ns)
    few = min(best.runs, smallest.runs)
    held = Message("suppressed.few-requests", {"request_count": few}) if few < limits["runs_from_count"] else None
    violated = Message("suppressed.limit-violated", {"limit_ns": limit_ns, "p99_ns": smallest.p99_ns})
    return Claim(
        params={
            "rank": "?" if best.rank is None else best.rank,
            "batch": best.batch_size,
            "smallest": smallest.batch_size,
            "largest": points[-1].batch_size,
            "rate_count": round(best.samples_per_s, 1),
            "smallest_rate_count": round(smallest.samples_per_s, 1),
            "mean_ns": best.mean_ns,
            "p99_ns": best.p99_ns,
            "limit_ns": limit_ns,
        },
        slices=Slices("step"),
        location=place(best),
        evidence=figures(
            best,
            "throughput_sweep",
            {
                "batch_size": best.batch_size,
                "samples_per_s": best.samples_per_s,
                "mean_ns": best.mean_ns,
                "p99_ns": best.p99_ns,
            },
        ),
        direct=DirectGain(saved_ns, saved_ns, saved_ns, base_ns=round(smallest.sample_ns), per="sample"),
        suppressed_by=held if kept else violated,
        texts={
            "message": "rule.r-inf-3.message-limit" if limit_ns and best is not knee else "rule.r-inf-3.message",
            "advice": "rule.r-inf-3.advice-size",
        },
    )


RULE = Rule("R-INF-3", "batch-knee", "compute", "config", check, needs=())
