"""Requests of an inference run: what one takes, and what of it is copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

if TYPE_CHECKING:
    from ascend_sn.advisor.facts import Facts

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


def requests(facts: Facts) -> list[Requests]:
    """Return one entry per profile that serves requests, by profile."""
    return facts.query("inference_latency", _REQUESTS, Requests)


_REQUESTS: Final = """
    with parts as (
        select profile_id, arg_max(stage, p99_ns - p50_ns)       as slow_stage,
               round(max(p99_ns - p50_ns))::bigint              as slow_excess_ns
        from result
        where stage <> 'total' and (
            source = 'request' or profile_id in (select profile_id from operator where phase = 'forward'))
        group by profile_id
    )
    select profile_id, any_value(rank) as rank, any_value(source) as source, max(requests) as requests,
           round(max(mean_ns) filter (where stage = 'total'))::bigint      as total_ns,
           round(max(mean_ns) filter (where stage = 'copy_in'))::bigint    as copy_in_ns,
           round(max(mean_ns) filter (where stage = 'inference'))::bigint  as inference_ns,
           round(max(mean_ns) filter (where stage = 'copy_out'))::bigint   as copy_out_ns,
           round(max(mean_ns) filter (where stage = 'gap'))::bigint        as gap_ns,
           round(max(p50_ns) filter (where stage = 'total'))::bigint       as p50_ns,
           round(max(p99_ns) filter (where stage = 'total'))::bigint       as p99_ns,
           max(first_ns) filter (where stage = 'total')                    as first_ns,
           any_value(slow_stage) as slow_stage, any_value(slow_excess_ns) as slow_excess_ns
    from result
    join parts using (profile_id)
    group by profile_id
    order by profile_id
"""
