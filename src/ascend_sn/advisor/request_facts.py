"""Requests of an inference run: what one takes, and what of it is copying."""

from __future__ import annotations

from typing import Final

import msgspec

from ascend_sn.advisor.facts import Facts, asked_once, rounded

__all__ = ["Requests", "requests"]


class Requests(msgspec.Struct, kw_only=True):
    """The requests of one profile: means of the parts, percentiles of the whole, ns.

    `source` is `request`, or `step` where the marked steps of a profile that has a forward phase and does not train
    stand for requests. `slow_stage` is the part that slow requests spend most more time in, `slow_excess_ns` how
    much more.
    """

    profile_id: int
    rank: int | None
    source: str
    requests: int
    total_ns: int
    copy_in_ns: int
    inference_ns: int
    copy_out_ns: int
    gap_ns: int
    p50_ns: int
    p99_ns: int
    first_ns: int
    slow_stage: str
    slow_excess_ns: int

    @property
    def copy_ratio(self) -> float:
        """Share of the copies in all the time of the requests."""
        return (self.copy_in_ns + self.copy_out_ns) / self.total_ns if self.total_ns else 0.0


@asked_once
def requests(facts: Facts) -> list[Requests]:
    """Return one entry per profile that serves requests, by profile."""
    stages: dict[int, dict[str, _Stage]] = {}
    for row in facts.rows("inference_latency", _Stage):
        stages.setdefault(row.profile_id, {})[row.stage] = row
    if any(parts["total"].source != "request" for parts in stages.values()):
        forward = {row.profile_id for row in facts.table_rows(_WITH_FORWARD, _Profile)}
        stages = {
            profile_id: parts
            for profile_id, parts in stages.items()
            if parts["total"].source == "request" or profile_id in forward
        }
    return [_together(stages[profile_id]) for profile_id in sorted(stages)]


def _together(stages: dict[str, _Stage]) -> Requests:
    total = stages["total"]
    slow = max((row for row in stages.values() if row is not total), key=lambda row: row.p99_ns - row.p50_ns)
    return Requests(
        profile_id=total.profile_id,
        rank=total.rank,
        source=total.source,
        requests=total.requests,
        total_ns=rounded(total.mean_ns),
        copy_in_ns=rounded(stages["copy_in"].mean_ns),
        inference_ns=rounded(stages["inference"].mean_ns),
        copy_out_ns=rounded(stages["copy_out"].mean_ns),
        gap_ns=rounded(stages["gap"].mean_ns),
        p50_ns=rounded(total.p50_ns),
        p99_ns=rounded(total.p99_ns),
        first_ns=total.first_ns,
        slow_stage=slow.stage,
        slow_excess_ns=rounded(slow.p99_ns - slow.p50_ns),
    )


class _Stage(msgspec.Struct):
    """A row of `inference_latency`: one part of the requests of a profile."""

    profile_id: int
    rank: int | None
    stage: str
    source: str
    requests: int
    mean_ns: float
    p50_ns: float
    p99_ns: float
    first_ns: int


class _Profile(msgspec.Struct):
    profile_id: int


_WITH_FORWARD: Final = "select distinct profile_id from operator where phase = 'forward'"
