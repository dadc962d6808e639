"""R-PROF-4 recording overhead: the recording slows down what it records."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ascend_sn.advisor.evidence import figures, place
from ascend_sn.advisor.rule import Claim, Context, Rule

__all__ = ["RULE"]


class _Overhead(msgspec.Struct, kw_only=True):
    """What is wanted of a row of `profiler_overhead`."""

    profile_id: int
    rank: int | None
    overhead_ns: float | None
    overhead_ratio: float | None
    step_overhead_ratio: float | None

    @property
    def ratio(self) -> float:
        """Against a step without the profiler where that was logged; else what the recording counted itself."""
        measured = self.step_overhead_ratio
        return (self.overhead_ratio or 0.0) if measured is None else measured


def check(context: Context) -> Iterator[Claim]:
    """Yield one claim, about the profile with the largest overhead."""
    rows = context.facts.rows("profiler_overhead", _Overhead)
    worst = max(rows, key=lambda row: row.ratio, default=None)
    if worst is None or worst.ratio <= context.limits["overhead_above_ratio"]:
        return
    yield Claim(
        params={"rank": "?" if worst.rank is None else worst.rank, "overhead_ratio": worst.ratio},
        location=place(worst),
        evidence=figures(
            worst,
            "profiler_overhead",
            {
                "overhead_ns": worst.overhead_ns,
                "overhead_ratio": worst.overhead_ratio,
                "step_overhead_ratio": worst.step_overhead_ratio,
            },
        ),
        severity="warning",
        in_plan=False,
    )


RULE = Rule("R-PROF-4", "recording-overhead", "collection", "config", check, needs=("profiler_overhead",), is_risk=True)
